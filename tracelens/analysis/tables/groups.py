"""Rows grouped by a key, and what is said of each group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tracelens.model.distinct import distinct_index
from tracelens.model.events import Floats, Int64s


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """n rows in g groups, which are numbered in the order in which their keys first appear."""

    number: Int64s
    """(n) Group of each row."""
    count: Int64s
    """(g) Rows in each group."""

    @classmethod
    def by(cls, *keys: npt.NDArray[np.integer]) -> Groups:
        """Rows that are equal in all of the (n) keys, which are 0 or more."""
        key, most = np.zeros(len(keys[0]), dtype=np.int64), 1
        for part in keys:
            width = int(part.max(initial=0)) + 1
            key, most = key * width + part, most * width
        _, number = distinct_index(key, most)
        count = np.bincount(number)
        first = np.empty(len(count), dtype=np.int64)
        first[number[::-1]] = np.arange(len(number))[::-1]
        order = np.argsort(first)
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        return cls(place[number], count[order])

    def sums(self, values: Int64s) -> Int64s:
        """(g) Sum of the values in each group."""
        total = np.zeros(len(self.count), dtype=np.int64)
        np.add.at(total, self.number, values)
        return total

    def medians(self, values: Int64s) -> Floats:
        """(g) Median of the values in each group."""
        ordered = values[np.lexsort((values, self.number))]
        begin = np.cumsum(self.count) - self.count
        return (ordered[begin + (self.count - 1) // 2] + ordered[begin + self.count // 2]) / 2

    def largest(self, values: Int64s) -> Int64s:
        """(g) Position of the largest value in each group, the first of equal ones."""
        best = np.full(len(self.count), np.iinfo(np.int64).min)
        np.maximum.at(best, self.number, values)
        candidates = np.flatnonzero(values == best[self.number])[::-1]
        found = np.zeros(len(self.count), dtype=np.int64)
        found[self.number[candidates]] = candidates
        return found
