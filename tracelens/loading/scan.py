"""The vectorised decoder: framed events to columns without a Python object per event.

Numbers go from digits to int64, texts through hashes of their bytes to numbers, so that Python sees each
distinct text once. An event with anything unusual (a repeated member, a number with an exponent, a text that does not
decode, the name of a lane) is decoded alone, by the careful decoder.
"""

from __future__ import annotations

from typing import Final, cast

import numpy as np
import numpy.typing as npt

from tracelens.loading.batch import Batch, Sparse, empty_batch, fill, sparse_dtype
from tracelens.loading.careful import NO_PHASE, Record, decode_one, lane_named
from tracelens.loading.fields import ARGUMENTS, DENSE, DEVICE, SPARSE_KINDS, STREAM, Kind
from tracelens.loading.framing import QUOTE, chars_in
from tracelens.loading.interning import HashTable
from tracelens.loading.jsontext import parsed
from tracelens.loading.keys import ARGUMENT_CODES, Key
from tracelens.loading.plain import AnyFrame
from tracelens.loading.repairs import Patience
from tracelens.loading.slab import Slab
from tracelens.loading.soundness import DAMAGED, SoundnessCheck
from tracelens.loading.tables import METADATA_PHASE, PROCESS_NAME, THREAD_NAME, Tables
from tracelens.loading.texts import UNDECODABLE, TextReader
from tracelens.loading.words import Hashes, mixed
from tracelens.model import arguments
from tracelens.model.events import ABSENT, Bools, Int64s


def _codes_by_column() -> dict[str, list[int]]:
    """Codes of all spellings of each column."""
    found: dict[str, list[int]] = {arguments.FLOW_ID: [int(Key.ID)]}
    for key, (column, _) in ARGUMENTS.items():
        found.setdefault(column, []).append(ARGUMENT_CODES[key])
    return found


_COLUMNS: Final = _codes_by_column()
_NARROW: Final = [*_COLUMNS[DEVICE], *_COLUMNS[STREAM]]
_MAY_BE_ARGS: Final = chars_in(b"{n")
"""What an object begins with, or null."""
_QUOTED: Final = (Key.PHASE, Key.CATEGORY, Key.NAME)
_USUAL: Final = (Key.PHASE, Key.NAME, Key.PID, Key.TID, Key.TIME)
_NO_LANE: Final = np.int64(-(2**62))
"""In the place of a pid or tid that is not given: no number so long is read here."""
_IS_FLOW: Final = chars_in(b"stf")
_WORD: Final = np.uint64(0x9FB21C651E98DF25)
"""Sets the hash of a word apart from a number: "" is not -1."""
_SECOND_PART: Final = np.uint64(0xA24BAED4963EE407)
"""Added to the hash of a tid, so that swapping pid and tid makes another lane."""


