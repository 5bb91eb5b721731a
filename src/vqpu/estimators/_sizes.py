"""What parameters that are left to the library come to for so many samples.

All are smooth: small sets get more encoders, smaller batches, fewer steps and more dropout than
large ones (results/rounds; results/small-images for 300 and 900 images).
"""

from __future__ import annotations

import math

from vqpu.base._source import ArraySource

# Share of units dropped with many samples and with few.
_MLP_DROPOUT = (0.25, 0.5)
_CONV_DROPOUT = (0.0, 0.1)
MEMBERS = 5
# Up to how many samples are few, and from how many on they are many. Members of a network for
# vectors are cheap, so they pay for longer.
_IMAGES, _VECTORS, _MEMBERS_OF_VECTORS = (1_000, 6_000), (1_000, 9_000), (10_000, 90_000)
# Many small batches teach more than few large ones of the same images, where images are few.
_IMAGES_OF_SMALL_BATCHES = (1_000, 3_000)
_BATCH_SIZES = (128, 32)  # with many images and with few
_WHOLE_PARTS = 16  # two halves for up to eight processes
MAX_STEPS, _FEWEST_STEPS, _STEPS_PER_IMAGE = 4_000, 1_350, 1.5


def count_members(n_members: int | None, source: ArraySource) -> int:
    """Resolve ``n_members``: several where they are affordable and samples are few.

    Parameters
    ----------
    n_members : int or None
    source : ArraySource
    """
    if n_members is not None:
        return int(n_members)
    scarcity = _scarcity(len(source), *(_IMAGES if source.is_image else _MEMBERS_OF_VECTORS))
    return 1 + round((MEMBERS - 1) * scarcity)


def resolve_dropout(dropout: float | None, source: ArraySource) -> float:
    """Resolve ``dropout``: with many samples it only slows learning down.

    Parameters
    ----------
    dropout : float or None
    source : ArraySource
    """
    if dropout is not None:
        return float(dropout)
    many, few = _CONV_DROPOUT if source.is_image else _MLP_DROPOUT
    scarcity = _scarcity(len(source), *(_IMAGES if source.is_image else _VECTORS))
    return many + (few - many) * scarcity


def resolve_batch_size(batch_size: int | None, source: ArraySource) -> int:
    """Resolve ``batch_size``: smaller for few images, a multiple of 16 then.

    Parameters
    ----------
    batch_size : int or None
    source : ArraySource
    """
    if batch_size is not None:
        return int(batch_size)
    many, few = _BATCH_SIZES
    if not source.is_image:
        return many
    scarcity = _scarcity(len(source), *_IMAGES_OF_SMALL_BATCHES)
    found = many * math.pow(few / many, scarcity)
    return _WHOLE_PARTS * round(found / _WHOLE_PARTS)


def resolve_max_steps(max_steps: int | None, max_epochs: int | None, source: ArraySource) -> int:
    """Resolve ``max_steps``: fewer with few images, unless the user counts in epochs.

    Parameters
    ----------
    max_steps, max_epochs : int or None
    source : ArraySource
    """
    if max_steps is not None:
        return int(max_steps)
    if max_epochs is not None or not source.is_image:
        return MAX_STEPS
    return min(max(round(_STEPS_PER_IMAGE * len(source)), _FEWEST_STEPS), MAX_STEPS)


def _scarcity(n_samples: int, few: int, many: int) -> float:
    """Return 1 for few samples and 0 for many; between, every doubling takes as much off."""
    place = math.log(many / n_samples) / math.log(many / few)
    return min(max(place, 0.0), 1.0)
