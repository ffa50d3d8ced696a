"""Words that carry no subject of their own: modals, change verbs, names of dimensions, synonyms.

Plain English and Chinese, nothing of any host, project or test. Chinese is written in simplified
characters; `simplify` brings traditional text to them, character by character, so offsets hold.
"""

from __future__ import annotations

import re
from functools import lru_cache

_TRADITIONAL = (
    "須须務务禁禁許许應应該该當当會会請请記记總总統统優优確确證证換换為为來来變变時时間间號号鐘钟點点區区幣币"
    "萬万億亿塊块錢钱預预算算費费開开關关閉闭閾阈檔档資资夾夹錄录碼码編编譯译語语簡简體体繁繁詞词題题問问"
    "測测試试數数據据庫库連连線线網网絡络訪访環环境境務务器器發发佈布釋释審审覈核責责負负據据報报告告議议"
    "還还後后從从這这個个們们對对於于與与並并則则無无論论絕绝嚴严勿勿動动態态寫写讀读刪删傳传輸输顯显"
    "視视圖图標标準准項项規规範范違违協协調调整整級级產产運运維维護护衛卫週周禮礼歲岁號号雙双單单獨独"
    "樣样處处種种類类層层級级條条麼么嗎吗呢呢讓让給给說说講讲話话聽听覺觉實实際际業业經经濟济場场員员"
    "組组織织織织團团隊队領领導导選选擇择擴扩縮缩減减增增長长寬宽高高價价值值訊讯誌志認认識识樓楼棟栋"
    "歡欢願愿寧宁傾倾習习慣惯厭厌氣气語语偏偏愛爱備备註注遲迟結结終终續续約约諾诺納纳電电郵邮書书"
    "頁页貼贴圍围過过達达進进遠远適适遷迁邊边鏡镜鏈链鎖锁隱隐風风齊齐"
)
"""Pairs of a traditional character and its simplified form."""

_SIMPLE = str.maketrans(dict(zip(_TRADITIONAL[::2], _TRADITIONAL[1::2], strict=True)))


def simplify(text: str) -> str:
    """Traditional characters as simplified ones; as many characters as before."""
    return text.translate(_SIMPLE)


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def fold_case(text: str) -> str:
    """Simplified and in lower case; as many characters as before. Cues below are searched for in this."""
    simple = simplify(text)
    lower = simple.lower()
    return lower if len(lower) == len(simple) else simple


DIMENSIONS: dict[str, frozenset[str]] = {
    "money": _set("budget spend cost price total cap ceiling limit money amount fee"),
    "date": _set("deadline date day schedule timing target cutoff due ship week"),
    "time": _set("time deadline schedule hour start end window"),
    "duration": _set("timeout duration time limit interval delay wait ttl"),
    "number": _set("number count limit cap maximum minimum size level value amount"),
    "percent": _set("threshold rate ratio share percent level target"),
    "size": _set("size limit cap memory maximum"),
    "version": _set("version release"),
    "timezone": _set("time timezone zone"),
    "name": _set("own assign person name contact"),
    "code": _set("code name codename label id key token"),
    "path": _set("path file folder place"),
    "url": _set("url address host link place"),
    "tone": _set("tone style"),
    "units": _set("unit answer"),
    "language": _set("language answer"),
    "format": _set("format answer output"),
}
"""Concepts that name the dimension a value of that kind is measured in, not what it is about."""

_SYNONYMS = """
answer: answer reply replies response respond responses answers output 回答 回复 答复 应答
time: time timestamp clock hour 时间 时刻 时间戳
timezone: timezone 时区
budget: budget 预算
spend: spend spending spent expense expenditure 花费 支出 开销 费用
cost: cost 成本
cap: cap capped ceiling 上限 封顶
limit: limit limited 限制 限额
deadline: deadline due 截止 期限 死线 交付日
date: date 日期
own: own owner owned owning belong 负责人 负责 归 所有者
oncall: on-call oncall pager 值班 轮值 待命
folder: folder directory dir directories 目录 文件夹
file: file 文件
delete: delete remove erase drop purge 删除 删掉 移除
edit: edit modify touch alter 修改 编辑 改动
test: test testing 测试
branch: branch 分支
deploy: deploy deployment rollout 部署 上线
release: release 发布 发版
version: version 版本
language: language 语言
unit: unit measurement measure 单位
style: style 风格
tone: tone manner 语气 口吻
format: format 格式
code: code 代码 编码
codename: codename 代号
name: name called call named calling rename renamed 名称 名字 命名
label: label designated designate 标签
comment: comment 注释
commit: commit 提交
message: message 消息 信息
database: database db 数据库
server: server 服务器
port: port 端口
timeout: timeout 超时
retry: retry retries retried 重试
worker: worker 工作线程 工人
thread: thread 线程
concurrency: concurrency parallelism 并发 并行
user: user customer client 用户 客户
review: review reviewer reviewed 评审 审核 审查
approve: approve approval approver approved 批准 审批
budgetowner: payer
trip: trip travel journey 差旅 旅行 出差
meeting: meeting 会议
report: report 报告 报表
email: email mail 邮件
document: document documentation doc docs 文档
table: table 表格
summary: summary summarise summarize 摘要 总结
base: base based rebase rebased
schedule: schedule reschedule rescheduled scheduled 日程 安排
assign: assign assigned reassign reassigned assignee 指派 分配
rotate: rotate rotated
address: address 地址
host: host hosted 主机
key: key 密钥
password: password 密码
cache: cache 缓存
log: log logging 日志
interval: interval 间隔
total: total 总计 总额
threshold: threshold 阈值
color: color colour 颜色
length: length 长度 字数
level: level 级别 等级
alias: alias 别名
"""

