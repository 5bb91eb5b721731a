"""Training and evaluation mode, part by part."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Put a module into evaluation mode inside the block.

    Afterwards every part is in the mode it was in before: a user's frozen batch norm stays frozen.
    """
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, is_training in modes:
            part.training = is_training
