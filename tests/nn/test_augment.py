from __future__ import annotations

import torch

from vqpu.nn import Augmentation


def test_none__same_tensor() -> None:
    images = torch.arange(16.0).view(1, 1, 4, 4)
    assert Augmentation()(images, torch.Generator()) is images


def test_flip__every_image_is_itself_or_its_mirror() -> None:
    images = torch.randint(0, 256, (64, 3, 8, 8), dtype=torch.uint8)
    changed = Augmentation(flip=True)(images, torch.Generator().manual_seed(0))
    mirrored = [bool(torch.equal(a, b.flip(2))) for a, b in zip(changed, images, strict=True)]
    same = [bool(torch.equal(a, b)) for a, b in zip(changed, images, strict=True)]
    assert all(m or s for m, s in zip(mirrored, same, strict=True))
    assert 16 < sum(mirrored) < 48
    assert changed.dtype == torch.uint8


def test_shift__every_image_is_moved_by_at_most_the_shift_with_repeated_borders() -> None:
    images = torch.rand(32, 1, 6, 6)
    changed = Augmentation(shift=1)(images, torch.Generator().manual_seed(0))
    padded = torch.nn.functional.pad(images, (1, 1, 1, 1), mode="replicate")
    seen = set()
    for new, old in zip(changed, padded, strict=True):
        fits = [
            (dy, dx)
            for dy in range(3)
            for dx in range(3)
            if torch.equal(new, old[:, dy : dy + 6, dx : dx + 6])
        ]
        assert fits
        seen.add(fits[0])
    assert len(seen) > 5


def test_same_generator_state__same_change() -> None:
    images = torch.rand(8, 3, 9, 9)
    augmentation = Augmentation(flip=True, shift=2)
    first = augmentation(images, torch.Generator().manual_seed(5))
    assert torch.equal(first, augmentation(images, torch.Generator().manual_seed(5)))