class Scanner:
    """Decodes frames; remembers the texts and lanes that it has met."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._reader = TextReader(tables)
        self._lanes = HashTable()
        self._mending = Patience()
        """With events that are read as far as they go otherwise."""

    def decode(self, data: bytes, frame: AnyFrame, offset: int) -> tuple[Batch, int]:
        """Batch of the frame's leading events up to the first that cannot be read, and how many these are."""
        check = SoundnessCheck(data, frame)
        slab = Slab.of(data, frame)
        batch = empty_batch(frame.starts + offset, frame.ends - frame.starts + 1)
        _set_irregular_aside(slab)
        _fill_phase(slab, batch)
        values = self._values(slab)
        _fill_dense(slab, batch, values)
        self._fill_lacking_names(slab, batch)
        naming = self._naming(batch)
        columns = {name: _sparse_members(slab, name, batch, values) for name in SPARSE_KINDS if _given(slab, name)}
        self._fill_lanes(slab, batch, values, naming)
        unsound = check.unsound(slab.odd | naming)
        if unsound or slab.odd.any() or not self._take_names(slab, batch, naming):
            slab.odd |= naming
        records, count = self._decode_alone(slab, batch, unsound)
        slab.odd[list(records)] = True
        batch.sparse.update(_sparse_columns(slab, columns, values))
        batch = batch.head(count)
        fill(batch, list(records), list(records.values()), self._tables)
        return batch, count

    def _values(self, slab: Slab) -> Int64s:
        """Value of each member: integers as they are, times and floats as thousandths, texts as their numbers."""
        members = slab.members
        values = slab.raw.values.copy()
        texts = members.of_kind(Kind.TEXT)
        values[texts] = self._reader.read(slab)
        slab.set_aside(texts.start + np.flatnonzero(values[texts] == UNDECODABLE))
        unsound = np.flatnonzero(~slab.raw.sound)
        slab.set_aside(unsound[~_words_of_lanes(slab, unsound)])
        for code in _NARROW:
            narrow = values[members.having(code)]
            slab.set_aside(members.having(code).start + np.flatnonzero(narrow.astype(np.int32) != narrow))
        return values

    def _naming(self, batch: Batch) -> Bools:
        """Metadata events that name lanes."""
        process, thread = (self._tables.names.known(name) for name in (PROCESS_NAME, THREAD_NAME))
        return (batch.phase == METADATA_PHASE) & ((batch.name == process) | (batch.name == thread))

    def _take_names(self, slab: Slab, batch: Batch, naming: Bools) -> bool:
        """Take the names of lanes, and number these; False if that is for the careful decoder, as the text is no JSON.

        A trace of many recordings has so many that their decoding alone would be a tenth of all."""
        rows = np.flatnonzero(naming).tolist()
        events = parsed(b"[%b]" % b",".join(map(slab.event, rows)))
        if not isinstance(events, list):
            return False
        for row, event in zip(rows, cast("list[dict[str, object]]", events), strict=True):
            name, pid, tid, label = lane_named(event)
            batch.lane[row] = self._tables.lanes.id(pid, tid)
            self._tables.lanes.name(name, pid, tid, label)
        return True

    def _fill_lacking_names(self, slab: Slab, batch: Batch) -> None:
        lacking = np.ones(len(slab.odd), dtype=np.bool_)
        lacking[slab.members.row[slab.members.having(Key.NAME)]] = False
        if lacking.any():
            batch.name[lacking] = self._tables.names.id("")

    def _fill_lanes(self, slab: Slab, batch: Batch, values: Int64s, naming: Bools) -> None:
        """Number the lane of each event that is not odd, names none, and is one."""
        rows = np.flatnonzero(~(slab.odd | naming) & (batch.phase != NO_PHASE))
        pid, tid = (_member_of_each(slab, key)[rows] for key in (Key.PID, Key.TID))

        def numbers(new: Int64s) -> list[int]:
            return [
                self._lane(_word(slab, one), _word(slab, other))
                for one, other in zip(pid[new].tolist(), tid[new].tolist(), strict=True)
            ]

        lanes = mixed(_lane_hashes(slab, pid, values) ^ mixed(_lane_hashes(slab, tid, values) + _SECOND_PART))
        batch.lane[rows] = self._lanes.ids(lanes, numbers)
        slab.odd[batch.lane == UNDECODABLE] = True

    def _lane(self, pid: str | None, tid: str | None) -> int:
        return UNDECODABLE if pid is None or tid is None else self._tables.lanes.id(pid, tid)

    def _decode_alone(self, slab: Slab, batch: Batch, unsound: list[int]) -> tuple[dict[int, Record], int]:
        """Decode the odd events and those that are no JSON one by one, up to the first odd one that cannot be read:
        what they hold by row, and where that is. What cannot be mended but is not odd stays as it was read."""
        records: dict[int, Record] = {}
        doubtful = [row for row in unsound if batch.phase[row] != NO_PHASE]
        for row in sorted([*np.flatnonzero(slab.odd).tolist(), *doubtful]):
            text, offset, repairs = slab.event(row), int(batch.offset[row]), self._tables.repairs
            found = decode_one(text, offset, repairs, repairs.mending if slab.odd[row] else self._mending)
            if found is not None:
                records[row] = found
            elif slab.odd[row]:
                return records, row
            else:
                repairs.add(DAMAGED, text[:200], offset)
        return records, len(batch)


def _set_irregular_aside(slab: Slab) -> None:
    """Events that repeat a member that every event has, or give it as something else than usual."""
    members = slab.members
    for key in _USUAL if slab.may_repeat else ():
        rows = members.row[members.having(key)]
        slab.odd[rows[1:][rows[1:] == rows[:-1]]] = True
    for key in _QUOTED:
        found = members.having(key)
        slab.set_aside(found.start + np.flatnonzero(members.first[found] != QUOTE))
    given = members.having(Key.ARGS)
    slab.set_aside(given.start + np.flatnonzero(~_MAY_BE_ARGS[members.first[given]]))


