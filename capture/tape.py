"""Standard input, read once and played to every form from its start."""

from __future__ import annotations

import os
import select
import threading


class Tape:
    """Records what has been read of a file descriptor; reads on only as far as a form has consumed."""

    def __init__(self, source: int) -> None:
        self._source, self._recorded, self._ended = source, bytearray(), False

    def play(self, sink: int) -> Playback:
        """Feed a pipe from the start of the recording, on a thread of its own; the pipe is closed at the end."""
        return Playback(self, sink)

    def chunk(self, position: int) -> bytes | None:
        """Return bytes from a position, None at the end, nothing when none came within a moment."""
        if position >= len(self._recorded) and not self._ended:
            self._read_more()
        if position < len(self._recorded):
            return bytes(self._recorded[position : position + 65536])
        return None if self._ended else b""

    def _read_more(self) -> None:
        ready, _, _ = select.select([self._source], [], [], 0.1)
        if ready:
            data = os.read(self._source, 65536)
            self._recorded += data
            self._ended = not data


class Playback:
    """One form's copy of the recording."""

    def __init__(self, tape: Tape, sink: int) -> None:
        self._tape, self._sink, self._stopped = tape, sink, False
        os.set_blocking(sink, False)
        self._thread = threading.Thread(target=self._feed, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the feeding and wait for its thread."""
        self._stopped = True
        self._thread.join()

    def _feed(self) -> None:
        position = 0
        try:
            while not self._stopped:
                data = self._tape.chunk(position)
                if data is None:
                    return
                position += self._write(data)
        except BrokenPipeError:
            pass  # the script reads no further
        finally:
            os.close(self._sink)

    def _write(self, data: bytes) -> int:
        _, ready, _ = select.select([], [self._sink], [], 0.1)
        return os.write(self._sink, data) if data and ready else 0
