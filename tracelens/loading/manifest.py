"""Checks a run's manifest value by value: what no recording writes is left out, and named."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

from tracelens.loading.repairs import one_line
from tracelens.model.forms import FORMS

SCHEMA_VERSION: Final = 1
LARGEST: Final = 1e15
"""No number of a recording is larger."""
ROUNDING: Final = 1e-6
"""By how much of itself a median may lie outside its own range."""
MATCHES: Final = ("match", "differ", "unchecked")
"""What a recording says of a form's outputs beside eager's."""
Record: TypeAlias = Mapping[str, Any]
"""An object of the manifest."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What a value must be."""

    wrong: str
    """What is said of any other value."""
    holds: Callable[[object], bool]
    each: Expected | None = None
    """Of a list, what its values must be."""


def _is_amount(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= LARGEST


def _is_count(value: object) -> bool:
    return _is_amount(value) and cast("float", value) >= 1


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _is_blocker(row: object) -> bool:
    """An object with an id and a message, as a form's blocker has."""
    if not isinstance(row, dict):
        return False
    given = cast("Record", row)
    return all(isinstance(given.get(key), str) and given[key] for key in ("id", "message"))


AMOUNT: Final = Expected("no number of 0 or more", _is_amount)
COUNT: Final = Expected("no number of 1 or more", _is_count)
TEXT: Final = Expected("no text", lambda value: isinstance(value, str))
TRUTH: Final = Expected("neither true nor false", lambda value: isinstance(value, bool))
OBJECT: Final = Expected("no object", lambda value: isinstance(value, dict))
TEXTS: Final = Expected("no list", _is_list, TEXT)
AMOUNTS: Final = Expected("no list", _is_list, AMOUNT)
OBJECTS: Final = Expected("no list", _is_list, OBJECT)
BLOCKERS: Final = Expected("no list", _is_list, Expected("no object with an id and a message", _is_blocker))
OUTPUTS: Final = Expected("neither match, differ nor unchecked", lambda value: value in MATCHES)
HEAD: Final = {"run": TEXT, "command": TEXTS, "environment": OBJECT, "target": OBJECT, "complete": TRUTH}
FORM: Final[Mapping[str, Expected]] = {  # but for step_ms: who judges forms says what is no time
    **dict.fromkeys(("low", "high", "region_ms", "wall_ms", "event_step_ms", "setup_s"), AMOUNT),
    **dict.fromkeys(("peak_mib", "reserved_mib", "traced_over_untraced", "largest_error", "compiler_graphs"), AMOUNT),
    **dict.fromkeys(("variant", "error"), TEXT),
    **dict.fromkeys(("graph_breaks", "recompiles", "cudagraph_skips", "syncs"), OBJECTS),
    "steps": COUNT,
    "chunk_ms": AMOUNTS,
    "outputs": OUTPUTS,
    "blockers": BLOCKERS,
    "notes": TEXTS,
}


def version_refused(manifest: Record) -> str:
    """What is wrong with a manifest's version, and what to do; "" where nothing is."""
    if "schema_version" not in manifest:
        return "no schema_version; record the run again"
    version = manifest["schema_version"]
    if type(version) is not int:
        return f"schema_version {_short(version)} is no whole number; record the run again"
    if version != SCHEMA_VERSION:
        remedy = "use a newer tracelens" if version > SCHEMA_VERSION else "record the run again"
        return f"schema_version {_short(version)} is not {SCHEMA_VERSION}; {remedy}"
    return ""


def sound_head(manifest: Record) -> tuple[Record, tuple[str, ...]]:
    """The manifest without what above its forms is of a wrong kind, and a note of each."""
    return _sound(manifest, HEAD, "")


def sound_forms(given: Mapping[str, Record]) -> tuple[dict[str, Record], tuple[str, ...]]:
    """The form objects, simplest first, without what no recording writes, and a note of all that is left out."""
    notes = [f"forms.{one_line(name)} is no form that is known: it is left out" for name in given if name not in FORMS]
    forms: dict[str, Record] = {}
    for name in (name for name in FORMS if name in given):
        record, wrong = _sound(given[name], FORM, f"forms.{name}.")
        notes.extend(wrong)
        why = _contradiction(record)
        if why:
            notes.append(f"forms.{name}: {why}: what was measured of it is left out")
        else:
            forms[name] = record
            notes.extend(_mishap(name, record))
    return forms, tuple(notes)


def _sound(record: Record, wanted: Mapping[str, Expected], where: str) -> tuple[Record, tuple[str, ...]]:
    """A record without values, and values of its lists, of a wrong kind, and a note of each."""
    sound, notes = dict(record), list[str]()
    for key, kind in wanted.items():
        value = record.get(key)
        if value is not None and not kind.holds(value):
            notes.append(_odd(f"{where}{key}", value, kind))
            del sound[key]
        elif value is not None and kind.each is not None:
            odd = [number for number, one in enumerate(value) if not kind.each.holds(one)]
            notes.extend(_odd(f"{where}{key}[{number}]", value[number], kind.each) for number in odd)
            sound[key] = [one for number, one in enumerate(value) if number not in odd]
    return sound, tuple(notes)


def _odd(place: str, value: object, kind: Expected) -> str:
    return f"{place} is {kind.wrong}, {_short(value)}: it is left out"


def _contradiction(record: Record) -> str:
    """Why a form object cannot be what was measured; "" when it can."""
    source = record.get("source", "measured")
    if source != "measured":
        return f"its source is {_short(source)}, not measured"
    low, high = record.get("low"), record.get("high")
    given = record.get("step_ms")
    step = given if given and _is_amount(given) else None
    if low is not None and high is not None and low > high:
        return f"its low {low} is above its high {high}"
    if step is not None and low is not None and low > step * (1 + ROUNDING):
        return f"its step_ms {step} is below its low {low}"
    if step is not None and high is not None and step > high * (1 + ROUNDING):
        return f"its step_ms {step} is above its high {high}"
    return ""


def _mishap(name: str, record: Record) -> Iterator[str]:
    """That a form failed after its time had been taken."""
    if record.get("step_ms") is not None and record.get("error"):
        yield f"{name} has a time and an error, {one_line(record['error'])}: it may not run to its end"


def _short(value: object) -> str:
    return one_line(repr(value))
