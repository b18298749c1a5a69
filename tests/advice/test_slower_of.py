"""What is expected of a time that is the slower of two."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

from tracelens.advice.estimate import slower_of


@pytest.mark.parametrize("device", [10.0, 80.0, 100.0, 130.0, 1000.0])
def test_the_slower_of_host_and_device_is_the_mean_of_its_logarithm(device: float) -> None:
    sigma, quantiles = 0.3, (np.arange(20_000) + 0.5) / 20_000
    hosts = 100.0 * np.exp(sigma * np.array([NormalDist().inv_cdf(share) for share in quantiles]))
    assert slower_of(100.0, device, sigma) == pytest.approx(np.exp(np.log(np.maximum(hosts, device)).mean()), rel=1e-3)


def test_a_host_or_a_device_that_takes_far_longer_decides_alone() -> None:
    assert slower_of(100.0, 10.0, 0.3) == pytest.approx(100.0)
    assert slower_of(100.0, 1000.0, 0.3) == pytest.approx(1000.0)
