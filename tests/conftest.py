"""What all tests share."""

from __future__ import annotations

import gc
import signal

from hypothesis import settings

# Examples are timed by nobody: a busy machine is no failure.
settings.register_profile("steady", deadline=None)
settings.load_profile("steady")


# Traces read without the product's loader are millions of objects that stay: looking at them again and again took most
# of the time.
gc.set_threshold(100_000, 20, 100)


def pytest_configure() -> None:
    """Hear Ctrl-C, as commands started here must: a shell that runs the tests in the background has it ignored."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
