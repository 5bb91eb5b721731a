"""Speed as ratios, both sides measured in turn within one run.

usage: python benchmarks/speed.py [--threads 2]

Prints one JSON object. The bare encoder is the same module under plain torch: forward, backward and
one optimiser step on a batch that is already there; once with the optimiser and in the precision
that a fit takes, once with fused Adam in float32.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from side_by_side import in_turn
from sklearn.cluster import KMeans

from vqpu import VQKMeansClassifier
from vqpu.base._split import draw_check_sample, split_holdout
from vqpu.base._two_means import two_means_codes
from vqpu.estimators._encoder import make_ensemble
from vqpu.estimators._validation import check_training_data
from vqpu.nn import nearest_code, nearest_code_pruned
from vqpu.priors import estimate_prior
from vqpu.rivals import ObserverGANClassifier
from vqpu.rivals._gan import fixed
from vqpu.rivals._training import LogitTraining
from vqpu.training import OPTIMIZERS, FitContext, RowMaker
from vqpu.training._loop import take_step
from vqpu.vq._check import Checker
from vqpu.vq._network import VQNetwork
from vqpu.vq._objective import make_optimizer
from vqpu.vq._rounds import Round, make_objective
from vqpu.vq._settings import resolve_settings

CPU = torch.device("cpu")
BATCH_SIZE = 128


def images(n: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Colour images of 32 x 32 pixels, one third labelled positives, brighter ones positive."""
    rng = np.random.default_rng(0)
    bright = rng.random(n) < 0.6
    pixels = rng.integers(0, 200, (n, 32, 32, 3), dtype=np.uint8)
    pixels[bright] += 40
    return pixels, (bright & (rng.random(n) < 0.5)).astype(np.int64)


class Bench:
    """The estimator's own parts beside its bare encoder."""

    def __init__(self, n: int) -> None:
        self.X, self.y = images(n)
        self.model = VQKMeansClassifier(batch_size=BATCH_SIZE, random_state=0)
        source, labels = check_training_data(self.model, self.X, self.y)
        split = split_holdout(labels.is_positive, self.model.holdout, 1, 0)
        settings, moments = resolve_settings(self.model, source), source.moments()
        context = FitContext(source, moments, split, draw_check_sample(split, 0), 0, CPU)
        self.objective = make_objective(context, settings, Round(1, split))
        optimizer = settings.variant.optimizer
        self.optimizer = make_optimizer(self.objective.network, optimizer, 1e-3, "follow", 0.05)
        encoder, codebook = self.objective.average.averaged, self.objective.network.codebook
        rows = RowMaker(self.objective.feeds[0].batches.steps_per_epoch)
        averaged = VQNetwork(encoder, codebook, "codes").eval()
        self.checker = Checker(context, split, averaged, settings.variant, rows)
        self.step = 0
        self.precision = settings.spec.precision
        self.bare = make_ensemble(settings.spec, moments).members[0]
        self.bare_optimizer = OPTIMIZERS[optimizer](self.bare.parameters(), 1e-3)
        self.bare_adam = torch.optim.Adam(self.bare.parameters(), fused=True)
        batch = torch.randn(BATCH_SIZE, 3, 32, 32)
        self.batch = batch.contiguous(memory_format=torch.channels_last)
        for _ in range(30):  # the codes settle
            self.our_step()

    def our_step(self) -> None:
        take_step(self.objective, self.optimizer, self.step)
        self.step += 1

    def bare_step(self) -> None:
        self._bare_step(self.bare_optimizer, in_precision(self.precision))

    def float32_step(self) -> None:
        self._bare_step(self.bare_adam, contextlib.nullcontext())

    def _bare_step(self, optimizer: torch.optim.Optimizer, context: Any) -> None:
        with context:
            vectors = self.bare(self.batch)
        loss = vectors.float().square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    def our_epoch(self) -> None:
        for _ in range(self.objective.feeds[0].batches.steps_per_epoch):
            self.our_step()
        self.checker.check(self.step, {})

    def bare_epoch(self) -> None:
        for _ in range(self.objective.feeds[0].batches.steps_per_epoch):
            self.bare_step()


def in_precision(precision: str) -> Any:
    if precision == "float32":
        return contextlib.nullcontext()
    return torch.autocast("cpu", torch.bfloat16)


def training_ratios() -> dict[str, Any]:
    large, small = Bench(15_000), Bench(3_750)
    return {
        "precision": large.precision,
        "training_step_over_bare_step": in_turn(large.our_step, large.bare_step, 40),
        "training_step_over_float32_step": in_turn(large.our_step, large.float32_step, 40),
        "epoch_with_check_over_bare_epoch": in_turn(large.our_epoch, large.bare_epoch, 7),
        "epoch_4n_over_epoch_n": in_turn(large.our_epoch, small.our_epoch, 3),
    }


