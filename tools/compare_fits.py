"""Fit small models with two checkouts and compare what comes out, bit for bit.

``python tools/compare_fits.py BASE [--only NAME]`` compares the checkout that this file lies in
with the checkout BASE. Exit status 1: something differs, or a case is missing on a side.

Compared are predictions, codes, estimates, losses and weights, on one machine and one thread. Names
of tensors are not: a checkout may call its layers what it likes.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

Floats = NDArray[np.float64]
Facts = dict[str, str]

HERE = Path(__file__).resolve().parents[1]

# What is asked of a fitted model, each where it exists.
METHODS = ("predict", "decision_function", "predict_proba", "transform", "reconstruct")
NUMBERS = ("alpha_", "theoretical_alpha_", "positive_share_", "n_steps_", "best_check_")
ARRAYS = ("cluster_centers_", "oob_scores_")
MODULES = ("network_", "generator_")

_TIMES = ("epoch", "seconds")  # one method has them on one side only


class Samples(NamedTuple):
    """Training samples, their labels, and samples to predict."""

    X: NDArray[Any]
    y: NDArray[np.int64]
    new: NDArray[Any]


class Case(NamedTuple):
    """A fit: whose, on what, how."""

    estimator: str
    data: str
    parameters: dict[str, Any]


class Side(NamedTuple):
    """What one checkout's fits gave."""

    checkout: Path
    cases: dict[str, Facts]
    seconds: float


def small_encoder(shape: tuple[int, ...], dim: int) -> nn.Module:
    """Return a user's own encoder."""
    return nn.Sequential(
        nn.Linear(shape[0], 16),
        nn.BatchNorm1d(16),
        nn.ReLU(),
        nn.Linear(16, 3 * dim),
        nn.Unflatten(1, (3, dim)),
    )


SIZES: dict[str, Any] = {
    "vector_dim": 8, "n_vectors": 4, "max_steps": 60, "check_every": 20, "random_state": 0,
}  # fmt: skip
RIVAL: dict[str, Any] = {**SIZES, "n_members": 1}
VQ: dict[str, Any] = {**RIVAL, "codebook_size": 16, "n_rounds": 1}
GAN: dict[str, Any] = {**SIZES, "latent_dim": 4}
PICTURES: dict[str, Any] = {"max_steps": 30, "check_every": 10, "batch_size": 32}
PAPER: dict[str, Any] = {
    "anchors": "moving", "codebook_update": "adam", "codebook_learning_rate": 1e-4,
    "learning_rate": 1e-3, "schedule": "constant", "weight_average": 0, "dropout": 0,
    "augment": "none", "n_members": 1, "n_rounds": 1, "holdout": 0,
    "stopping_signal": "center-distance", "decision": "nearest-center",
}  # fmt: skip

