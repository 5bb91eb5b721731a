"""Study of pretrained features: pictures of classes that the network has never seen.

PU task: cats among frogs and horses of CIFAR-10, alpha .3, ten times as many unlabelled pictures as
labelled ones. The features are those of ``experiments/backbone.py``, trained on the other seven
classes (``python -m experiments.backbone`` first). Beside them: VQ K-means from pixels, and on the
same features the naive classifier and the supervised oracle. The encoder for features is chosen by
the hidden labels of training pictures that are in neither P nor U; the test split is shown, and
decides nothing.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from experiments.backbone import default_path
from experiments.item import Config, Record, RunResult, Seeds, study
from experiments.methods import fit_method
from experiments.problems import Problem
from experiments.summary import markdown_table
from vqpu.datasets import data_directory, is_present, make_pu
from vqpu.datasets._cifar import read_cifar10
from vqpu.errors import InputError
from vqpu.features import extract, open_extractor

POSITIVE, CLASSES = 3, (3, 6, 7)  # cat; cat, frog, horse
SIZES = (50, 100, 300, 1000)
ALPHA, RATIO = 0.3, 10
CHOICE = "rest"
FEW_STEPS: dict[str, Any] = {"max_steps": 500}
LINEAR: dict[str, Any] = {"encoder": "linear", "n_vectors": 2, **FEW_STEPS}
# Name: what it is fitted on, the method, and what is changed of its defaults.
FORMS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "vq, linear": ("features", "vq", {**LINEAR, "n_rounds": 2}),
    "vq, linear, 8 vectors": ("features", "vq", {**LINEAR, "n_vectors": 8, "n_rounds": 2}),
    "vq, mlp": ("features", "vq", {"encoder": "mlp", **FEW_STEPS, "n_rounds": 2}),
    "vq, trees": ("features", "vq", {"encoder": "trees"}),
    "naive, linear": ("features", "naive", LINEAR),
    "oracle, linear": ("features", "oracle", LINEAR),
    "vq, from pixels": ("pixels", "vq", {}),
}


class Pictures(NamedTuple):
    """A split of the three classes: pixels, features, and whether each is a cat."""

    pixels: NDArray[np.uint8]
    features: NDArray[np.float32]
    labels: NDArray[np.int64]


def expand(seeds: Seeds | None) -> dict[str, Config]:
    return {
        f"{form.replace(', ', '-').replace(' ', '-')}_{n}_seed{seed}": {
            "form": form,
            "n_positive": n,
            "n_unlabeled": RATIO * n,
            "alpha": ALPHA,
            "parameters": FORMS[form][2],
            "seed": seed,
        }
        for seed in seeds or range(3)
        for n in SIZES
        for form in FORMS
    }


def check(config: Config, data_dir: Path | None) -> None:  # noqa: ARG001
    if not is_present("cifar10", data_dir):
        raise InputError("The study needs CIFAR-10: see vqpu data list.")
    if not default_path().exists():
        raise InputError(
            f"{default_path()} is not there. Train it first: python -m experiments.backbone"
        )


def run(config: Config, data_dir: Path | None) -> RunResult:
    train, test = (_pictures(data_dir, train=is_train) for is_train in (True, False))
    given, method, parameters = FORMS[config["form"]]
    X, X_test = (getattr(part, given) for part in (train, test))
    sizes = {name: config[name] for name in ("n_positive", "n_unlabeled", "alpha")}
    places = np.arange(len(X))
    sample = make_pu(places, train.labels, **sizes, random_state=config["seed"])
    problem = Problem(
        X[sample.X], sample.y, sample.truth, sample.alpha, X_test, test.labels,
        "flip+shift" if given == "pixels" else "none",
    )  # fmt: skip
    started, busy = time.perf_counter(), time.process_time()
    model = fit_method(method, problem, seed=config["seed"], parameters=parameters)
    seconds, processor = time.perf_counter() - started, time.process_time() - busy
    rest = sample.rest
    metrics = {
        "seconds": round(seconds, 1),
        "cpu_seconds": round(processor, 1),
        "backbone": open_extractor(default_path()).record.digest[:16],
        **_scores(model, X_test, test.labels, "test"),
        **_scores(model, X[rest], train.labels[rest], CHOICE),
    }
    if hasattr(model, "alpha_"):
        metrics["alpha_estimate"] = round(float(model.alpha_), 4)
    return RunResult(metrics, [])


def _scores(model: Any, X: NDArray[Any], labels: NDArray[np.int64], name: str) -> dict[str, float]:
    scores = model.decision_function(X)
    return {
        f"{name}_accuracy": round(float(np.mean((scores > 0) == (labels == 1))), 5),
        f"{name}_auc": round(float(roc_auc_score(labels, scores)), 5),
    }


def _pictures(data_dir: Path | None, *, train: bool) -> Pictures:
    pixels, classes = read_cifar10(data_directory(data_dir), train)
    kept = np.flatnonzero(np.isin(classes, CLASSES))
    pixels, labels = pixels[kept], (classes[kept] == POSITIVE).astype(np.int64)
    extractor = open_extractor(default_path())
    features = extract(extractor, pixels, cache_dir=default_path().parent / "cache")
    return Pictures(pixels, features, labels)


def summary(records: list[Record]) -> str:
    found: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for record in records:
        key = record.config["form"], record.config["n_positive"]
        found.setdefault(key, []).append(record.values)
    parts = []
    for name, title in (
        (CHOICE, "Training pictures in neither P nor U (decides)"),
        ("test", "Test split"),
    ):
        rows = [[form, *(_shown(found.get((form, n), []), name) for n in SIZES)] for form in FORMS]
        parts.append(f"{title}:\n\n" + markdown_table(["form", *map(str, SIZES)], rows))
    return (
        "Cats among frogs and horses of CIFAR-10 by the number of labelled positives, ten times as "
        "many unlabelled, alpha .3: accuracy / AUC in per cent, and seconds of one core for the "
        "fit after extraction; mean over seeds, whose number stands in brackets. The network was "
        "trained on the seven other classes of CIFAR-10.\n\n" + "\n".join(parts)
    )


def _shown(group: list[dict[str, Any]], name: str) -> str:
    if not group:
        return "missing"
    accuracy, auc = (
        100 * np.mean([one[f"{name}_{m}"] for one in group]) for m in ("accuracy", "auc")
    )
    seconds = np.mean([one["cpu_seconds"] for one in group])
    return f"{accuracy:.1f} / {auc:.1f}, {seconds:.0f} s [{len(group)}]"


ITEM = study(expand, run, summary, check=check)
