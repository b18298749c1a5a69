"""Short names of kernels, for slices."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache


@lru_cache(maxsize=4096)
def short_name(name: str) -> str:
    """A kernel's name without return type, namespaces, template and call arguments; others as they are."""
    plain = name.removeprefix("void ").replace("(anonymous namespace)", "anon")
    # "Memcpy HtoD (Pinned -> Device)" says in brackets what it is.
    if "<" not in plain and ("(" not in plain or " (" in plain):
        return plain if "/" in plain or plain.count("::") < 2 else plain.rpartition("::")[2]
    bare = "".join(_outside_brackets(plain)).strip()
    return bare.rpartition("::")[2] or plain


def _outside_brackets(text: str) -> Iterator[str]:
    depth = 0
    for letter in text:
        depth -= letter in ">)" and depth > 0
        if not depth and letter not in "<>()":
            yield letter
        depth += letter in "<("
