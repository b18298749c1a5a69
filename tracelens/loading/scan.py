"""The vectorised decoder: framed events to columns without a Python object per event.

Numbers go from digits to int64, texts through hashes of their bytes to numbers, so that Python sees each
distinct text once. An event with anything unusual (a missing or repeated member, a number with an exponent,
a text that does not decode, the name of a lane) is decoded alone, by the careful decoder.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tracelens.loading.batch import Batch, Sparse, empty_batch, fill, sparse_dtype
from tracelens.loading.careful import Record, decode_one
from tracelens.loading.digits import read_integers, read_thousandths
from tracelens.loading.fields import ARGUMENTS, DENSE, DEVICE, SPARSE_KINDS, STREAM, Kind
from tracelens.loading.framing import QUOTE, Frame
from tracelens.loading.interning import HashTable
from tracelens.loading.keys import ARGUMENT_CODES, IS_TEXT, LAST_CODE, Key
from tracelens.loading.slab import Slab
from tracelens.loading.tables import METADATA_PHASE, PROCESS_NAME, THREAD_NAME, Tables
from tracelens.loading.texts import UNDECODABLE, TextReader
from tracelens.loading.words import Hashes, mixed
from tracelens.model import arguments
from tracelens.model.events import ABSENT, Bools, Int64s


def _codes(*codes: int) -> Bools:
    """Table that says of each code whether it is one of these."""
    table = np.zeros(LAST_CODE + 1, dtype=np.bool_)
    table[list(codes)] = True
    return table


def _arguments(*kinds: Kind) -> list[int]:
    return [ARGUMENT_CODES[key] for key, (_, kind) in ARGUMENTS.items() if kind in kinds]


def _codes_by_column() -> dict[str, list[int]]:
    """Codes of all spellings of each column."""
    found: dict[str, list[int]] = {arguments.FLOW_ID: [int(Key.ID)]}
    for key, (column, _) in ARGUMENTS.items():
        found.setdefault(column, []).append(ARGUMENT_CODES[key])
    return found


_COLUMNS: Final = _codes_by_column()
_INTEGERS: Final = _codes(Key.PID, Key.TID, Key.ID, *_arguments(Kind.INTEGER))
_THOUSANDTHS: Final = _codes(Key.TIME, Key.DURATION, *_arguments(Kind.FLOAT))
_NAMES: Final = _codes(Key.NAME) | IS_TEXT
_LANE_PARTS: Final = _codes(Key.PID, Key.TID)
_HASHED: Final = _NAMES | _LANE_PARTS | _codes(Key.CATEGORY)
_QUOTED: Final = _codes(Key.PHASE, Key.CATEGORY, Key.NAME)
_NARROW: Final = _codes(*_COLUMNS[DEVICE], *_COLUMNS[STREAM])
_FLOW_PHASES: Final = np.frombuffer(b"stf", dtype=np.uint8)
_NULL: Final = ord("n")
_REQUIRED: Final = (Key.PHASE, Key.NAME, Key.PID, Key.TID, Key.TIME)
_SECOND_PART: Final = np.uint64(0xA24BAED4963EE407)
"""Added to the hash of a tid, so that swapping pid and tid makes another lane."""


class Scanner:
    """Decodes frames; remembers the texts and lanes that it has met."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._reader = TextReader(tables)
        self._lanes = HashTable()

    def decode(self, data: bytes, frame: Frame, offset: int) -> tuple[Batch, int]:
        """Batch of the frame's leading events up to the first that cannot be read, and how many these are."""
        slab = Slab.of(data, frame)
        batch = empty_batch(frame.starts + offset, frame.ends - frame.starts + 1)
        _set_irregular_aside(slab)
        _fill_phase(slab, batch)
        numbers = _numbers(slab)
        _fill_numbers(slab, batch, numbers)
        hashes = self._hashes(slab, numbers)
        texts = self._texts(slab, hashes)
        _fill_texts(slab, batch, texts)
        self._set_naming_aside(slab, batch)
        columns = {name: _members_of_column(slab, name, batch, texts) for name in SPARSE_KINDS}
        self._fill_lanes(slab, batch, hashes)
        for name, found in columns.items():
            usual = found[~slab.odd[slab.members.row[found]]]
            if len(usual):
                batch.sparse[name] = _sparse(slab, name, usual, texts if SPARSE_KINDS[name] == Kind.TEXT else numbers)
        return self._decode_odd(slab, batch, offset)

    def _hashes(self, slab: Slab, numbers: Int64s) -> Hashes:
        """Hash of each name, category and text, and of each pid and tid whether word or number."""
        code, quoted = slab.members.code, slab.members.first == QUOTE
        hashes = numbers.view(np.uint64) + np.uint64(1)
        strings = np.flatnonzero(quoted & _HASHED.take(code))
        hashes[strings] = self._reader.hashes(slab, strings)
        return hashes

    def _texts(self, slab: Slab, hashes: Hashes) -> Int64s:
        """What each text member stands for: a name's number, or the category of a `cat`; ABSENT for null."""
        code, first = slab.members.code, slab.members.first
        texts = np.full(len(code), ABSENT, dtype=np.int64)
        strings = np.flatnonzero((first == QUOTE) & _NAMES.take(code))
        texts[strings] = self._reader.strings(slab, strings, hashes[strings])
        values = np.flatnonzero((first != QUOTE) & (first != _NULL) & IS_TEXT.take(code))
        texts[values] = self._reader.values(slab, values)
        categories = slab.having(Key.CATEGORY)
        categories = categories[first[categories] == QUOTE]
        texts[categories] = self._reader.categories(slab, categories, hashes[categories])
        slab.set_aside(texts == UNDECODABLE)
        return texts

    def _set_naming_aside(self, slab: Slab, batch: Batch) -> None:
        """Metadata events that name lanes are for the careful decoder, which learns the names."""
        metadata = np.flatnonzero(batch.phase == METADATA_PHASE)
        naming = [self._tables.names.known(name) for name in (PROCESS_NAME, THREAD_NAME)]
        slab.odd[metadata[np.isin(batch.name[metadata], naming)]] = True

    def _fill_lanes(self, slab: Slab, batch: Batch, hashes: Hashes) -> None:
        """Number the lane of each event that is not odd."""
        rows = np.flatnonzero(~slab.odd)
        parts = [_by_row(slab, slab.having(key)) for key in (Key.PID, Key.TID)]
        pid, tid = (part[rows] for part in parts)

        def number(index: int) -> int:
            return self._tables.lanes.id(slab.json_text(pid[index]), slab.json_text(tid[index]))

        batch.lane[rows] = self._lanes.ids(mixed(hashes[pid] ^ mixed(hashes[tid] + _SECOND_PART)), number)

    def _decode_odd(self, slab: Slab, batch: Batch, offset: int) -> tuple[Batch, int]:
        """Decode the odd events one by one; the batch ends before the first that cannot be read."""
        rows = np.flatnonzero(slab.odd).tolist()
        records: list[Record] = []
        for row in rows:
            start, end = int(slab.frame.starts[row]), int(slab.frame.ends[row]) + 1
            found = decode_one(slab.data[start:end], offset + start, self._tables.repairs)
            if found is None:
                batch = batch.head(row)
                break
            records.append(found)
        fill(batch, rows[: len(records)], records, self._tables)
        return batch, len(batch)


