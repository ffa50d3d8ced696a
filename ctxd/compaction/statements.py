"""One sentence of a person read as a statement: does it bind, to what values, about what.

Reading is by rule, in English and Chinese, and needs no label. It never judges who said it: only
words of people come here.
"""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from ctxd.compaction.records import is_record
from ctxd.compaction.values import EXACT, Value, values_of
from ctxd.compaction.vocabulary import (
    CHANGE,
    INSTEAD,
    LEAD_IN,
    NEW,
    PERMITS,
    REPLACES,
    REVOKED,
    concepts_of,
    fold_case,
    simplify,
)

BINDS = 3
"""Weight from which a sentence binds: it asks for something to be held, or fixes a value."""

STRICT = 5
"""Demand from which a sentence is a rule and not a wish."""

SENTENCE_CHARS = 700
"""A run without an end this long is no sentence but pasted material."""


_NO_KEYS: frozenset[str] = frozenset()


class Sentence(msgspec.Struct, frozen=True):
    """A sentence at `start:end` of a text, without the space and the bullet around it."""

    start: int
    end: int


class Statement(msgspec.Struct, frozen=True):
    """What a sentence says. `weight` orders sentences when not all fit; from BINDS on it binds.

    `strict`: it is a rule. `directs`: it says how things are done or what is preferred, for longer
    than one `errand`. `about` are concepts, values left out. `refers`: it points at
    the sentence before it. `changes`: something is not as it was; `revokes`: something holds no more;
    `asks`: a question; `forbids`; `universal`: it speaks of every case. `replaces`: one thing outright
    takes another's place; `permits`: what was forbidden is so no more; `instead`: what it names as
    replaced, "" for nothing. `found` are the keys of its values by kind.
    """

    weight: int
    strict: bool
    directs: bool
    errand: bool
    about: frozenset[str]
    values: tuple[Value, ...]
    refers: bool
    changes: bool
    revokes: bool
    asks: bool
    forbids: bool
    universal: bool
    replaces: bool
    permits: bool
    instead: str
    found: dict[str, frozenset[str]]

    @property
    def exact(self) -> bool:
        """It holds a value that nobody can guess again."""
        return not EXACT.isdisjoint(self.found)

    @property
    def binds(self) -> bool:
        return self.weight >= BINDS

    def keys(self, kind: str) -> frozenset[str]:
        """The values of one kind."""
        return self.found.get(kind, _NO_KEYS)


_NOTHING = Statement(
    weight=0,
    strict=False,
    directs=False,
    errand=False,
    about=frozenset(),
    values=(),
    refers=False,
    changes=False,
    revokes=False,
    asks=False,
    forbids=False,
    universal=False,
    replaces=False,
    permits=False,
    instead="",
    found={},
)


@lru_cache(maxsize=4_096)
def sentences_of(text: str) -> tuple[Sentence, ...]:
    """The sentences of a message, in order; what is fenced, quotes others or is a record is left out."""
    found: list[Sentence] = []
    at = 0
    fenced = False
    for line in text.splitlines(keepends=True):
        start, at = at, at + len(line)
        stripped = line.strip()
        if stripped.startswith(("```", "~~~")):
            fenced = not fenced
            continue
        if not stripped or fenced or stripped.startswith(">") or is_record(line.rstrip("\r\n")):
            continue
        opening = _BULLET.match(line)
        begin = opening.end() if opening else 0
        for match in _SENTENCE.finditer(line, begin):
            left = match.start() + len(match[0]) - len(match[0].lstrip())
            right = match.start() + len(match[0].rstrip())
            if left < right:
                found.append(Sentence(start + left, start + right))
    return tuple(found)


