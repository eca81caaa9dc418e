"""The numbers behind "known to flip" and "how sure"."""

from __future__ import annotations

import math

Z_95 = 1.959963984540054
"""The normal quantile of a two-sided interval of 95 %."""


def wilson_interval(successes: int, samples: int, z: float = Z_95) -> tuple[float, float]:
    """Lower and upper bound of a rate seen `successes` times in `samples` (Wilson's score interval).

    Without samples (0, 1). Raises ValueError where the counts can't be.
    """
    if not 0 <= successes <= samples:
        raise ValueError(f"{successes} of {samples} is no rate")
    if samples == 0:
        return 0.0, 1.0
    rate = successes / samples
    spread = z * math.sqrt(rate * (1 - rate) / samples + z * z / (4 * samples * samples))
    middle = rate + z * z / (2 * samples)
    scale = 1 + z * z / samples
    lower = 0.0 if successes == 0 else max(0.0, (middle - spread) / scale)
    upper = 1.0 if successes == samples else min(1.0, (middle + spread) / scale)
    return lower, upper


def wilson_lower_bound(successes: int, samples: int, z: float = Z_95) -> float:
    """What the rate is at least. Few samples give a low bound: 1 of 2 says less than 50 of 100."""
    return wilson_interval(min(successes, samples), samples, z)[0] if samples > 0 else 0.0
