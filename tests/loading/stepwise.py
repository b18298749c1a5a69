"""The decoder that takes events one at a time: the reference for the vectorised one."""

from __future__ import annotations

from tracelens.loading.batch import Batch, empty_batch, fill
from tracelens.loading.careful import Record, decode_one
from tracelens.loading.framing import Frame
from tracelens.loading.tables import Tables


class StepwiseDecoder:
    """Decodes frames with the careful decoder alone."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def decode(self, data: bytes, frame: Frame, offset: int) -> tuple[Batch, int]:
        """Batch of the frame's leading events up to the first that cannot be read, and how many these are."""
        records: list[Record] = []
        for start, end in zip(frame.starts.tolist(), frame.ends.tolist(), strict=True):
            found = decode_one(data[start : end + 1], offset + start, self._tables.repairs)
            if found is None:
                break
            records.append(found)
        count = len(records)
        starts, ends = frame.starts[:count], frame.ends[:count]
        batch = empty_batch(starts + offset, ends - starts + 1)
        fill(batch, range(count), records, self._tables)
        return batch, count