@lru_cache(maxsize=16_384)
def read(sentence: str) -> Statement:
    """A sentence as a statement."""
    text = simplify(sentence)
    lead = LEAD_IN.match(text)
    said = text[lead.end() :] if lead else text
    offset = len(text) - len(said)
    if len(text) > SENTENCE_CHARS or not _LETTER.search(said):
        return _NOTHING
    values = values_of(said)
    bare = _without(said, values)
    about = concepts_of(bare)
    values = tuple(v for v in values if v.kind not in _MANNERS or about & _MANNERS[v.kind])
    low = fold_case(said)
    asks = bool(_QUESTION.search(low)) and not _REQUEST.search(low)
    forbids = bool(_FORBIDS.search(low))
    universal = bool(_UNIVERSAL.search(low))
    changes = CHANGE.search(fold_case(text)) is not None or NEW.search(text) is not None
    revokes = bool(REVOKED.search(low))
    errand = bool(_ERRAND.search(low))
    asked = _demand(said, low, forbids=forbids, errand=errand)
    weight = asked + _fixed(low, values)
    if weight:
        weight += universal + (changes or revokes)
    if _NARRATES.search(low) and not forbids and asked < STRICT:
        weight -= 4
    if _SMALL_TALK.search(low):
        weight -= 4
    weight = max(0, weight)
    if asks:
        weight = max(0, min(weight - 4, BINDS - 1))
    placed = tuple(Value(v.kind, v.key, v.start + offset, v.end + offset) for v in values)
    refers = bool(_REFERS.search(low))
    binds = weight >= BINDS
    instead = INSTEAD.search(low)
    return Statement(
        weight,
        binds and asked >= STRICT,
        binds and asked > 0 and not errand,
        errand,
        about,
        placed,
        refers,
        changes,
        revokes,
        asks,
        forbids,
        universal,
        REPLACES.search(low) is not None,
        PERMITS.search(low) is not None,
        next((group for group in instead.groups() if group), "") if instead else "",
        {v.kind: frozenset(o.key for o in values if o.kind == v.kind) for v in values},
    )


_REFERS = re.compile(
    r"^\W*(?:[A-Za-z]+\s+){0,2}(?:it|them|this|that|these|those)\b(?!\s+\w+\s+(?:is|are|must))"
    r"|^\W*(?:请|把)?(?:它|这|那|其|此)",
)
_LETTER = re.compile(r"[^\W\d_]")
_BULLET = re.compile(
    r"\s*(?:[-*•·–—]|\(?\d{1,2}[.)、](?=\s|[\u4e00-\u9fff])|[（(]?[一二三四五六七八九十]{1,2}[）)、])\s*"
)
_SENTENCE = re.compile(
    r"(?:[^.!?。！？；\n]|[.!?](?!\s|$|[^\x00-\x7f]))+(?:[.!?]+(?=\s|$|[^\x00-\x7f])|[。！？；]+|\n|$)[”\"'」）)]*"
)
"""Up to a mark that ends a sentence: the stop in `config.py`, `v1.2` or `example.org/a?b` does not."""

_QUESTION = re.compile(r"[?？]\s*[”\"'」)）]*\s*$|[吗呢]\s*[?？。!！]*\s*$")
_REQUEST = re.compile(
    r"^\W*(?:(?:and|so|then|also|ok(?:ay)?|but|well)\W+)*(?:can|could|would|will)\s+(?:you|we)\b(?!\s+(?:tell|explain|confirm|check))"
    r"|(?:能不能|可以|能否|可否|麻烦).{0,30}(?:改|换|用|把|将|别|不要)",
)