VQ_ON_VECTORS: dict[str, dict[str, Any]] = {
    "1-member": {},
    "3-members-1-round": {"n_members": 3},
    "3-members-2-rounds": {"n_members": 3, "n_rounds": 2},
    "paper": {**PAPER, "max_steps": 120},
    "constant": {"encoding": "constant"},
    "distribution": {"encoding": "distribution", "anchor_mean": 2.0},
    "codes-as-drawn": {"codebook_update": "none", "anchor_mean": 5.0},
    "2-codes": {"codebook_size": 2},
    "adam-on-codes": {"codebook_update": "adam"},
    "moving-anchors": {"anchors": "moving", "codebook_learning_rate": 0.2},
    "own-encoder": {"encoder": small_encoder},
    "nearest-center": {"decision": "nearest-center", "n_members": 2, "n_init": 2},
    "holdout-auc": {"stopping_signal": "holdout-auc", "patience": 1, "check_every": 5},
    "separation": {"stopping_signal": "separation", "holdout": 0.3, "max_epochs": 30},
    "plain-weights": {"schedule": "constant", "weight_average": 0.0},
}
VQ_ON_IMAGES: dict[str, Case] = {
    "vq-grey-1-member": Case("VQKMeansClassifier", "grey", VQ | PICTURES),
    "vq-grey-2-members-2-rounds": Case(
        "VQKMeansClassifier", "grey", VQ | PICTURES | {"n_members": 2, "n_rounds": 2}
    ),
    "vq-grey-defaults": Case("VQKMeansClassifier", "grey", {"max_steps": 20, "random_state": 0}),
    "vq-grey-paper": Case("VQKMeansClassifier", "grey", VQ | PICTURES | PAPER),
    "vq-colour-flip-shift": Case(
        "VQKMeansClassifier", "colour", VQ | PICTURES | {"augment": "flip+shift"}
    ),
}
RIVALS: dict[str, Case] = {
    "naive": Case("NaivePUClassifier", "vectors", RIVAL),
    "naive-grey-2-members": Case("NaivePUClassifier", "grey", RIVAL | PICTURES | {"n_members": 2}),
    "naive-plain-weights": Case(
        "NaivePUClassifier", "vectors", RIVAL | {"schedule": "constant", "weight_average": 0.0}
    ),
    "naive-many-2-members": Case("NaivePUClassifier", "many", RIVAL | {"n_members": 2}),
    "oracle": Case("OracleClassifier", "labelled", RIVAL | {"class_prior": 0.4}),
    "tedn": Case("TEDnClassifier", "vectors", RIVAL),
    "tedn-sgd-2-members": Case(
        "TEDnClassifier",
        "vectors",
        RIVAL | {"optimizer": "sgd", "learning_rate": 0.05, "n_members": 2},
    ),
    "cvir-known-alpha": Case("CVIRClassifier", "vectors", RIVAL | {"alpha": 0.5}),
    "nnpu-known-alpha": Case("NNPUClassifier", "vectors", RIVAL | {"alpha": 0.4}),
    "nnpu-estimated-alpha": Case("NNPUClassifier", "vectors", RIVAL | {"n_members": 2}),
    "upu": Case("UPUClassifier", "vectors", RIVAL | {"alpha": 0.5}),
    "distpu": Case("DistPUClassifier", "vectors", RIVAL | {"alpha": 0.5}),
    "distpu-balanced": Case(
        "DistPUClassifier", "vectors", RIVAL | {"alpha": 0.5, "batches": "balanced"}
    ),
    "vpu": Case("VPUClassifier", "vectors", RIVAL),
    "robustpu": Case("RobustPUClassifier", "vectors", RIVAL | {"alpha": 0.5}),
    "p3mix": Case("P3MixClassifier", "vectors", RIVAL),
    "ncpu": Case("NcPUClassifier", "vectors", RIVAL),
    "observer-gan": Case("ObserverGANClassifier", "vectors", GAN),
    "observer-gan-grey": Case("ObserverGANClassifier", "grey", GAN | PICTURES),
    "observer-gan-literal": Case("ObserverGANClassifier", "grey", GAN | PICTURES | {"noise": 0.0}),
    "d-gan": Case("DGANClassifier", "vectors", GAN | {"gan_steps": 40}),
    "d-gan-grey": Case("DGANClassifier", "grey", GAN | PICTURES | {"gan_steps": 20}),
    "vqvae": Case("VQVAE", "vectors", SIZES | {"codebook_size": 16}),
    "vqvae-grey": Case("VQVAE", "grey", SIZES | PICTURES | {"codebook_size": 16}),
    "elkan-noto": Case("ElkanNotoClassifier", "vectors", {"random_state": 0}),
    "bagging": Case("BaggingPUClassifier", "vectors", {"n_estimators": 30, "random_state": 0}),
}
CASES: dict[str, Case] = {
    "vq-defaults": Case("VQKMeansClassifier", "vectors", {"max_steps": 40, "random_state": 0}),
    **{f"vq-{name}": Case("VQKMeansClassifier", "vectors", VQ | own)
       for name, own in VQ_ON_VECTORS.items()},
    "vq-many": Case("VQKMeansClassifier", "many", VQ),
    **VQ_ON_IMAGES,
    **RIVALS,
}  # fmt: skip


def draw_vectors(is_positive: NDArray[np.bool_], rng: np.random.Generator) -> Floats:
    """Return two normal distributions, three apart in the first of five columns."""
    X = rng.normal(size=(len(is_positive), 5)) * [1.0, 1.0, 3.0, 0.5, 1.0]
    X[:, 0] += np.where(is_positive, 1.5, -1.5)
    return X


