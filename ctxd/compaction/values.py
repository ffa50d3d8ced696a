"""Exact values in a sentence: what kind each is, and which of two are the same.

A kind is *scalar* where one thing has one of it at a time (a cap, a date, a time zone): two
statements about one thing then contradict each other. Paths, names, codes and literals may add up.
"""

from __future__ import annotations

import re

import msgspec

from ctxd.compaction.vocabulary import is_function_word

SCALAR = frozenset(
    {"money", "percent", "date", "time", "duration", "size", "version", "number", "timezone", "units"}
    | {"language", "format"}
)

GLOBAL = frozenset({"timezone", "units"})
"""Kinds of which a session has one unless it says for what: a second one contradicts the first."""

EXACT = frozenset(
    {
        "literal",
        "url",
        "date",
        "money",
        "percent",
        "size",
        "path",
        "code",
        "version",
        "name",
        "timezone",
        "hash",
    }
)
"""Kinds that nobody can guess again; plain numbers and words for manners are not."""


class Value(msgspec.Struct, frozen=True):
    """A value at `start:end` of its sentence. Equal `kind` and `key` mean the same value."""

    kind: str
    key: str
    start: int
    end: int


def values_of(text: str) -> tuple[Value, ...]:
    """The values of a sentence, in order. `text` is simplified already."""
    if _SUSPECT.search(text) is None and _TRIGGERS.isdisjoint(_WORD_RUN.findall(text.lower())):
        return ()
    found: list[Value] = []
    for match in _PATTERN.finditer(text):
        kind = match.lastgroup
        assert kind is not None
        start, end = match.span("person" if kind == "name" and match["person"] else kind)
        if kind == "word":
            kind = _LEXICON.get(match[0].lower(), "")
            if not kind:
                continue
        elif kind == "spelled":
            unit = (match["unit"] or "").lower()
            kind = next((k for k, units in _MEASURES.items() if unit and re.fullmatch(units, unit)), "number")
        elif kind == "name" and match["person"] is None:
            first = text[start:end].split(None, 1)
            if is_function_word(first[0]):
                # A sentence begins here; a name is what is left, if that is more than one word.
                start = end - len(first[1])
                if " " not in first[1]:
                    continue
        key = _key(kind, text[start:end])
        if key and (kind, key) != ("number", "1"):
            found.append(Value(kind, key, start, end))
    return tuple(found)