_FORBIDS = re.compile(
    r"""(?<![A-Za-z](?=[A-Za-z]))(?:\b(?:never|must\s?n['’o]t|must\s+never|may\s+not|shall\s+not|should\s?n['’o]t|not\s+(?:allowed|permitted|acceptable|ok|okay)
        |forbid(?:den)?|prohibit(?:ed)?|ban(?:ned)?|under\s+no\s+circumstances?|off[\s-]limits|avoid|refrain|stay\s+(?:away|out)
        |hands\s+off|leave\s+.{1,60}\s+(?:alone|untouched|as\s+(?:it\s+is|is|they\s+are))|keep\s+(?:out|away)|stop\s+\w+ing
        |can(?:not|['’]t)\s+be|don['’]?ts?\s+ever|nothing\s+(?:may|should|must|gets?|goes|is\s+to)|nowhere\s+near|no\s?(?:body|one)\s+(?:may|should|must|else))\b
     |(?:^|[,;:.!?—–-]\s*|\b(?:and|but|so|please|then|also|you|to|or|just|really|ok|okay)\s+)
        (?:do\s+not|don['’]?t|not\s+to)\s+(?!know\b|think\b|have\b|remember\b|see\b|understand\b|believe\b|worry\b|mind\b)\w
     |^\W*(?:no|zero)\s+(?!problem|worries|idea|thanks|need|i\b)[\w-]+
     |(?:[.;,:]\s+|\b(?:and|but)\s+)no\s+(?!problem|worries|idea|thanks|need|i\b)[\w-]+
     |不要|不得|不准|不许|不可(?!能)|不能|禁止|严禁|切勿|请勿|勿|绝不|决不|千万别|不应|避免|别再|杜绝|不允许|不接受|别(?![人的名处墅])
     |不(?:碰|动|改|用|写|加|删|发|上传|提交|引入|修改|接触|超过|使用|打扰|透露|泄露)
     |不(?!知道|清楚|好|错|对|同|过|行|是|会|懂|确定|了解|着急|客气|小心|仅|但|如|一定|然|管|太|够|明白|记得|想|喜欢)[\u4e00-\u9fff]{1,3}(?=[，。；！]|$))
    """,
    re.VERBOSE,
)

_REQUIRES = re.compile(
    r"""(?<![A-Za-z](?=[A-Za-z]))(?:\b(?:must|ha(?:ve|s)\s+to|(?<!\bi\s)(?<!\bwe\s)(?<!really\s)needs?\s+(?:to|a|an|my|approval)|required?|requires|mandatory|always|at\s+all\s+times|make\s+sure
        |ensure|be\s+sure|(?<!n['’]t\s)(?<!not\s)remember|strictly|exactly|at\s+(?:most|least)|no\s+(?:more|less|fewer|later|earlier|longer)\s+than|limit(?:ed)?\s+to
        |unless|until|without\s+(?:my|asking|approval|explicit|first|a\b)|as\s+long\s+as|whenever|every\s+time|each\s+time|from\s+now\s+on
        |going\s+forward|for\s+the\s+rest\s+of|should|shall|not\s+before|stop\s+(?:and|if|when|after|at|as\s+soon)|first\s+(?:ask|check|run|write)
        |(?:ask|tell|check\s+with|confirm\s+with|warn|notify|consult)\s+(?:me|us)|sign[\s-]?off|only\s+(?:after|if|when|once|use|the|on|in|with|from)
        |(?:and|or)\s+(?:nobody|nothing|no\s?one)\s+else|hard\s+(?:limit|stop|rule)|non-negotiable|stick\s+(?:to|with)|before\s+(?:you|any|each|every|\w+ing)|prior\s+to|max|min|up\s+to|confidential|off\s+the\s+record|secret|throughout|everywhere)\b
     |(?<!is\s)(?<!are\s)(?<!was\s)\bonly\b(?!\s+an?\b)
     |必须|务必|必需|一定要|一定得|只能|只准|只许|仅限|只允许|只用|只要|只[改看读写做用给保动列说回]|总是|始终|永远|一律|统一|至少|至多|最多|最少
     |不超过|不低于|不少于|不晚于|不早于|上限|下限|确保|保证|记得|记住|需要|应该|应当|要求|除非|否则|以内|都要|都用|都得|每次|凡是|严格|默认
     |一旦|如果.{1,30}(?:就|先|请|要|停)|之前(?:先|要|必|请)?|先.{1,20}再|经过?我|征得|[问找]我|告诉我|通知我|联系我|保密|机密|(?:[前后时都也就必还仍])要|就(?:停|先|用|换|改|按|当|直接)|得到.{0,8}(?:同意|确认|批准))
    """,
    re.VERBOSE,
)