def draw_images(
    is_positive: NDArray[np.bool_], rng: np.random.Generator, channels: int
) -> NDArray[np.uint8]:
    """Return noisy stripes of 12 times 12 pixels, lying for positives and standing for others."""
    n, lines = len(is_positive), np.arange(12)
    phase = rng.integers(4, size=(n, 1, 1, 1))
    along = np.where(is_positive[:, None, None, None], lines[:, None, None], lines[:, None])
    stripes = 120.0 * ((along + phase) % 4 < 2) + rng.normal(60, 25, (n, 12, 12, channels))
    images = np.clip(stripes * np.linspace(1, 0.6, channels), 0, 255).astype(np.uint8)
    return images[..., 0] if channels == 1 else images


def draw_samples(kind: str) -> Samples:
    """Return labelled positives, twice as many unlabelled of which half are, and 60 new samples."""
    rng = np.random.default_rng(7)
    n = 1200 if kind == "many" else 80
    truth = np.repeat([1, 0], [2 * n, n])
    y = truth if kind == "labelled" else np.repeat([1, 0], [n, 2 * n])
    order = rng.permutation(len(y))
    is_positive = np.concatenate([truth[order], np.arange(60) % 2]).astype(bool)
    if kind in ("grey", "colour"):
        X: NDArray[Any] = draw_images(is_positive, rng, 1 if kind == "grey" else 3)
    else:
        X = draw_vectors(is_positive, rng)
    return Samples(X[: len(y)], y[order], X[len(y) :])


def find_class(name: str) -> Any:
    """Return a class of vqpu by its name, from wherever the checkout offers it."""
    package = importlib.import_module("vqpu")
    if hasattr(package, name):
        return getattr(package, name)
    return getattr(importlib.import_module("vqpu.rivals"), name)


def make_model(case: Case) -> Any:
    """Return the unfitted estimator; what its class does not list is one of its variant's."""
    cls = find_class(case.estimator)
    listed = cls().get_params(deep=False)
    own = {name: value for name, value in case.parameters.items() if name in listed}
    grouped = {f"variant__{name}": case.parameters[name] for name in case.parameters.keys() - own}
    return cls(**own).set_params(**grouped)


def digest_array(values: Any) -> str:
    """Return SHA-256 of an array's type, shape and bytes."""
    array = np.asarray(values)
    head = f"{array.dtype} {array.shape} ".encode()
    return hashlib.sha256(head + array.tobytes()).hexdigest()


def digest_module(module: nn.Module) -> str:
    """Return SHA-256 of a module's tensors, whatever their names and their order."""
    tensors = sorted(digest_array(tensor.cpu()) for tensor in module.state_dict().values())
    return hashlib.sha256(" ".join(tensors).encode()).hexdigest()


def digest_rows(rows: Iterable[dict[str, Any]]) -> str:
    """Return SHA-256 of all checks' numbers but times."""
    plain = [{name: value for name, value in row.items() if name not in _TIMES} for row in rows]
    return hashlib.sha256(repr(plain).encode()).hexdigest()


def describe(model: Any, new: NDArray[Any]) -> Facts:
    """Return what a fitted model says and consists of, in digests and numbers."""
    facts = {name: digest_array(getattr(model, name)(new)) for name in present(model, METHODS)}
    facts |= {name: repr(float(getattr(model, name))) for name in present(model, NUMBERS)}
    facts |= {name: digest_array(getattr(model, name)) for name in present(model, ARRAYS)}
    facts |= {name: digest_module(getattr(model, name)) for name in present(model, MODULES)}
    if hasattr(model, "history_"):
        facts["last loss"] = repr(float(model.history_[-1]["loss"]))
        facts["history"] = digest_rows(model.history_)
    if hasattr(model, "sample"):
        facts["sample"] = digest_array(model.sample(5, random_state=0))
    return facts


def present(model: Any, names: Iterable[str]) -> list[str]:
    """Return the names that the model has."""
    return [name for name in names if hasattr(model, name)]


