"""What the events of one file share: interned texts and lanes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

from tracelens.loading.careful import Record
from tracelens.loading.repairs import RepairLog
from tracelens.loading.vocabulary import category
from tracelens.model.events import ABSENT, Lanes

METADATA_PHASE: Final = ord("M")


class Texts:
    """Distinct texts, numbered in the order in which they were met."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}

    def all(self) -> list[str]:
        """The texts by their numbers."""
        return list(self._ids)

    def id(self, text: str) -> int:
        """Number of a text, a new one if it is new."""
        return self.ids((text,))[0]

    def ids(self, texts: Iterable[str]) -> list[int]:
        """Number of each of these texts."""
        ids = self._ids
        return [ids.setdefault(text, len(ids)) for text in texts]

    def known(self, text: str) -> int:
        """Number of a text, ABSENT if it has none."""
        return self._ids.get(text, ABSENT)


PROCESS_NAME: Final = "process_name"
THREAD_NAME: Final = "thread_name"
"""Metadata events that name lanes."""


@dataclass
class LaneTable:
    """Distinct (pid, tid) pairs and the names that metadata events give them."""

    _ids: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    _processes: dict[str, str] = field(default_factory=dict[str, str])
    _threads: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])

    def id(self, pid: str, tid: str) -> int:
        """Number of a lane, a new one if it is new."""
        return self._ids.setdefault((pid, tid), len(self._ids))

    def learn(self, record: Record) -> None:
        """Take the name of a process or thread if the event is one of metadata."""
        if record.phase == METADATA_PHASE:
            self.name(record.name, record.pid, record.tid, record.label)

    def name(self, event: str, pid: str, tid: str, label: str) -> None:
        """Take the name of a process or thread if the metadata event of this name gives one."""
        if event == PROCESS_NAME:
            self._processes[pid] = label
        elif event == THREAD_NAME:
            self._threads[pid, tid] = label

    def lanes(self) -> Lanes:
        """All lanes met so far."""
        keys = tuple(self._ids)
        return Lanes(
            tuple(pid for pid, _ in keys),
            tuple(tid for _, tid in keys),
            tuple(self._processes.get(pid, "") for pid, _ in keys),
            tuple(self._threads.get(key, "") for key in keys),
        )


@dataclass
class Tables:
    """Texts, lanes and repairs that decoding an event may add to."""

    names: Texts = field(default_factory=Texts)
    lanes: LaneTable = field(default_factory=LaneTable)
    repairs: RepairLog = field(default_factory=RepairLog)
    _categories: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def category_words(self) -> Collection[str]:
        """All `cat` texts met so far."""
        return self._categories.keys()

    def category(self, text: str) -> int:
        """Category of a `cat`, looked up once per distinct text."""
        known = self._categories.get(text)
        if known is None:
            known = self._categories[text] = int(category(text))
        return known