_PREFERS = re.compile(
    r"""(?<![A-Za-z](?=[A-Za-z]))(?:\b(?:prefer(?:s|red|ence)?|favou?r|rather|instead\s+of|ideally|i['’]?(?:d|\s+would)\s+(?:like|love|want|prefer)|wants?|would\s+like
        |like\s+(?:it|my|your|the|to|when|answers|short)|hate|dislike|can['’]t\s+stand|love|style|tone|easier\s+for\s+me|suits?\s+me|works?\s+(?:best|better)\s+for\s+me|(?:fine|best)\s+(?:by|for)\s+me|better\s+if
        |don['’]?t\s+(?:like|want|need)|not\s+a\s+fan|wherever\s+possible|when\s+in\s+doubt|if\s+possible|over\s+a\s+list|keep\s+it)\b
     |喜欢|偏好|更愿意|宁可|宁愿|最好|尽量|优先|倾向|希望|想要|习惯|讨厌|不想|风格|语气|更好|而不是|少用|多用|尽可能)
    """,
    re.VERBOSE,
)

_FIXES = re.compile(
    r"""(?<![A-Za-z](?=[A-Za-z]))(?:\b(?:is|are|=|equals?|called|named|lives?\s+(?:at|in)|runs?\s+(?:on|in)|set\s+to|fixed\s+at|belongs?\s+to|owns?|stands?\s+for
        |capped\s+at|due|expires?|starts?\s+(?:on|at)|ends?\s+(?:on|at)|based\s+on|codename|deadline|budget|ceiling|cap|maximum|minimum|limit
        |use|my\s+\w+\s+is|target|version|port|branch|phase|goal|objective|task\s+is|next\s+step|open\s+question|acceptance|done\s+when|scope)\b
     |[:：=]|是|为|叫|等于|定[为在]|设[为成]|固定|截止|预算|上限|端口|分支|代号|版本|负责人|目标|下一步|验收|范围|任务是|待定|待确认)
    """,
    re.VERBOSE,
)

_ERRAND = re.compile(
    r"^\W*(?:(?:hi|hello|hey|yes|ok(?:ay)?|so|well|actually|also|but|and|then|please|sure|no|thanks?|great|alright|oh|now|first|next|finally|in\s+that\s+case|after\s+that)\W+)*"
    r"(?:i|we)(?:['’](?:d|m|ll|ve)|\s+(?:would|really|just|am|do|still|also|will))*\s+"
    r"(?:like|need|want|looking|wondering|trying|hoping|love|prefer)\s+(?:you\s+)?(?:to|for|if|whether)\b"
    r"|^\W*(?:i|we)\s+(?:apologi[sz]e|understand|appreciate|don['’]t\s+(?:remember|know|have))\b"
    r"|^\W*(?:please\s+)?(?:proceed|go\s+ahead|let\s+me\s+know)\b"
    r"|^\W*(?:can|could|would|will)\s+(?:you|we|i)\b"
    r"|^\W*(?:我想|我要|帮我|麻烦|请问|能不能|可以帮)",
)
"""A single thing to do or to know now: no rule for what comes after."""

_NEAR = 20
"""Characters between a word that fixes a value and the value."""

_GOAL = re.compile(
    r"\b(?:goal|objective|task\s+is|next\s+step|open\s+question|still\s+(?:to\s+do|open|missing)|todo|remaining|awaiting|acceptance"
    r"|done\s+when|milestone|phase|we\s+are\s+(?:on|at|in)|the\s+point\s+(?:is|of)|success\s+means)\b"
    r"|目标|下一步|待办|还差|剩下|未完成|里程碑|验收|阶段|任务是|最终要|待定|待确认",
)

