"""Inputs to begin from: small traces of every layout, era and kind of damage that the loader is tested with."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, Final

COMPLETE: Final = {"ph": "X", "pid": 1, "tid": 1, "ts": 5.5, "dur": 2}
EVENTS: Final[list[dict[str, Any]]] = [
    {**COMPLETE, "cat": "cpu_op", "name": "aten::mm", "args": {"External id": 1, "Input Dims": [[2, 3]]}},
    {**COMPLETE, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "args": {"correlation": 3, "cbid": 211}},
    {**COMPLETE, "cat": "kernel", "name": "gemm<2>", "pid": 0, "args": {"device": 0, "stream": 7, "correlation": 3}},
    {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "python"}},
    {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 3, "pid": 1, "tid": 1, "ts": 6},
    {"ph": "i", "name": "[memory]", "s": "t", "pid": 1, "tid": 1, "ts": 6, "args": {"Bytes": -512}},
    {"ph": "B", "name": "outer", "pid": "p", "tid": "t", "ts": 1},
    {"ph": "E", "pid": "p", "tid": "t", "ts": 9},
    {
        **COMPLETE,
        "cat": "Operator",
        "name": 'é \\ " {',
        "ts": 1711111111111111.125,
        "args": {"Call stack": "a.py(3): f"},
    },
]
DAMAGED: Final = (
    b'{"traceEvents": [{"ph": "X", "name": "a"b", "ts": 1}, {"ph": "X", "name": "c:\\x", "ts": nan,}, null, {"a": N/A}',
    b'\xef\xbb\xbf[{"ph":"X","name":"\xff","pid":-1,"tid":-1107294656,"ts":"1.5","dur":-3}]',
    b'{"INFO": ["dropped "2""],\n  "traceEvents": [],\n "traceEvents": [{"ph": "X"} {"ph": "?"}]} rest',
    b'{"baseTimeNanoseconds": 1700000000000000000, "deviceProperties": [{"id": 0, "name": ""}], "traceEvents": [1]}',
)
ROOT: Final = Path(__file__).parent.parent.parent
_HEAD: Final = 3000
_WORDS: Final = (
    *("{", "}", "[", "]", ",", ":", '"', "\\", "\\u", "\\ud800", "null", "true", "false", "nan", "-inf", "N/A"),
    *("-1", "007", "0.001", "1e999", "18446744073709551616", "\x01", "\xff", "/*", "\ufeff"),
    *("ph", "cat", "name", "pid", "tid", "ts", "dur", "args", "id", "traceEvents", "INFO", "deviceProperties"),
    *("correlation", "External id", "device", "stream", "Input Dims", "grid", "bytes", "kernel", "cuda_runtime"),
)


def seeds() -> list[bytes]:
    """Files, and inputs of the guided fuzzer that begin with 1 or 2."""
    document = {"schemaVersion": 1, "traceEvents": EVENTS, "traceName": "t"}
    texts = [json.dumps(document, **layout).encode() for layout in ({}, {"indent": 2}, {"separators": (",", ":")})]
    texts += [json.dumps(EVENTS).encode(), json.dumps(document, sort_keys=True, ensure_ascii=False).encode(), *DAMAGED]
    heads = [gzip.decompress(path.read_bytes()) for path in sorted((ROOT / "sample_traces").rglob("*.json.gz"))]
    texts += [head[:_HEAD] for head in heads]
    return [*texts, *(mark + text for mark in (b"\1", b"\2") for text in texts[:4]), gzip.compress(texts[0], mtime=0)]


def write_seeds(folder: Path) -> None:
    """One file per seed."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(seeds()):
        (folder / str(number)).write_bytes(data)


def write_dictionary(path: Path) -> None:
    """Words that mutation inserts, in the engine's own format."""
    lines = ("".join(f"\\x{byte:02x}" for byte in word.encode()) for word in _WORDS)
    path.write_text("".join(f'"{line}"\n' for line in lines))
