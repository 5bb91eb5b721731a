"""Figure 2: t-SNE of the codes of U, of a classical VQ-VAE and of the method."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from experiments.item import Config, Item, ItemSettings, Record, Row, RunResult, Summary, finished
from experiments.items.codes_map import (
    cluster_accuracies,
    index_clusters,
    map_to_plane,
    vector_clusters,
    vectors_of,
)
from experiments.methods import make_method
from experiments.problems import check_task, draw_problem
from experiments.summary import markdown_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TITLES = {"vqvae": "classical VQ-VAE", "vq": "VQ K-means"}
_COLORS = {0: "#b8561b", 1: "#1b6ca8"}


class Settings(ItemSettings):
    """What both models are trained on, and how.

    Attributes
    ----------
    task : str
    n_positive, n_unlabeled : int
    alpha : float
    n_mapped : int
        Samples of U in the picture; the accuracies are of all.
    models : dict
        Changes of the defaults of either model.
    """

    task: str
    n_positive: int = Field(ge=1)
    n_unlabeled: int = Field(ge=2)
    alpha: float = Field(gt=0, lt=1)
    n_mapped: int = Field(gt=30)
    models: dict[Literal["vqvae", "vq"], dict[str, Any]]


def expand(settings: Settings) -> dict[str, Config]:
    """Return a run for every model and seed."""
    shared = settings.model_dump(exclude={"models", "seeds"})
    return {
        f"{model}_seed{seed}": {**shared, "model": model, "parameters": parameters, "seed": seed}
        for model, parameters in settings.models.items()
        for seed in settings.seeds
    }


def check(config: Config, data_dir: Path | None) -> None:
    """Refuse an unknown task, one whose files are missing, and unknown parameters."""
    check_task(config["task"], data_dir)
    _make(config, "none")


def run(config: Config, data_dir: Path | None) -> RunResult:
    """Train one model, cluster the codes of U and map a part of them to the plane."""
    problem = draw_problem(config, data_dir)
    started = time.perf_counter()
    model = _make(config, problem.augment)
    if config["model"] == "vqvae":
        model.fit(problem.X)
    else:
        model.fit(problem.X, problem.y)
    seconds = time.perf_counter() - started
    codes = model.transform(problem.X)
    is_labeled = problem.y == 1
    truth = problem.truth[~is_labeled] == 1
    codebook = model.network_.codebook.vectors.detach().cpu().numpy()
    metrics = {
        "seconds": round(seconds, 1),
        "n_steps": model.n_steps_,
        "n_codes_used": len(np.unique(codes)),
        **_accuracies(codes, codebook, is_labeled, truth, config["seed"]),
    }
    if config["model"] == "vq":
        called = model.predict(problem.X[~is_labeled]) == 1
        metrics["predict_accuracy"] = float((called == truth).mean())
    mapped = codes[~is_labeled][: config["n_mapped"]]
    indices = map_to_plane(mapped, config["seed"])
    vectors = map_to_plane(vectors_of(mapped, codebook), config["seed"])
    return RunResult(metrics, _points(indices, vectors, truth))


def _make(config: Config, augment: str) -> Any:
    """Return the VQ-VAE, which will see P and U without labels, or the method."""
    settings = {"random_state": config["seed"], **config["parameters"]}
    given = {} if config["model"] == "vqvae" else {"augment": augment}
    return make_method(config["model"], {**given, **settings})


def _accuracies(
    codes: NDArray[Any],
    codebook: NDArray[Any],
    is_labeled: NDArray[np.bool_],
    truth: NDArray[np.bool_],
    seed: int,
) -> dict[str, float]:
    """Return K-means accuracies on U, of indices and of vectors, named by P and by the truth."""
    spaces: tuple[tuple[str, NDArray[Any], Any], ...] = (
        ("index", codes, index_clusters),
        ("vector", vectors_of(codes, codebook), vector_clusters),
    )
    found: dict[str, float] = {}
    for name, samples, cluster in spaces:
        unlabeled = samples[~is_labeled]
        centers = cluster(unlabeled, seed)
        named, best = cluster_accuracies(centers, samples[is_labeled], unlabeled, truth)
        found |= {f"{name}_accuracy": named, f"{name}_best_naming": best}
    return found


def _points(indices: NDArray[Any], vectors: NDArray[Any], truth: NDArray[np.bool_]) -> list[Row]:
    """Return the places of samples in both maps; those beyond the mapped ones are left out."""
    return [
        {
            "index": [round(float(part), 2) for part in first],
            "vector": [round(float(part), 2) for part in second],
            "positive": int(is_positive),
        }
        for first, second, is_positive in zip(indices, vectors, truth, strict=False)
    ]


_COLUMNS = {
    "index_accuracy": "K-means on indices",
    "index_best_naming": "indices, named by the truth",
    "vector_accuracy": "K-means on code vectors",
    "vector_best_naming": "vectors, named by the truth",
    "predict_accuracy": "predict",
    "n_codes_used": "codes in use",
    "n_steps": "steps",
    "seconds": "seconds",
}


def show(records: Mapping[str, Record], _: Mapping[str, Any]) -> Summary:
    """Return accuracies of both models' clusters, and their maps side by side."""
    rows = [_row(name, record) for name, record in records.items()]
    tasks = {record.config["task"] for record in records.values()}
    notes = (
        f"Figure 2 ({', '.join(sorted(tasks))}): two K-means clusters of the codes of U against "
        "the hidden truth, accuracy in %. Positive is the cluster nearer to the labelled "
        "positives, or the one that the truth would choose.\n"
    )
    table = markdown_table(list(rows[0]), [[str(cell) for cell in row.values()] for row in rows])
    return Summary(f"{notes}\n{table}", rows, lambda figure: _draw(figure, finished(records)))