_UNIVERSAL = re.compile(
    r"\b(?:all|every|each|any|always|by\s+default|everything|everywhere|whenever|wherever|throughout|whole|entire|anything|across)\b"
    r"|所有|全部|每[个次一条份篇段天周]|任何|一律|统一|凡是|都|全程|整个|始终|永远",
)

_IMPERATIVE = re.compile(
    r"""^\W*(?![\w-]+\s[\w-]+\s(?:is|are|was|were|has|had|uses|needs|lives|runs|[a-z]{3,}ed)\b)(?:(?:please|also|and|but|so|then|now|kindly|just|ok(?:ay)?|well|finally|first|otherwise|instead|in\s+[\w\s]{2,30},|for\s+[\w\s]{2,30},
        |when\w*\s[^,]{2,60},|if\s[^,]{2,80},|after\s[^,]{2,60},|before\s[^,]{2,60},|from\s+now\s+on,?|as\s+a\s+rule,?)\s+)*
        (?:use|keep|make|put|set|write|answer|reply|respond|report|show|give|list|name|call|prefix|suffix|format|cite|quote|include|exclude|skip
        |omit|leave|treat|assume|stick|follow|run|test|check|verify|confirm|ask|tell|warn|stop|wait|pause|log|record|save|store|commit|push|pull
        |merge|rebase|tag|branch|deploy|release|send|mail|post|publish|return|print|round|count|measure|sort|order|group|split|limit|cap|restrict
        |start|begin|end|finish|open|close|read|look|search|find|work|stay|remember|note|mark|label|translate|summari[sz]e|explain|describe|document
        |comment|indent|wrap|spell|capitali[sz]e|sign|address|refer|prefer|avoid|add|remove|delete|rename|move|copy|replace|update|bump|pin|lock
        |freeze|touch|edit|change|revert|undo|back\s?up|restore|install|import|export|build|compile|lint|type|review|approve|escalate|hand|assign
        |schedule|plan|book|reserve|pay|charge|bill|refund|cancel|be|do|let(?!['’])|get|take|bring|hold|raise|throw|fail|retry|redact|mask|hide|encrypt
        |expose|share|disclose|reveal|draft|propose|suggest|recommend|present|display|render|plot|draw|append|attach|link|number|date|target|aim
        |focus|ignore|apply|enable|disable|turn|switch|drop|allow|grant|deny|reject|accept|communicate|speak|talk|phrase|word|begin|close|divide)\b
     |^\W*(?:请|把|将|先|用|按|以|写|给|让|改|加|删|输出|回复|回答|返回|保持|使用|遵循|采用|优先|列出|显示|标注|注明|附上|生成|提供|命名|统一
        |每|所有|全部|凡|代码|注释|提交|测试|文档|日志|日期|时间|金额|变量|函数|接口|表格|图|结果|报告|总结|称呼|翻译|引用)
    """,
    re.VERBOSE,
)

_TERSE = re.compile(
    r"""^(?!.*\b(?:is|are|was|were|be|been|has|have|had|do|does|did|can|could|will|would|may|might|i|we|you|he|she|they|it
        |there|\w+ed|\w+ing)\b)(?=.*\b(?:in|for|without|with|per|first|last|before|after|under|instead)\b)
        [A-Z][\w'’-]*(?:,?\s+[\w'’"-]+){1,8}[.!]?$
     |^\W*if\s[^,]{2,80},\s+(?!(?:i|you|he|she|it|we|they|the|an?|my|your|this|that|there|is|are|what|how|can|could|would)\b)[a-z]+\s
     |^(?![我你他她它这那咱昨])[\u4e00-\u9fffA-Za-z]{1,8}(?:用|写|放|按|存|排|走|采用)[在到成为]?(?![过了户])[\u4e00-\u9fffA-Za-z“\d]""",
    re.IGNORECASE | re.VERBOSE,
)
"""An order without its verb, or one that begins with what it is about."""

