"""What all tests share."""

from __future__ import annotations

from hypothesis import settings

# Examples are timed by nobody: a busy machine is no failure.
settings.register_profile("steady", deadline=None)
settings.load_profile("steady")