CHANGE = re.compile(
    r"""(?<![A-Za-z](?=[A-Za-z]))(?:\b(?:now|instead|updated?|chang(?:e|ed|ing)|mov(?:e|ed|ing)|switch(?:ed|ing)?|rotat(?:e|ed|ion)|renam(?:e|ed)
        |rebased|replac(?:e|ed|es|ing)|revis(?:e|ed)|actually|correction|no\s+longer|from\s+now\s+on
        |going\s+forward|any\s?more|rather|make\s+(?:that|it|this|them)|scratch\s+that|second\s+thoughts?
        |bump(?:ed)?|raised?|lower(?:ed)?|increas(?:e|ed)|decreas(?:e|ed)|reduc(?:e|ed)|extend(?:ed)?
        |postponed?|pushed\s+(?:back|out)|brought\s+forward|resched\w+|reassign\w*|supersedes?|turns\s+out
        |previous(?:ly)?|retired|formerly|used\s+to|go(?:ing)?\s+with|i\s+meant|sorry)\b
     |改(?:[\u4e00-\u9fff]{0,2}[成为到用在]|由|回|叫|一下)|换(?:成|为|到|用|了)|变(?:成|更|为)|调(?:整|到|成|高|低)|更新|更正|纠正|修正|现在|不再|以后
     |从今|今后|其实|实际上|推迟|提前|延期|延后|取消|作废|新的|升(?:级|到)|降(?:到|低|为)|提高|增加到|减少到
     |代替|替换|取代|说错|搞错|算了|还是)""",
    re.VERBOSE,
)
"""Something is no longer as it was said before."""

NEW = re.compile(r"\b[Nn]ew\b(?!\s+[A-Z])")
"""A word of change too, but not as part of a name; searched for in the text as it stands."""

REPLACES = re.compile(
    r"\binstead\b|\bmake\s+(?:that|it)\b"
    r"|\b(?:chang(?:e|ed)|switch(?:ed)?|mov(?:e|ed)|rais(?:e|ed)|lower(?:ed)?)\b.{0,40}\bto\b"
    r"|[改换变](?:成|为|到|用)|而不是",
)
"""Says outright that one thing takes another's place, whatever kind of thing it is."""

REVOKED = re.compile(
    r"""\b(?:no\s+longer|not\s+.{0,40}\bany\s?more|forget\s+(?:about\s+|what)?|never\s?mind|scrap|drop|cancel(?:led)?
        |ignore\s+(?:what|my|the)|disregard|obsolete|lifted|withdrawn|don['’]t\s+need|skip)\b
     |不再|不用.{0,20}了|不必.{0,20}了|不需要.{0,20}了|取消|作废|别管|忽略|撤销|收回""",
    re.VERBOSE,
)
"""What was asked before does not hold any more, and nothing takes its place."""

BOUNDED = re.compile(
    r"\b(?:more|less|fewer|later|earlier|longer|higher|lower)\s+than\b"
    r"|\b(?:over|above|exceed\w*|beyond|below|under|after|before|past)\b"
    r"|超过|低于|高于|晚于|早于|多于|少于|大于|小于",
)
"""A prohibition with these is a cap: another value is another cap."""

PERMITS = re.compile(
    r"\b(?:fine|ok(?:ay)?|allowed|free\s+to|may|can)\b.{0,40}\b(?:now|again|after\s+all|from\s+now\s+on)\b"
    r"|\bnow\b.{0,30}\b(?:fine|ok(?:ay)?|allowed|may|can)\b|(?:可以|允许|能).{0,20}了",
)
"""What was forbidden is forbidden no more."""

INSTEAD = re.compile(
    r"""(?:\binstead\s+of|\brather\s+than|\breplac(?:e|es|ing)|\bin\s+place\s+of)\s+(?:the\s+|using\s+)?
        (?P<old>[^,.;!?，。；]{2,60})
     |\bfrom\s+(?P<from>[^,.;!?]{2,40}?)\s+to\b
     |(?:不用|而不是|不是|代替|取代|替换)(?P<zh>[^，。；、！？]{1,20})
     |[从由](?P<zhfrom>[^，。；！？]{1,20}?)(?:改|换|变|切)(?:成|为|到|用)""",
    re.VERBOSE,
)
"""Names what is replaced."""