_ONES = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
_TENS = "seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety"
_UNITS = {word: number for number, word in enumerate(f"zero {_ONES} seventeen eighteen nineteen".split())}
_UNITS |= {word: 20 + 10 * index for index, word in enumerate(_TENS.split()[3:])} | {"dozen": 12}
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
_DIGITS = {char: number for number, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_CHINESE_SCALES = {"十": 10, "百": 100, "千": 1_000, "万": 10_000, "亿": 100_000_000}

_WORD = "|".join(sorted({*_UNITS, *_SCALES}, key=len, reverse=True))
_WORDS = rf"(?:{_WORD})(?:(?:\s+and\s+|[\s-]+)(?:{_WORD}))*"
_N = r"\d[\d,]*(?:\.\d+)?"
_ZN = r"[\d零〇一二三四五六七八九十百千万两半][\d零〇一二三四五六七八九十百千万亿两半.,]*"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
_FILE = (
    r"(?:pyi?|tsx?|jsx?|jsonl?|ya?ml|toml|md|rst|txt|cfg|ini|conf|sh|go|rs|java|kt|c|h|cc|cpp|hpp|cs|rb|php"
    r"|swift|css|html|vue|sql|csv|lock|env|log|pdf|docx?|xlsx?|proto|xml|ipynb)"
)
_ZONES = (
    r"\b(?-i:UTC|GMT)(?:[+-]\d{1,2}(?::\d\d)?)?\b"
    r"|\b(?-i:CET|CEST|EST|EDT|CST|CDT|MST|MDT|PST|PDT|JST|IST|BST)\b"
    r"|\b(?:pacific|eastern|central|mountain|beijing|tokyo|london|berlin)\s+(?:(?:standard|daylight)\s+)?time\b"
    r"|\b(?-i:[A-Z][a-z]+/[A-Z][a-z]+(?:_[A-Z][a-z]+)*)\b"
    r"|(?:北京|东京|伦敦|纽约|太平洋|美东|美西|柏林|协调世界|格林威治)时间?"
)
_DATES = (
    r"\b\d{4}[-/.]\d{1,2}[-/.]\d{1,2}\b|\b\d{1,2}/\d{1,2}(?:/\d{2,4})?\b|\b\d{1,2}-\d{1,2}\b(?=\s*\()"
    rf"|\b{_MONTH}\.?\s+\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s+\d{{4}})?\b"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}\b(?:\s+\d{{4}})?|\b{_DAY}\b"
    r"|\b(?:end\s+of\s+(?:the\s+)?(?:day|week|month|quarter|year)|next\s+(?:week|month))\b"
    r"|\b(?-i:EOD|EOW|Q[1-4])\b"
    r"|(?:\d{4}年)?\d{1,2}月(?:\d{1,2}[日号])?|[一二三四五六七八九十]+月(?:[一二三四五六七八九十]+[日号])?"
    r"|(?:这|本|下)?(?:周|星期|礼拜)[一二三四五六日天]|[今明后]天|[今明]晚|下个?(?:周|月|季度)|本(?:周|月|季度)[内底]?"
    r"|[月年]底|月初"
)
_TIMES = (
    r"\b\d{1,2}:\d{2}(?:\s*[ap]\.?m\.?)?|\b\d{1,2}\s*[ap]\.?m\b\.?"
    rf"|(?:早上|上午|中午|下午|傍晚|晚上|凌晨)(?:\d{{1,2}}|[一二三四五六七八九十两]{{1,3}})点(?:半|{_ZN}分)?(?!\d)"
    rf"|(?:\d{{1,2}}|[一二三四五六七八九十两]{{1,3}})点(?:半|钟|整|{_ZN}分|(?=[前后到至]|之[前后]|以[前后]))"
)
_MONEY = (
    r"(?:us|hk|nt|c)?[$€£¥￥]\s?\d[\d,]*(?:\.\d+)?(?:\s?(?:k|m|bn|million|thousand)\b)?"
    rf"|\b{_N}\s*k?\s?(?:dollars?|usd|bucks|eur(?:os?)?|rmb|cny|yuan|gbp|pounds?|yen|cents?)\b"
    rf"|{_ZN}\s*(?:美元|人民币|欧元|日元|英镑|港币|台币|元|块钱?|美金)"
)
_SPANS = (
    rf"\b{_N}[\s-]?(?:ms|milliseconds?|s|secs?|seconds?|mins?|minutes?|hrs?|hours?|days?|weeks?|months?|years?)\b"
    rf"|{_ZN}\s?(?:毫秒|秒钟?|分钟|小时|天|周|个月|年)(?!\d)"
)
_PATHS = (
    r"(?:~|\.{1,2})?/[\w.@+-]+(?:/[\w.@+*-]*)*|\b[\w.@+-]+/[\w./@+*-]*\w/?|\b[\w-]+/(?=\s|[，。,.;]|$)"
    rf"|\b[\w-]+(?:\.[\w-]+)*\.{_FILE}\b|(?<!\w)\.[a-z]+(?:rc|ignore|env)\b"
    r"|\b(?:[a-z][\w-]*\.){1,4}(?:internal|local|com|org|net|io|dev|cn|example|test)\b"
)
_CODES = (
    r"\b(?!\d+(?:st|nd|rd|th|k)\b)(?=[\w-]*\d)(?=[\w-]*[a-z])[a-z0-9]+(?:[-_][a-z0-9]+)*\b(?!\.\d)"
    r"|\b(?-i:[A-Z]{2,}(?:[-_][A-Z]+)+)\b|\b[a-z]\w*_\w+\b|\b(?-i:[a-z]+(?:[A-Z][a-z]+)+)\b"
)
_LISTED = {
    "tone": "terse brief concise short shorter long longer detailed verbose thorough playful warm formal"
    " informal casual friendly light dry plain humorous funny serious professional blunt polite technical"
    " laconic chatty enthusiastic neutral",
    "language": "english german french spanish italian portuguese dutch russian japanese korean chinese"
    " mandarin arabic python javascript typescript golang kotlin elixir php",
    "format": "json yaml toml xml csv tsv markdown html latex bullets table tables prose paragraph"
    " paragraphs",
    "units": "metric imperial celsius fahrenheit",
    "time": "noon midnight",
    "date": "today tomorrow tonight",
}
_LEXICON = {word: kind for kind, words in _LISTED.items() for word in words.split()}
"""English words that are values by themselves; looked up, for there are too many to try one by one."""

