"""Coverage-guided fuzzing of the loader: atheris mutates whole files, and keeps those that reach new code.

Each input is loaded as it is. A first byte of 1 has the rest compressed first, 2 compressed and cut. By the input's
checksum some are read in tiny slabs, so that seams between them are met. A file that is JSON must give a row or a count
for every element of its array of events, and the same columns as decoding one event at a time.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import orjson

from tests.fuzz.corpus import write_dictionary, write_seeds
from tests.fuzz.watch import Watch

ROOT: Final = Path(__file__).parent.parent.parent
LONGEST_INPUT: Final = 1 << 13
_TINY: Final = {"reader.SLAB": 512, "reader.SMALL_SLAB": 128, "sources.BLOCK": 100, "inflate.BLOCK": 100}


def fuzz(keep: Path | None, runs: int, seconds: float, seed: int) -> tuple[str, bool]:
    """Fuzz until `runs` inputs or the seconds are over; a summary, and whether nothing was found.

    It runs in a process of its own, since the engine ends the one that it runs in."""
    if importlib.util.find_spec("atheris") is None:
        return "not run, atheris is not installed: pip install -e .[test]", False
    with tempfile.TemporaryDirectory() as folder:
        seeds, found, words = Path(folder, "seeds"), Path(folder, "found"), Path(folder, "words")
        found.mkdir()
        write_seeds(seeds)
        write_dictionary(words)
        command = [sys.executable, "-m", "tests.fuzz.guided", str(keep or ""), str(runs), str(seconds), str(found)]
        command += [str(seeds), f"-dict={words}", f"-seed={seed}", f"-max_len={LONGEST_INPUT}"]
        command += ["-timeout=0", "-rss_limit_mb=0", "-verbosity=0", f"-artifact_prefix={folder}/"]
        ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return ran.stdout.strip() or ran.stderr[-3000:], ran.returncode == 0


def main() -> None:
    """The fuzzing process."""
    import atheris

    keep, runs, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    with atheris.instrument_imports(include=["tracelens.loading"]):
        target = _target()
    watch = Watch(Path(keep) if keep else None)
    path = Path(tempfile.mkdtemp(), "trace.json")
    end = time.monotonic() + (seconds or float("inf"))

    def one_input(data: bytes) -> None:
        watch.run(data, lambda: target(_file_of(data), path))
        if watch.runs == runs or time.monotonic() > end:
            path.unlink(missing_ok=True)
            path.parent.rmdir()
            print(watch.summary(), flush=True)
            os._exit(bool(watch.faults))

    atheris.Setup([sys.argv[0], *sys.argv[4:]], one_input)
    atheris.Fuzz()


def _target() -> Callable[[bytes, Path], None]:
    """What a file is given to; imported late, so that its branches are counted."""
    from tests.loading.stepwise import StepwiseDecoder
    from tests.loading.traces import assert_nothing_lost, assert_same
    from tracelens.loading import inflate, load, load_trace, reader, sources

    modules: dict[str, Any] = {"reader": reader, "sources": sources, "inflate": inflate, "load": load}

    def target(file: bytes, path: Path) -> None:
        path.write_bytes(file)
        choice = zlib.crc32(file) % 4
        with _patched(modules, _TINY if choice == 0 else {}):
            trace = load_trace(path)
            assert_nothing_lost(trace, file)
            if choice in (0, 1) and _is_json(file):
                with _patched(modules, {"load.Scanner": StepwiseDecoder}):
                    assert_same(trace, load_trace(path))

    return target


def _is_json(data: bytes) -> bool:
    try:
        orjson.loads(data)
    except orjson.JSONDecodeError:
        return False
    return True


@contextmanager
def _patched(modules: dict[str, Any], values: dict[str, Any]) -> Generator[None]:
    """Give names like "reader.SLAB" other values for a while."""
    places = {name: name.split(".") for name in values}
    before = {name: getattr(modules[module], attribute) for name, (module, attribute) in places.items()}
    for name, (module, attribute) in places.items():
        setattr(modules[module], attribute, values[name])
    try:
        yield
    finally:
        for name, (module, attribute) in places.items():
            setattr(modules[module], attribute, before[name])


def _file_of(data: bytes) -> bytes:
    """The file that an input stands for."""
    if data[:1] not in (b"\1", b"\2"):
        return data
    packer = zlib.compressobj(1, wbits=31)
    packed = packer.compress(data[1:]) + packer.flush()
    return packed if data[:1] == b"\1" else packed[: -1 - zlib.crc32(data) % len(packed)]


if __name__ == "__main__":
    main()
