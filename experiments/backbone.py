"""A stand-in for a pretrained network: ``python -m experiments.backbone``.

Weights of foundation models cannot be fetched where the experiments run, so a small residual
network is trained on seven classes of CIFAR-10 (its vehicles, and bird, deer and dog) and exported
to ONNX without its last layer. The PU task of the study ``features`` is made of the other three
classes (cat against frog and horse), which the network has never seen. It has been trained on
pictures of the same source, size and look, so it flatters features more than a network trained on
other pictures would.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d

from vqpu.datasets import data_directory
from vqpu.datasets._cifar import read_cifar10
from vqpu.files.readers._spool import cache_directory
from vqpu.persistence._targets import check_target, writing
from vqpu.training._optimizers import Muon

CLASSES = (0, 1, 8, 9, 2, 4, 5)  # airplane, automobile, ship, truck; bird, deer, dog
MEAN, STD = (0.49, 0.48, 0.45), (0.25, 0.24, 0.26)
WIDTHS = (48, 96, 192)
EPOCHS, BATCH, RATE = 10, 128, 1e-3
PREPROCESSING = f"""# How pictures become input of the network beside this file.
input = "image"
size = 32
mean = {list(MEAN)}
std = {list(STD)}
"""


class Block(nn.Module):
    """Halve the sides, then add what two convolutions make of it."""

    def __init__(self, channels_in: int, channels: int) -> None:
        super().__init__()
        self.down = _convolution(channels_in, channels, stride=2)
        self.residual = nn.Sequential(
            _convolution(channels, channels), _convolution(channels, channels)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return maps of half the sides."""
        x = self.down(x)
        added: Tensor = x + self.residual(x)
        return added


class Backbone(nn.Module):
    """Pictures (n, 3, 32, 32), normalised, to features (n, 1344).

    Features are the means of the four quarters of the maps behind every block: the last maps alone,
    averaged, tell the classes that the network was trained on, and less of others.
    """

    def __init__(self) -> None:
        super().__init__()
        self.first = _convolution(3, 32)
        self.blocks = nn.ModuleList(map(Block, (32, *WIDTHS), WIDTHS))

    def forward(self, x: Tensor) -> Tensor:
        """Return the features."""
        quarters = [avg_pool2d(maps, maps.shape[-1] // 2).flatten(1) for maps in self.maps(x)]
        return torch.cat(quarters, dim=1)

    def maps(self, x: Tensor) -> list[Tensor]:
        """Return the maps behind every block."""
        x, found = self.first(x), []
        for block in self.blocks:
            x = block(x)
            found.append(x)
        return found


def _convolution(channels_in: int, channels: int, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(channels_in, channels, 3, stride, 1, bias=False),
        nn.BatchNorm2d(channels),
        nn.ReLU(inplace=True),
    )


def train_backbone(pixels: NDArray[np.uint8], classes: NDArray[Any], seed: int = 0) -> Backbone:
    """Train on labelled pictures by cross entropy, mirrored and shifted at random.

    Parameters
    ----------
    pixels : ndarray of uint8, shape (n, 32, 32, 3)
    classes : ndarray of int, shape (n,)
        From 0.
    seed : int
    """
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    images = torch.from_numpy(np.ascontiguousarray(pixels.transpose(0, 3, 1, 2)))
    labels = torch.from_numpy(classes.astype(np.int64))
    backbone, head = Backbone(), nn.Linear(WIDTHS[-1], int(labels.max()) + 1)
    parameters = [*backbone.parameters(), *head.parameters()]
    optimizer = Muon(parameters, RATE)
    n_steps = EPOCHS * (len(labels) // BATCH)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, n_steps)
    step = 0
    for epoch in range(EPOCHS):
        order = torch.randperm(len(labels), generator=generator)
        right = 0
        for rows in order[: len(order) // BATCH * BATCH].view(-1, BATCH):
            with torch.autocast("cpu", torch.bfloat16):
                maps = backbone.maps(_augmented(images[rows], generator))
                logits = head(maps[-1].mean(dim=(2, 3)))
            loss = nn.functional.cross_entropy(logits.float(), labels[rows])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
            step += 1
            right += int((logits.argmax(1) == labels[rows]).sum())
        share = right / (len(order) // BATCH * BATCH)
        print(f"epoch {epoch + 1} of {EPOCHS}: {share:.1%} right in training", file=sys.stderr)
    return backbone.eval()


def _augmented(images: Tensor, generator: torch.Generator) -> Tensor:
    """Mirror every second batch and shift each batch by up to 4 pixels."""
    across, down, mirror = torch.randint(0, 9, (3,), generator=generator).tolist()
    padded = nn.functional.pad(images, (4, 4, 4, 4))[:, :, down : down + 32, across : across + 32]
    return _normalised(padded.flip(3) if mirror % 2 else padded)


def _normalised(images: Tensor) -> Tensor:
    mean, std = (torch.tensor(values).view(3, 1, 1) for values in (MEAN, STD))
    return (images.float() / 255 - mean) / std


def training_pictures(data_dir: Path | None) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    """Return the pictures of the seven classes of CIFAR-10's training split, and their classes."""
    pixels, labels = read_cifar10(data_directory(data_dir), True)
    chosen = np.flatnonzero(np.isin(labels, CLASSES))
    return pixels[chosen], np.searchsorted(np.sort(CLASSES), labels[chosen])


def export_backbone(backbone: Backbone, path: Path) -> None:
    """Write the network as ONNX and, beside it, the TOML file with its preprocessing."""
    program = torch.onnx.export(
        backbone,
        (torch.zeros(2, 3, 32, 32),),
        dynamo=True,
        input_names=["pixels"],
        output_names=["features"],
        dynamic_shapes=({0: torch.export.Dim("n")},),
        opset_version=18,
        verbose=False,
    )
    assert program is not None
    with writing(path) as file:
        file.write(program.model_proto.SerializeToString())
    with writing(path.with_suffix(".toml")) as file:
        file.write(PREPROCESSING.encode())


def default_path() -> Path:
    """Return where the study looks for the network: in the user's cache folder."""
    return cache_directory() / "experiments" / "backbone.onnx"


def main() -> None:
    """Train and export."""
    path = default_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    check_target(path, (".onnx",), marks=())  # ours is made again
    torch.set_num_threads(1)
    export_backbone(train_backbone(*training_pictures(None)), path)


if __name__ == "__main__":
    main()