class GANBench:
    """A step of Observer-GAN beside the bare passes of its three networks, optimisers included."""

    def __init__(self, n: int) -> None:
        X, y = images(n)
        model = ObserverGANClassifier(batch_size=BATCH_SIZE, random_state=0)
        source, labels = check_training_data(model, X, y)
        split = split_holdout(labels.is_positive, model.holdout, 1, 0)
        sample = draw_check_sample(split, 0)
        context = FitContext(source, source.moments(), split, sample, 0, CPU)
        training = LogitTraining(context, model._settings(source))
        self.objective, self.bare = (model._make_objective(training) for _ in range(2))
        self.optimizer, self.bare_optimizer = (
            training.make_optimizer(part.observer, model.learning_rate)
            for part in (self.objective, self.bare)
        )
        self.half = torch.randn(BATCH_SIZE // 2, 3, 32, 32)
        self.noise = torch.randn(BATCH_SIZE // 2, model.latent_dim)
        self.precision, self.step = training.settings.spec.precision, 0

    def our_step(self) -> None:
        take_step(self.objective, self.optimizer, self.step)
        self.step += 1

    def bare_step(self) -> None:
        gan, observer = self.bare.gan, self.bare.observer.encoder.members[0]
        with in_precision(self.precision):
            made = gan.generator.body(self.noise)
            judged = gan.discriminator.layers(torch.cat([self.half, made.detach().float()]))
        self._descend(gan._discriminator_optimizer, judged)
        with in_precision(self.precision), fixed(gan.discriminator, observer):
            judged, seen = gan.discriminator.layers(made), observer(made.float())
        self._descend(gan.generator_optimizer, judged, seen)
        with in_precision(self.precision):
            seen = observer(torch.cat([self.half, made.detach().float()]))
        self._descend(self.bare_optimizer, seen)

    def _descend(self, optimizer: torch.optim.Optimizer, *outputs: torch.Tensor) -> None:
        loss: Any = torch.stack([output.float().square().mean() for output in outputs]).sum()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()


def gan_ratios() -> dict[str, float]:
    bench = GANBench(3_750)
    return {"gan_step_over_bare_passes": in_turn(bench.our_step, bench.bare_step, 30)}


def prediction_ratios() -> dict[str, float]:
    X, y = images(4096)
    model = VQKMeansClassifier(random_state=0, max_steps=40).fit(X, y)
    bare: Any = model.network_.encoder.eval()
    bare.precision = "float32"
    batches = [torch.from_numpy(X[i : i + 256]).permute(0, 3, 1, 2) for i in range(0, 4096, 256)]

    @torch.inference_mode()
    def forward() -> None:
        for batch in batches:
            bare(batch)

    return {
        "samples_per_second_over_bare_float32_forward": 1
        / in_turn(lambda: model.predict(X), forward, 9)
    }


def nearest_code_ratios() -> dict[str, float]:
    generator = torch.Generator().manual_seed(0)
    book = torch.randn(512, 64, generator=generator)
    anywhere = torch.randn(8192, 64, generator=generator)
    settled = book[torch.randint(0, 2, (8192,), generator=generator) * 511]
    settled = settled + 0.2 * torch.randn(8192, 64, generator=generator)
    return {
        "cdist_over_nearest_code": in_turn(
            lambda: torch.cdist(anywhere, book).argmin(dim=1),
            lambda: nearest_code(anywhere, book),
            60,
        ),
        "cdist_over_nearest_code_pruned": in_turn(
            lambda: torch.cdist(settled, book).argmin(dim=1),
            lambda: nearest_code_pruned(settled, book),
            60,
        ),
    }


def two_means_ratios(n: int = 1_000_000, width: int = 49, starts: int = 10) -> dict[str, float]:
    rng = np.random.default_rng(0)
    upper = rng.random(n) < 0.4
    votes = rng.random((n, width), dtype=np.float32) < np.where(upper, 0.8, 0.15)[:, None]
    codes = np.where(votes, np.int16(511), rng.integers(0, 3, (n, width), dtype=np.int16))

    def ours() -> float:
        return two_means_codes(codes, n_starts=starts).inertia

    def theirs() -> float:
        return float(KMeans(2, n_init=starts, random_state=0).fit(codes).inertia_)

    def peak(function: Callable[[], Any]) -> int:
        tracemalloc.start()
        function()
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    return {
        "sklearn_kmeans_over_two_means": in_turn(theirs, ours, 3),
        "two_means_memory_over_sklearn": peak(ours) / peak(theirs),
        "two_means_inertia_over_sklearn": ours() / theirs(),
    }


def prior_ratios() -> dict[str, float]:
    scores = np.random.default_rng(0).normal(size=1_000_000)
    scores[: len(scores) // 5] += 1
    positive, unlabeled = scores[:200_000].copy(), scores[200_000:].copy()
    ratio = in_turn(lambda: estimate_prior("bbe", positive, unlabeled), lambda: np.sort(scores), 15)
    return {"bbe_over_sort": ratio}


def import_ratios() -> dict[str, Any]:
    def run(code: str) -> Callable[[], Any]:
        return lambda: subprocess.run([sys.executable, "-c", code], check=True)

    modules = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "vqpu", "--help"],
        capture_output=True,
        text=True,
        check=True,
    ).stderr
    return {
        "import_vqpu_over_python": in_turn(run("import vqpu"), run("pass"), 15),
        "help_loads_torch": " torch\n" in modules,
        "help_loads_sklearn": " sklearn\n" in modules,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    torch.set_num_threads(parser.parse_args().threads)
    ratios: dict[str, Any] = {}
    for part in (
        import_ratios,
        nearest_code_ratios,
        training_ratios,
        gan_ratios,
        prediction_ratios,
        two_means_ratios,
        prior_ratios,
    ):
        ratios |= part()
    rounded = {k: round(v, 3) if isinstance(v, float) else v for k, v in ratios.items()}
    print(json.dumps(rounded, indent=1))


if __name__ == "__main__":
    main()