def _set_irregular_aside(slab: Slab) -> None:
    """Events that lack or repeat a member that every event has, or give it as something else than usual."""
    members = slab.members
    for key in _REQUIRED:
        slab.odd |= np.bincount(members.row[slab.having(key)], minlength=len(slab.odd)) != 1
    slab.set_aside(_QUOTED.take(members.code) & (members.first != QUOTE))


def _fill_phase(slab: Slab, batch: Batch) -> None:
    """The one character of `ph`."""
    phases = slab.having(Key.PHASE)
    value = slab.members.value[phases]
    slab.set_aside(phases[slab.members.end[phases] - value != 2])
    batch.phase[slab.members.row[phases]] = slab.text.at(value + 1)


def _numbers(slab: Slab) -> Int64s:
    """Value of each number member: integers as they are, times and floats as thousandths; 0 for all else."""
    code, first = slab.members.code, slab.members.first
    words = _LANE_PARTS.take(code) & (first == QUOTE)
    numbers = np.zeros(len(code), dtype=np.int64)
    for wanted, read in ((_INTEGERS.take(code) & ~words, read_integers), (_THOUSANDTHS.take(code), read_thousandths)):
        at = np.flatnonzero(wanted)
        found = read(slab.text, slab.members.value.take(at))
        numbers[at] = found.values
        slab.set_aside(at[~found.sound])
    narrow = np.flatnonzero(_NARROW.take(code))
    slab.set_aside(narrow[numbers[narrow].astype(np.int32) != numbers[narrow]])
    return numbers


def _fill_numbers(slab: Slab, batch: Batch, numbers: Int64s) -> None:
    """Times and the ids that every column of Events holds."""
    targets = [(batch.start, [int(Key.TIME)]), (batch.duration, [int(Key.DURATION)])]
    targets += [(getattr(batch, name), _COLUMNS[name]) for name in DENSE]
    for column, codes in targets:
        found = _merged(slab, codes)
        column[slab.members.row[found]] = numbers[found]


def _fill_texts(slab: Slab, batch: Batch, texts: Int64s) -> None:
    """Names and categories."""
    for column, key in ((batch.name, Key.NAME), (batch.category, Key.CATEGORY)):
        found = slab.having(key)
        column[slab.members.row[found]] = np.maximum(texts[found], 0)


def _members_of_column(slab: Slab, name: str, batch: Batch, texts: Int64s) -> Int64s:
    """Members that give a value of a sparse column; events that give two are odd."""
    found = _merged(slab, _COLUMNS[name])
    if name == arguments.FLOW_ID:
        found = found[np.isin(batch.phase[slab.members.row[found]], _FLOW_PHASES)]
    if SPARSE_KINDS[name] == Kind.TEXT:
        found = found[texts[found] != ABSENT]
    rows = slab.members.row[found]
    slab.odd[rows[1:][rows[1:] == rows[:-1]]] = True
    return found


def _sparse(slab: Slab, name: str, found: Int64s, values: Int64s) -> Sparse:
    """Rows and values of a sparse column."""
    kept = values[found]
    if SPARSE_KINDS[name] == Kind.FLOAT:
        return slab.members.row[found], kept / 1000
    return slab.members.row[found], kept.astype(sparse_dtype(name))


def _merged(slab: Slab, codes: list[int]) -> Int64s:
    """Members with any of these keys, in file order."""
    found = [members for members in map(slab.having, codes) if len(members)]
    if len(found) == 1:
        return found[0]
    return np.sort(np.concatenate(found)) if found else np.empty(0, dtype=np.int64)


def _by_row(slab: Slab, members: Int64s) -> Int64s:
    """The member of each event among these, anything where it has none."""
    found = np.zeros(len(slab.odd), dtype=np.int64)
    found[slab.members.row[members]] = members
    return found