def _row(name: str, record: Record) -> Row:
    row: Row = {"run": name}
    for key, title in _COLUMNS.items():
        value: Any = "missing" if record.metrics is None else record.metrics.get(key, "-")
        is_share = isinstance(value, float) and key != "seconds"
        row[title] = f"{100 * value:.1f}" if is_share else value
    return row


def _draw(figure: Figure, done: list[Record]) -> None:
    """Draw the first run of each model that is there: its indices above, its vectors below."""
    firsts = {record.config["model"]: record for record in reversed(done)}
    shown = [name for name in _TITLES if name in firsts]
    figure.set_size_inches(9, 8.6)
    if not shown:
        figure.text(0.5, 0.5, "no run is there yet", ha="center")
        return
    panels = figure.subplots(2, len(shown), squeeze=False)
    for column, name in enumerate(shown):
        for axes, space in zip(panels[:, column], ("index", "vector"), strict=True):
            _draw_map(axes, firsts[name], space)
            accuracy = 100 * (firsts[name].metrics or {})[f"{space}_accuracy"]
            what = "code indices" if space == "index" else "code vectors"
            axes.set(title=f"{_TITLES[name]}, {what}: K-means {accuracy:.1f} %")
    panels[0, -1].legend(markerscale=3, frameon=False)
    figure.supxlabel("Samples with the same codes are moved apart a little.", fontsize=8)


def _draw_map(axes: Axes, record: Record, space: str) -> None:
    """Draw one map; many codes repeat and would hide each other, so all are moved a little."""
    every = np.array([row[space] for row in record.history])
    moved = every + 0.01 * np.ptp(every) * np.random.default_rng(0).normal(size=every.shape)
    is_positive = np.array([row["positive"] for row in record.history])
    for positive, label in ((0, "negative"), (1, "positive")):
        x, y = moved[is_positive == positive].T
        axes.scatter(x, y, 6, _COLORS[positive], alpha=0.6, linewidths=0, label=label)
    axes.set(xticks=[], yticks=[])


ITEM = Item(expand, run, show, Settings, check=check)
