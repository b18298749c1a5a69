"""Naming what an input is when it is no Chrome trace."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

_MAGIC: Final = (
    (b"SQLite format 3", "a SQLite database (an Nsight Systems export?)"),
    (b"PK\x03\x04", "a zip archive; unpack it and name the trace inside"),
    (b"BZh", "bzip2-compressed; decompress it first"),
    (b"\x1f\x8b", "gzip within gzip; decompress it until one gzip or none is left"),
    (b"\x78\x01", "bare zlib data; decompress it first"),
    (b"\x78\x9c", "bare zlib data; decompress it first"),
    (b"\x78\xda", "bare zlib data; decompress it first"),
    (b"version https://git-lfs", "a Git LFS pointer; fetch the file itself by git lfs pull"),
    (b"/annex/objects/", "a git-annex pointer; fetch the file itself by git annex get"),
    (b"\xfd7zXZ", "xz-compressed; decompress it first"),
    (b"\x80\x02", "a pickle (a CUDA memory snapshot or a checkpoint?)"),
    (b"\x80\x03", "a pickle (a CUDA memory snapshot or a checkpoint?)"),
    (b"\x80\x04", "a pickle (a CUDA memory snapshot or a checkpoint?)"),
    (b"\x80\x05", "a pickle (a CUDA memory snapshot or a checkpoint?)"),
    (b"\x7fELF", "a program (ELF)"),
    (b"\x89PNG", "a PNG image"),
    (b"%PDF", "a PDF document"),
    (b"NVTX", "an NVTX file"),
    (b"\xff\xfe\x00\x00", "text in UTF-32; convert it to UTF-8 first"),
    (b"\x00\x00\xfe\xff", "text in UTF-32; convert it to UTF-8 first"),
    (b"\xff\xfe", "text in UTF-16; convert it to UTF-8 first"),
    (b"\xfe\xff", "text in UTF-16; convert it to UTF-8 first"),
)
_WIDE: Final = (
    (re.compile(rb"(?:\s\0\0\0)*[{\[]\0\0\0|(?:\0\0\0\s)*\0\0\0[{\[]"), "text in UTF-32; convert it to UTF-8 first"),
    (re.compile(rb"(?:\s\0)*[{\[]\0[^\0]\0|(?:\0\s)*\0[{\[]\0[^\0]"), "text in UTF-16; convert it to UTF-8 first"),
)
"""How JSON begins in encodings that do not say which they are."""
_SCALAR: Final = re.compile(rb"""(?:null|true|false|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|"[^"\n]*")\s*""")
"""A JSON document that is one number, text or word."""
_TAR_MAGIC: Final = (257, b"ustar")

_FIRST_KEYS: Final = {
    "rocprofiler-sdk-tool": "rocprofv3 output (rocprofiler-sdk JSON)",
    "Type": "an Nsight Systems JSON export",
    "resourceSpans": "OpenTelemetry spans",
}
"""Keys that alone settle it, so that the rest need not be read."""

_KEYS: Final = (
    ({"ph", "name"}, "events without an array around them; put them between [ and ], with commas"),
    ({"schema", "nodes"}, "a PyTorch execution trace (operators without times)"),
    ({"segments", "device_traces"}, "a CUDA memory snapshot"),
    ({"cells", "nbformat"}, "a Jupyter notebook"),
    ({"log"}, "an HTTP archive (HAR)"),
    ({"attribution", "recommendation"}, "a report of this tool, not a trace"),
    ({"forms", "environment"}, "the manifest of a captured run; name the directory it lies in"),
    ({"shared", "profiles"}, "a speedscope profile"),
    ({"meta", "threads"}, "a Firefox profile"),
    ({"nodes", "samples"}, "a V8 CPU profile"),
    ({"name", "dependencies"}, "a package.json"),
    ({"name", "devDependencies"}, "a package.json"),
    ({"name", "scripts"}, "a package.json"),
    ({"name", "version"}, "a package.json"),
    ({"kernels", "gpus"}, "a GPU profiler's summary"),
    ({"data", "ResourceId"}, "an Nsight Systems JSON export"),
    ({"architectures", "model_type"}, "a model's config.json"),
)


def kind_of_bytes(head: bytes) -> str:
    """What these first bytes of a file are, or "" if it may be JSON."""
    if not head.strip(b"\0"):
        return "empty" if not head else "nothing but zero bytes"
    start, magic = _TAR_MAGIC
    if head[start : start + len(magic)] == magic:
        return "a tar archive; unpack it and name the trace inside"
    known = next((name for magic, name in _MAGIC if head.startswith(magic)), "")
    wide = next((name for begins, name in _WIDE if begins.match(head)), "")
    return known or wide or _kind_of_text(head)


def _kind_of_text(head: bytes) -> str:
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not text:
        return "empty but for white space"
    if text[:1] in b"{[":
        return ""
    if text[:1] == b"<":
        return "HTML or XML (a saved error page?)"
    if (head[:1] == b"\n" and not head[:64].isascii()) or b"\0" in head[:64]:
        return "binary data (a Perfetto protobuf trace or an Nsight report?)"
    return "JSON without an object or an array" if _SCALAR.fullmatch(text) else "text that is not JSON"


def kind_of_keys(keys: Collection[str]) -> str:
    """What a JSON object with these keys is, or ""."""
    return next((name for wanted, name in _KEYS if wanted.issubset(keys)), "")


def kind_of_first_key(key: str) -> str:
    """What a JSON object that begins with this key is, or "" if that does not settle it."""
    return _FIRST_KEYS.get(key, "")