_SELF = re.compile(
    r"^\W*(?:i['’]?m|i\s+am)\s+(?!\w+ing\b|sorry|not\s+sure|afraid|here|sure|glad|happy|ok)[\w-]+(?:\s+[\w-]+){0,4}[.!]?$"
    r"|^\W*i\s+(?:never|only|always|can['’]?t|don['’]t\s+(?:eat|drink|drive|fly|do|work))\b"
    r"|^我(?!觉得|想问|看|知道|在|们|刚|昨|问|说|也|是说|的)[\u4e00-\u9fff]{2,10}[。！]?$",
)
"""What somebody says about themselves, briefly."""

_NARRATES = re.compile(
    r"""^\W*(?:(?!(?:using|keeping|nothing|anything|everything|something|during|according|string|bring|being)\b)[a-z]{3,}ing\s(?!to\s+be\b)[^,]*$
        |(?:(?:yesterday|last\s+(?:week|time|night|session)|earlier|so\s+far|we\s+(?:pinned|renamed|discussed|added|tried|saw|ran|moved|had|did|looked|fixed|shipped)
        |i\s+(?:tried|ran|saw|looked|was|had|did|just|already|went|got|think|guess|believe|noticed|found|heard|remember|see|understand|see)
        |it\s+(?:was|looks|seems|worked|works|took|felt)|there\s+(?:is|are|was|were)|that\s+(?:is|was|looks|seems|makes|sounds|works)|this\s+(?:looks|seems|was))\b))
     |^\W*(?:昨天|上次|之前我们|刚才|我们(?:讨论|试)过|看起来|好像|似乎|我(?:觉得|看到|发现|刚|昨天))
    """,
    re.VERBOSE,
)

_SMALL_TALK = re.compile(
    r"^\W*(?:thanks?|thank\s+you|hi|hello|hey|ok(?:ay)?|yes|yeah|yep|sure|great|good|perfect|no\s+problem|bye|got\s+it|sounds\s+good|please\s+proceed"
    r"|好的?|谢谢|嗯|行|可以|没问题|你好|继续|对)\b[^,，;；:：]{0,40}$",
)

_MANNERS = {
    "tone": frozenset({"answer", "style", "tone", "summary", "message", "comment", "report"}),
    "units": frozenset({"unit", "answer", "report", "style", "tone"}),
    "format": frozenset({"answer", "format", "style", "report", "summary", "message", "document", "email"}),
}
"""Kinds whose words are values only where manners of speaking are the subject."""


def _without(text: str, values: tuple[Value, ...]) -> str:
    """The text with its values blanked out."""
    parts: list[str] = []
    end = 0
    for value in values:
        parts.append(text[end : value.start])
        end = value.end
    return " ".join([*parts, text[end:]])


def _demand(text: str, low: str, *, forbids: bool, errand: bool) -> int:
    """What is asked, and how strictly; from STRICT on it is a rule."""
    asked = 0
    if forbids:
        asked += 6
    if _REQUIRES.search(low):
        asked += STRICT
    if _PREFERS.search(low):
        asked += 4
    if _IMPERATIVE.search(low) or _TERSE.search(text):
        asked += 3
    if _SELF.search(low):
        asked += 3
    return asked // 2 if errand else asked


def _fixed(text: str, values: tuple[Value, ...]) -> int:
    """What is stated as a fact: exact values, and where the work stands."""
    weight = 0
    if values:
        exact = sum(1 for value in values if value.kind in EXACT)
        weight = min(4, len({(v.kind, v.key) for v in values}) + exact)
        fixing = [match.end() for match in _FIXES.finditer(text)]
        if fixing and (exact or any(abs(v.start - end) <= _NEAR for end in fixing for v in values)):
            weight += 2
    if _GOAL.search(text):
        weight += 3
    return weight