def run_case(case: Case) -> Facts:
    """Fit and describe; collapsed codes are an outcome like others."""
    samples = draw_samples(case.data)
    model = make_model(case)
    try:
        model.fit(samples.X, samples.y)
    except Exception as error:
        if type(error).__name__ != "CollapsedCodesError":
            raise
        return {"outcome": "CollapsedCodesError"}
    return describe(model, samples.new)


def dump(names: list[str], path: Path) -> None:
    """Run cases with the vqpu that is imported here and write their facts; leave out failures."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    package, started = importlib.import_module("vqpu").__file__, time.perf_counter()
    cases: dict[str, Facts] = {}
    for name in names:
        try:
            cases[name] = run_case(CASES[name])
        except Exception as error:
            print(f"{package}: {name}: {type(error).__name__}: {error}", file=sys.stderr)
    seconds = time.perf_counter() - started
    path.write_text(json.dumps({"package": package, "cases": cases, "seconds": seconds}))


def start(checkout: Path, out: Path, only: str | None) -> subprocess.Popen[bytes]:
    """Start this script on a checkout's package, which it leaves without compiled files."""
    command = [sys.executable, __file__, "--dump", str(out)]
    environment = os.environ | {
        "PYTHONPATH": str(checkout / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
    }
    return subprocess.Popen(command + (["--only", only] if only else []), env=environment)


def read_side(checkout: Path, out: Path) -> Side:
    """Return a finished side; refuse one that ran another checkout's package."""
    if not out.exists():
        raise SystemExit(f"The fits of {checkout} did not come to an end.")
    found = json.loads(out.read_text())
    if not Path(found["package"]).resolve().is_relative_to(checkout / "src"):
        raise SystemExit(f"{checkout} was to be imported, and it was {found['package']}.")
    return Side(checkout, found["cases"], found["seconds"])


def run_sides(checkouts: list[Path], only: str | None) -> list[Side]:
    """Run all cases with every checkout, side by side."""
    with tempfile.TemporaryDirectory() as folder:
        outs = [Path(folder, f"{number}.json") for number in range(len(checkouts))]
        children = [start(*pair, only) for pair in zip(checkouts, outs, strict=True)]
        for child in children:
            child.wait()
        return [read_side(*pair) for pair in zip(checkouts, outs, strict=True)]


def difference(name: str, sides: list[Side]) -> str:
    """Return "equal", or what is not."""
    lacking = [str(side.checkout) for side in sides if not side.cases.get(name)]
    if lacking:
        return f"MISSING in {', '.join(lacking)}"
    first, second = (side.cases[name] for side in sides)
    names = dict.fromkeys([*first, *second])
    differing = [fact for fact in names if first.get(fact) != second.get(fact)]
    if differing:
        return f"DIFFERS ({len(differing)} of {len(names)}): {', '.join(differing)}"
    return first.get("outcome", "equal")


def compare(base: Path, only: str | None) -> int:
    """Print a table of all cases and return the exit status."""
    names = [only] if only else list(CASES)
    sides = run_sides([base, HERE], only)
    width = max(map(len, names))
    n_bad = 0
    for name in names:
        said = difference(name, sides)
        n_bad += said.startswith(("MISSING", "DIFFERS"))
        print(f"{name:{width}}  {said}")
    for side in sides:
        print(f"{side.checkout}: {len(side.cases)} fits in {side.seconds:.0f} s")
    print(f"{len(names) - n_bad} of {len(names)} cases are equal.")
    return int(n_bad > 0)


def main() -> int:
    """Read the command line; a child is told to dump, the parent compares."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("base", nargs="?", type=Path, help="the other checkout")
    parser.add_argument("--only", metavar="NAME", choices=list(CASES), help="run this case alone")
    parser.add_argument("--dump", type=Path, metavar="OUT", help="run one side, write its facts")
    asked = parser.parse_args()
    if asked.dump is not None:
        dump([asked.only] if asked.only else list(CASES), asked.dump)
        return 0
    if asked.base is None or not (asked.base / "src" / "vqpu").is_dir():
        parser.error("BASE must be a checkout of vqpu, a folder that holds src/vqpu")
    return compare(asked.base.resolve(), asked.only)


if __name__ == "__main__":
    raise SystemExit(main())
