"""Mending the text of one damaged event, the least change first.

Kineto writes names, log lines and metadata without escaping them in several versions, prints floats as
C++ does (nan, inf) and leaves commas of empty parts; other tools add BOMs, other encodings and cuts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from math import isfinite
from typing import Final

from tracelens.loading.jsontext import BROKEN, parsed

LONGEST: Final = 1 << 20
"""Bytes of text that are mended at most: each step passes over all of it."""
LONGEST_QUOTED: Final = 1 << 17
"""The same where quotes are told apart, which takes a hundred times the memory."""
_STRING: Final = r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)'
"""One without an end reaches to the end of the text: the quotes in it are not tried again one by one."""
_EVENT_KEYS: Final = "ph|cat|name|pid|tid|ts|dur|args|id|bp|s"
_TOKENS: Final = re.compile(_STRING + r"|[^\"\s,:\[\]{}]+|,(?:\s*+,)++|,\s*+(?=[\]}])|(?<=[\[{])\s*+,", re.DOTALL)
_SOUND: Final = (
    rf'{_STRING}|[\s,:\[\]{{}}]++|(?:-?(?:0|[1-9]\d{{,99}}+)(?:\.\d++)?+|true|false|null)(?![^"\s,:\[\]{{}}])'
)
"""What is JSON as it stands, or not made of words; a number so long may be no float."""
_NEXT_WORD: Final = re.compile(rf'((?:{_SOUND})*+)([^"\s,:\[\]{{}}]*+)', re.DOTALL)
_LITERAL: Final = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_LEADING_ZEROS: Final = re.compile(r"\A(-?)0+(?=\d)")
_STRAY_ESCAPE: Final = re.compile(r'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})')
_LONE_BACKSLASH: Final = re.compile(r'\\(["\\])|\\')
_CONTROL: Final = re.compile(r"[\x00-\x1f]")
_SURROGATE: Final = re.compile(
    r"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
_NAME: Final = re.compile(
    rf'("(?:name|cat)"\s*:\s*")(.{{0,2048}}?)(?="\s*(?:,\s*"(?:{_EVENT_KEYS})"\s*:|\}}\s*\Z))', re.DOTALL
)
_NAME_KEY: Final = re.compile(r'"(?:name|cat)"\s*+:\s*+"')
_MOST_NAMES: Final = 16
"""Names in one text whose ends are sought: each is looked for in 2048 characters, and an event has two."""
_CLOSES: Final = r'(?=\s*+(?:[\]}:]|,\s*+(?:["\[{}\]]|-?\d|true|false|null)|\Z))'
"""What follows a quote that closes a string."""
_INSIDE: Final = r'[^"\\]++|\\.'
_NEXT_DOUBTFUL: Final = re.compile(
    rf'((?:{_INSIDE}|"(?:{_INSIDE})*+"{_CLOSES})*+)(?:"((?:{_INSIDE}|"(?!{_CLOSES}))*+)("?))?+', re.DOTALL
)
"""Text up to a string that holds quotes or does not end, and that string."""
_INNER_QUOTE: Final = re.compile(r'(?<!\\)((?:\\\\)*+)"')


def mend(text: bytes) -> tuple[object, list[str]] | None:
    """The value of damaged JSON and the kinds of damage mended, or None when nothing helps or it is too long."""
    if len(text) > LONGEST:
        return None
    decoded, kinds = _decoded(text)
    for quoted, escape in _QUOTES if len(text) <= LONGEST_QUOTED else _QUOTES[:1]:
        escaped = escape(decoded)
        if quoted and escaped == decoded:
            continue
        mended = _mend_rest(escaped, [*kinds, *quoted])
        if mended:
            return mended
    return None


def _mend_rest(text: str, kinds: list[str]) -> tuple[object, list[str]] | None:
    """Apply one step after the other until the text is JSON."""
    for kind, sign, step in _STEPS:
        changed = step(text) if sign.search(text) else text
        if kind and changed == text:
            continue
        text, kinds = changed, [*kinds, kind] if kind else kinds
        value = parsed(text)
        if value is not BROKEN:
            return value, kinds
    return None


def _decoded(text: bytes) -> tuple[str, list[str]]:
    try:
        return text.decode(), []
    except UnicodeDecodeError:
        return text.decode("utf-8", "replace"), ["bytes that are not UTF-8"]


def _escape_controls(text: str) -> str:
    return re.sub(_STRING, lambda found: _CONTROL.sub(_escape, found[0]), text, flags=re.DOTALL)


def _escape(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]


def _double_backslashes(text: str) -> str:
    return re.sub(_STRING, _double_lone_ones, text, flags=re.DOTALL)


def _double_lone_ones(found: re.Match[str]) -> str:
    """One stray escape makes every lone backslash of the string a separator of paths."""
    if not _STRAY_ESCAPE.search(found[0]):
        return found[0]
    return _LONE_BACKSLASH.sub(lambda lone: lone[0] if lone[1] else r"\\", found[0])


def _replace_surrogates(text: str) -> str:
    return _SURROGATE.sub(lambda found: found[1] or r"\ufffd", text)


def _escape_quotes_of_name(text: str) -> str:
    if len(_NAME_KEY.findall(text)) > _MOST_NAMES:
        return text
    return _NAME.sub(lambda found: found[1] + _escaped(found[2]), text)


def _escape_inner_quotes(text: str) -> str:
    """Escape quotes within strings: a quote closes one only if what follows can follow a string."""
    return _NEXT_DOUBTFUL.sub(_with_escaped_quotes, text)


def _with_escaped_quotes(found: re.Match[str]) -> str:
    before, inside, end = found.groups()
    return before if inside is None else f'{before}"{_escaped(inside)}{end}'


def _escaped(inside: str) -> str:
    if "\\" not in inside:
        return inside.replace('"', r"\"")
    return _INNER_QUOTE.sub(lambda found: rf"{found[1]}\"", inside)


def _null_bare_words(text: str) -> str:
    return _NEXT_WORD.sub(lambda found: found[1] + _null_if_bare(found[2]), text)


def _null_if_bare(word: str) -> str:
    """The word, without leading zeros, if JSON has it; nothing if it is none."""
    number = _LEADING_ZEROS.sub(r"\1", word)
    return number if not word or _is_literal(number) else "null"


def _is_literal(token: str) -> bool:
    """Whether JSON has such a word or number; none that no float holds."""
    return bool(_LITERAL.fullmatch(token)) and (token.isalpha() or isfinite(float(token)))


def _drop_commas(text: str) -> str:
    return _TOKENS.sub(_without_spare_comma, text)


def _without_spare_comma(found: re.Match[str]) -> str:
    token = found[0]
    if "," not in token or token[0] == '"':
        return token
    return "," if token.count(",") > 1 else ""


_QUOTES: Final[tuple[tuple[list[str], Callable[[str], str]], ...]] = (
    ([], str),
    (["unescaped quotes"], _escape_quotes_of_name),
    (["unescaped quotes"], _escape_inner_quotes),
)
"""Ways to read the quotes. Each is followed by all steps, which rely on strings being delimited."""

_STEPS: Final[tuple[tuple[str, re.Pattern[str], Callable[[str], str]], ...]] = (
    ("", re.compile(""), str),
    ("control characters in text", _CONTROL, _escape_controls),
    ("stray backslashes", _STRAY_ESCAPE, _double_backslashes),
    ("lone surrogates", _SURROGATE, _replace_surrogates),
    ("values that are not JSON (NaN, inf, N/A)", re.compile(""), _null_bare_words),
    ("spare commas", re.compile(r",\s*+[,\]}]|[\[{]\s*+,"), _drop_commas),
)
"""Kind of damage, what a text with such damage holds, and how it is mended."""
