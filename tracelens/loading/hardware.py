"""Which vendor and which devices a trace is about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, cast

import numpy as np

from tracelens.loading.jsontext import as_object
from tracelens.loading.numbers import integer
from tracelens.model.arguments import REGISTERS
from tracelens.model.events import ABSENT, Category, Device, Events, SparseColumn

NO_VENDOR: Final = "none"
_CALLS: Final = (("hip", "hip"), ("cuda", "cuda"), ("cu", "cuda"), ("ur", "xpu"), ("ze", "xpu"), ("xpu", "xpu"))
"""Prefix of runtime calls -> vendor, first match wins."""
_ACCELERATORS: Final = ("mtia_", "hpu_", "privateuse1_")
"""Prefixes of categories that name the accelerator."""
_WORDS: Final = (("amd", "hip"), ("instinct", "hip"), ("radeon", "hip"), ("intel", "xpu"), ("nvidia", "cuda"))
"""Word in a device's name -> vendor."""
_VERSIONS: Final = (("hip_runtime_version", "hip"), ("cuda_runtime_version", "cuda"), ("cupti_version", "cuda"))
"""Key of the file's metadata -> vendor."""


def vendor_of(
    events: Events,
    names: Sequence[str],
    categories: Collection[str],
    metadata: Mapping[str, Any],
    args: Mapping[str, SparseColumn],
) -> str:
    """ "cuda", "hip", "xpu", "mtia", another accelerator's name or "none"."""
    accelerator = next((cat.split("_")[0] for cat in categories if cat.startswith(_ACCELERATORS)), "")
    if accelerator:
        return accelerator
    counts = np.bincount(events.name[np.flatnonzero(events.category == Category.RUNTIME)])
    votes: Counter[str] = Counter()
    for name in map(int, np.flatnonzero(counts)):
        votes[_vendor_of_call(names[name])] += int(counts[name])
    del votes[NO_VENDOR]
    return votes.most_common(1)[0][0] if votes else _vendor_without_calls(events, metadata, args)


def _vendor_of_call(name: str) -> str:
    return next((vendor for prefix, vendor in _CALLS if name.startswith(prefix)), NO_VENDOR)


def _vendor_without_calls(events: Events, metadata: Mapping[str, Any], args: Mapping[str, SparseColumn]) -> str:
    """The vendor by the names of devices, else by versions in the metadata, else by what kernels tell."""
    listed = " ".join(str(properties.get("name", "")) for properties in _properties(metadata).values()).lower()
    by_name = next((vendor for word, vendor in _WORDS if word in listed), "")
    by_version = next((vendor for key, vendor in _VERSIONS if metadata.get(key)), "")
    if by_name or by_version:
        return by_name or by_version
    return "cuda" if REGISTERS in args and events.device_work().any() else NO_VENDOR


def devices_of(events: Events, metadata: Mapping[str, Any]) -> tuple[Device, ...]:
    """Devices that ran work or that the metadata lists, by id; the name is "" where unknown."""
    listed = _properties(metadata)
    # With their counts np.unique sorts; without, it hashes, and imports numpy.ma first.
    seen = np.unique(events.device[events.device_work()], return_counts=True)[0].tolist()
    return tuple(
        Device(id, str(listed.get(id, {}).get("name", "")), listed.get(id, {})) for id in sorted({*listed, *seen})
    )


def _properties(metadata: Mapping[str, Any]) -> dict[int, dict[str, Any]]:
    """Properties of each device that the metadata lists."""
    found = metadata.get("deviceProperties")
    entries = map(as_object, cast("list[object]", found) if isinstance(found, list) else [])
    by_id = ((integer(entry.get("id", 0)), entry) for entry in entries if entry)
    return {id: entry for id, entry in by_id if id is not None and ABSENT < id < 2**31}