_TONES = r"简短|简洁|精简|详细|啰嗦|正式|随意|轻松|幽默|活泼|严肃|专业|友好|温和|口语|礼貌"
_LANGUAGES = (
    r"(?-i:Go|Rust|Swift|Java|Ruby|Scala|C\+\+)(?!\w)"
    r"|英[文语]|简体中文|繁体中文|中文|汉语|普通话|日[文语]|韩语|法[文语]|德[文语]|西班牙语|俄语"
)
_FORMATS = r"plain\s+text|bullet(?:ed)?\s+(?:points?|lists?)|numbered\s+lists?|表格|列表|纯文本|段落|要点"
_MEASURES = {
    "money": r"dollars?|usd|bucks|euros?|eur|rmb|cny|yuan|gbp|pounds?|yen|cents?",
    "percent": r"percent",
    "duration": r"milliseconds?|seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?|months?|years?",
}
_UNITS_OF = "|".join(_MEASURES.values())
_SPELLED = rf"(?=[zotfsenhmd])(?:{_WORDS})\b(?:[\s-](?P<unit>{_UNITS_OF})\b)?"
_NUMBERS = (
    rf"(?<![A-Za-z\d])\d[\d,]*(?:\.\d+)?|{_ZN}(?=[个次条行字名位台份章页倍项遍轮级层款笔套路])"
    r"|(?<=[成为是到过于用])[二三四五六七八九十百千万两]+"
)
_NAMES = (
    r"(?-i:\b[A-Z][a-z]+(?:\s+[A-Z][a-z]+)+\b)"
    r"|(?:由|找|联系|归|交给|负责人[是为:：]?|改成|换成)(?P<person>[\u4e00-\u9fff]{2,3}?)"
    r"(?=来|负责|审[核批]|批准|处理|值班|[，。；]|$)"
)

_LABELS = (
    r"\b(?:step|test|bug|issue|ticket|pr|mr|part|chapter|section|line|page|task|item|option|case|phase|round"
    r"|question|figure|table|row|column|commit|milestone|sprint|story|problem|exercise|example|appendix|slide"
    r"|scenario|variant|batch|iteration|stage|lesson)s?\s+#?\d+\b|(?<!\w)#\d+\b"
    rf"|第\s?(?:\d+|{_ZN})\s?(?:步|章|节|行|页|条|个|项|题|轮|期|部分|阶段)"
)
"""A number behind what it counts off names one of many: it is no value that another could replace."""

