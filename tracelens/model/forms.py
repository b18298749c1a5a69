"""The forms in which a step can run."""

from __future__ import annotations

from typing import Final

FORMS: Final = ("eager", "compile", "replay", "both")
"""Simplest first."""
NOT_EAGER: Final = FORMS[1:]
COMPILED: Final = ("compile", "both")
"""Forms whose kernels the compiler generates."""
REPLAYED: Final = ("replay", "both")
"""Forms whose kernels a CUDA Graph launches: none without a device."""