def _fill_phase(slab: Slab, batch: Batch) -> None:
    """The one character of `ph`."""
    phases = slab.members.having(Key.PHASE)
    value, rows = slab.members.value[phases], slab.members.row[phases]
    slab.odd[rows[slab.members.text_end[phases] != value + 2]] = True
    batch.phase[rows] = np.frombuffer(slab.data, dtype=np.uint8).take(value + 1)


def _words_of_lanes(slab: Slab, members: Int64s) -> npt.NDArray[np.bool_]:
    """Which of these members are a pid or tid that is a string, as it may be."""
    lanes = slice(slab.members.having(Key.PID).start, slab.members.having(Key.TID).stop)
    return (slab.members.first[members] == QUOTE) & (members >= lanes.start) & (members < lanes.stop)


def _fill_dense(slab: Slab, batch: Batch, values: Int64s) -> None:
    """Names, categories, times and the ids that every column of Events holds."""
    targets = [(batch.name, [int(Key.NAME)]), (batch.category, [int(Key.CATEGORY)])]
    targets += [(batch.start, [int(Key.TIME)]), (batch.duration, [int(Key.DURATION)])]
    targets += [(getattr(batch, name), _COLUMNS[name]) for name in DENSE]
    for column, codes in targets:
        found = _having_any(slab, codes)
        column[slab.members.row[found]] = values[found]


def _having_any(slab: Slab, codes: list[int]) -> Int64s | slice:
    """Members with any of these keys in file order; events with two of them are odd."""
    found = [one for one in map(slab.members.having, codes) if one.stop > one.start]
    if len(found) < 2 and not slab.may_repeat:
        return found[0] if found else slice(0, 0)
    if len(found) > 1:
        every: Int64s = np.concatenate([np.arange(one.start, one.stop, dtype=np.int64) for one in found])
        members = every[np.argsort(slab.members.row[every], kind="stable")]
    else:
        members = found[0] if found else slice(0, 0)
    rows = slab.members.row[members]
    slab.odd[rows[1:][rows[1:] == rows[:-1]]] = True
    return members


def _given(slab: Slab, name: str) -> bool:
    """Whether any event gives this column."""
    return any(one.stop > one.start for one in map(slab.members.having, _COLUMNS[name]))


def _sparse_members(slab: Slab, name: str, batch: Batch, values: Int64s) -> Int64s | slice:
    """Members that give a value of a sparse column."""
    found = _having_any(slab, _COLUMNS[name])
    if name == arguments.FLOW_ID:
        given = _IS_FLOW[batch.phase[slab.members.row[found]]]
    elif SPARSE_KINDS[name] == Kind.TEXT:
        given = values[found] != ABSENT
    else:
        return found
    if given.all():
        return found
    return found.start + np.flatnonzero(given) if isinstance(found, slice) else found[given]


def _sparse_columns(slab: Slab, columns: dict[str, Int64s | slice], values: Int64s) -> dict[str, Sparse]:
    """Rows and values of each sparse column, for events that are not odd."""
    sparse: dict[str, Sparse] = {}
    any_odd = bool(slab.odd.any())
    for name, found in columns.items():
        rows, kept = slab.members.row[found], values[found]
        if any_odd:
            usual = ~slab.odd[rows]
            rows, kept = rows[usual], kept[usual]
        if len(rows):
            sparse[name] = rows, kept / 1000 if SPARSE_KINDS[name] == Kind.FLOAT else kept.astype(sparse_dtype(name))
    return sparse


def _word(slab: Slab, member: int) -> str | None:
    """What a pid or tid is called; None if it is no JSON."""
    return "" if member == ABSENT else slab.scalar(member)


def _member_of_each(slab: Slab, key: Key) -> Int64s:
    """The member with this key of each event, ABSENT where it has none."""
    found = np.full(len(slab.odd), ABSENT, dtype=np.int64)
    having = slab.members.having(key)
    found[slab.members.row[having]] = np.arange(having.start, having.stop)
    return found


def _lane_hashes(slab: Slab, members: Int64s, values: Int64s) -> Hashes:
    """Hash of each of these pids or tids, whether word or number."""
    given = members != ABSENT
    hashes = np.where(given, values[members], _NO_LANE).view(np.uint64) + np.uint64(1)
    words = np.flatnonzero(given & (slab.members.first[members] == QUOTE))
    if len(words):
        hashes[words] = mixed(values[members[words]].view(np.uint64) + _WORD)
    return hashes
