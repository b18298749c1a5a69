"""The two ways to read undamaged text, for tests that hold for both."""

from __future__ import annotations

import pytest

from tracelens.loading import plain


@pytest.fixture(params=["compiled", "numpy"])
def either_scan(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have undamaged text read by the compiled pass, and then by numpy alone."""
    if request.param == "numpy":
        monkeypatch.setattr(plain, "compiled", None)
    elif plain.compiled is None:
        pytest.skip("installed without a compiler, or switched off")