LEAD_IN = re.compile(
    r"""^\s*(?:(?:[A-Za-z][\w'’-]*\s+){0,2}
        (?:rules?|requirements?|constraints?|notes?|reminders?|facts?|preferences?|instructions?|polic(?:y|ies)|important
          |updates?|corrections?|clarifications?|warnings?
          |goals?|status|state|context|background|info|fyi|p\.?s\.?|btw|heads[- ]up|addendum|n\.?b\.?)
      |[\u4e00-\u9fff]{0,4}(?:注意|规则|规定|要求|约束|备注|提醒|提示|更新|补充|更正|说明|事实|偏好|原则|重要|另外|警告))
      \s*[:：]\s*""",
    re.IGNORECASE | re.VERBOSE,
)
"""Says what kind of statement follows and nothing of what it is about."""

_STOP = _set(
    """
    a an the this that these those it its they them their there here of in on at to for from by with
    without as and or but nor so if then else when while until unless before after because since than
    into onto over under about above below between through during per via up down out off again also too
    very just still only is are was were be been being am do does did done doing have has had having can
    could may might must shall should will would not no never always any all each every some none both
    either neither more most less least few many much other others another such same own anything
    everything something nothing whatever i me my mine we us our ours you your yours he him his she her
    hers who whom whose which what where why how one ones thing things way please thanks thank ok okay
    yes hi hello hey dear use used using make makes made making keep keeps kept keeping put puts set
    sets setting get gets got getting give gives given show shows shown stay stays stick go goes going
    let lets want wants wanted need needs needed prefer prefers preferred like likes liked love ensure
    sure try tries take takes took run runs running come comes ask asks asked know tell say says said
    think now instead update updated actually new old previous current currently change changed changes
    move moved switch switched again around rather anymore longer quick next sorry wait meant today week
    month year day days weeks explicit explicitly strictly exactly least most maximum minimum
    """
)

_CHINESE_STOP = _set(
    """
    我们 你们 他们 我 你 您 他 她 它 这个 那个 这些 那些 这 那 的 了 着 过 是 在 有 和 与 或 或者 以及
    并且 而且 但是 不过 如果 那么 就 都 也 还 再 又 很 太 非常 请 麻烦 把 将 被 让 给 对 于 从 到 向 以
    按 按照 根据 必须 务必 一定 不要 不能 不得 不准 不许 不可 禁止 严禁 只能 只用 只要 只准 总是 始终
    永远 一律 统一 至少 至多 最多 最少 不超过 确保 保证 记得 记住 需要 应该 应当 要求 希望 想要 想 要
    喜欢 偏好 更 最好 尽量 优先 使用 采用 用 保持 现在 以后 改成 改为 改到 改用 换成 换为 变成 调整
    调整为 更新 更正 其实 实际上 不再 每次 每个 所有 任何 全部 设为 设置 设成 定为 定在 固定 一下 里 中
    上 下 内 外 时候 时 之前 之后 以前 为 叫 成 别 勿 切勿 千万 可以 能 会 不 没有 没 什么 怎么 多少 个
    吧 呢 吗 啊 哦 嗯
    """
)


@lru_cache(maxsize=1)
def _concepts() -> tuple[dict[str, str], dict[str, str]]:
    """Synonyms to concepts: English stems, Chinese words."""
    english: dict[str, str] = {}
    chinese: dict[str, str] = {}
    for line in _SYNONYMS.strip().splitlines():
        concept, words = line.split(":")
        for word in words.split():
            if word.isascii():
                english[word] = concept
                english[_stem(word)] = concept
            else:
                chinese[word] = concept
    return english, chinese


@lru_cache(maxsize=1)
def _chinese_words() -> re.Pattern[str]:
    words = sorted({*_concepts()[1], *_CHINESE_STOP}, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, words)))


_TOKEN = re.compile(r"[A-Za-z][A-Za-z'’]*(?:-[A-Za-z]+)*|[\u3400-\u9fff]+")


def concepts_of(text: str) -> frozenset[str]:
    """What a text is about: concepts of its content words, values and function words left out.

    `text` is simplified already. Chinese that no list knows is taken two characters at a time.
    """
    found: set[str] = set()
    english, chinese = _concepts()
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token[0].isascii():
            whole = token.lower().replace("’", "'").removesuffix("'s")
            for word in (whole,) if whole in english else whole.split("-"):
                if word not in _STOP and len(word) > 1 and "'" not in word:
                    found.add(english.get(word) or english.get(_stem(word)) or _stem(word))
            continue
        rest: list[str] = []
        end = 0
        for known in _chinese_words().finditer(token):
            rest.append(token[end : known.start()])
            end = known.end()
            if known[0] in chinese:
                found.add(chinese[known[0]])
        rest.append(token[end:])
        for part in rest:
            found.update(part[i : i + 2] for i in range(max(1, len(part) - 1)) if part)
    return frozenset(found)


def is_function_word(word: str) -> bool:
    """True for an English word that no statement is about."""
    return word.lower() in _STOP


def _stem(word: str) -> str:
    """A light stem: plural, -ing, -ed and a final e taken off."""
    if len(word) > 4 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ly", "ing", "ed"):
        if len(word) > len(ending) + 2 and word.endswith(ending):
            word = word[: -len(ending)]
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":
                word = word[:-1]
            break
    return word[:-1] if len(word) > 3 and word.endswith("e") else word