_KINDS = (
    ("literal", r"`[^`\n]{1,80}`|\"[^\"\n]{1,80}\"|“[^”\n]{1,80}”|「[^」\n]{1,80}」|《[^》\n]{1,60}》"),
    ("url", r"\bhttps?://[^\s，。；）)]*[^\s，。；）).,;:!?'\"]|\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    ("timezone", _ZONES),
    ("date", _DATES),
    ("time", _TIMES),
    ("money", _MONEY),
    ("percent", rf"\b{_N}\s?(?:%|percent\b)|百分之{_ZN}"),
    ("size", r"\b\d[\d,.]*\s?(?:[kmgt]i?b|bytes?)\b"),
    ("duration", _SPANS),
    ("path", _PATHS),
    ("hash", r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b"),
    ("code", _CODES),
    ("version", r"\bv?\d+(?:\.\d+)+(?:[-.]?(?:rc|alpha|beta)\d*)?\b"),
    ("units", r"公制|英制|摄氏度?|华氏度?"),
    ("tone", _TONES),
    ("language", _LANGUAGES),
    ("format", _FORMATS),
    ("label", _LABELS),
    ("spelled", _SPELLED),
    ("number", _NUMBERS),
    ("name", _NAMES),
    ("word", r"[A-Za-z]+"),
)

_SUSPECT = re.compile(
    r"[^A-Za-z\s,;:!?.'’()-]|[A-Za-z]\.[A-Za-z]|[a-z][A-Z]|[A-Z]{2}|(?:^|\s)[A-Z][a-z]+\s+[A-Z]|\w-\w"
)
"""What a sentence needs for a value that no list of words knows; most sentences have neither."""

_WORD_RUN = re.compile(r"[a-z]+")
_TRIGGERS = frozenset(
    {*_LEXICON, *_UNITS, *_SCALES, "end", "next", "plain", "bullet", "bulleted", "numbered", "go", "rust"}
    | {"swift", "java", "ruby", "scala", "pacific", "eastern", "central", "mountain", "beijing", "tokyo"}
    | {"london", "berlin", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
    | {"mondays", "tuesdays", "wednesdays", "thursdays", "fridays", "saturdays", "sundays"}
)

_ALL = "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _KINDS)

_PATTERN = re.compile(rf"(?<![A-Za-z])(?:{_ALL})", re.IGNORECASE)
"""No value begins inside a word; saying so first spares most of the search."""


def _key(kind: str, text: str) -> str:
    """The value in one spelling: `$500`, `five hundred dollars` and `500 USD` are the same."""
    if kind in ("money", "percent", "number", "duration", "size"):
        number = _number(text)
        unit = (
            "" if kind in ("money", "percent", "number") else re.sub(rf"{_N}|{_ZN}|[\s-]", "", text.lower())
        )
        return f"{number:g}{unit[:2]}" if number is not None else text.lower()
    if kind == "date":
        return re.sub(r"(?<=\d)(?:st|nd|rd|th)\b|\bof\b|[\s,]+", "", text.lower().removesuffix("s"))
    return text.strip('`"“”「」《》').lower()


def _number(text: str) -> float | None:
    digits = re.search(r"\d[\d,]*(?:\.\d+)?", text)
    if digits is not None:
        number = float(digits[0].replace(",", "").rstrip("."))
        after = text[digits.end() :].strip().lower()
        if re.match(r"k(?![a-z])|thousand|千", after):
            return number * 1_000
        if re.match(r"m(?![a-z])|million", after):
            return number * 1_000_000
        return number * 10_000 if after.startswith("万") else number
    words = re.findall(_WORD, text.lower())
    if words:
        return _spelled(words)
    return _chinese([char for char in text if char in _DIGITS or char in _CHINESE_SCALES])


def _spelled(words: list[str]) -> float:
    total = current = 0
    for word in words:
        if word in _UNITS:
            current += _UNITS[word]
        elif word == "hundred":
            current = max(1, current) * 100
        else:
            total += max(1, current) * _SCALES[word]
            current = 0
    return float(total + current)


def _chinese(chars: list[str]) -> float | None:
    if not chars:
        return None
    total = current = 0
    for char in chars:
        if char in _DIGITS:
            current = current * 10 + _DIGITS[char] if current and not total else _DIGITS[char]
        elif _CHINESE_SCALES[char] >= 10_000:
            total, current = (total + current) * _CHINESE_SCALES[char], 0
        else:
            total, current = total + max(1, current) * _CHINESE_SCALES[char], 0
    return float(total + current)
