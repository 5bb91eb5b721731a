"""Items that are grids of runs: tasks by methods by seeds, and what is varied besides."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from experiments.item import Config, Item, ItemSettings, RunResult
from experiments.judged import run_judged
from experiments.methods import make_method
from experiments.problems import Problem, check_task, draw_problem
from experiments.reduced import REDUCED_METHODS, check_reduced, run_reduced
from experiments.variants import pooled_encoder, varied_codebook
from vqpu.errors import InputError

STRICT = ConfigDict(extra="forbid", frozen=True)


class TaskSettings(BaseModel):
    """Sizes of one task.

    Attributes
    ----------
    n_positive, n_unlabeled : int
    image_size : int or None
        Side of photographs in pixels; None takes the task's own.
    """

    model_config = STRICT

    n_positive: int = Field(ge=1)
    n_unlabeled: int = Field(ge=1)
    image_size: int | None = None


class MethodSettings(BaseModel):
    """A row of a table: a method and how it is run.

    Attributes
    ----------
    method : str
        Its name in ``experiments``.
    parameters : dict
        Changes of its defaults; they go over those that the item has for all methods.
    knows_alpha : bool
        Whether it is given the true share of positives in U.
    seeds : tuple of int or None
        None takes the item's.
    codebook_seed, anchor_gap, n_places : int, float, int or None
        Changes of VQ K-means that are no parameters: see ``experiments``.
    tasks : dict of TaskSettings or None
        The tasks of this row, with sizes of its own; None takes the item's.
    """

    model_config = STRICT

    method: str
    parameters: dict[str, Any] = {}
    knows_alpha: bool = False
    seeds: tuple[int, ...] | None = None
    codebook_seed: int | None = None
    anchor_gap: float | None = None
    n_places: int | None = None
    tasks: dict[str, TaskSettings] | None = None


class GridSettings(ItemSettings):
    """Settings of a grid.

    Attributes
    ----------
    tasks : dict of TaskSettings
    methods : dict of MethodSettings
    parameters : dict
        Changes of the defaults of every method but those on principal components, the budget
        above all.
    alphas : tuple of float
        Shares of positives in U.
    scenarios : tuple of str
        In "single-set" data alpha is the share of positives before labelling, and the sizes of P
        and U are the same as in "case-control".
    thin_test : bool
        Thin out the test set so that its share of positives is alpha, and let P shrink and grow
        with it: n_positive stands for alpha = 1/2.
    n_judged : int
        Test samples that every check is judged on; the chosen check is judged on all as well.
    """

    tasks: dict[str, TaskSettings]
    methods: dict[str, MethodSettings]
    parameters: dict[str, Any] = Field(default_factory=dict)
    alphas: tuple[Annotated[float, Field(gt=0, lt=1)], ...] = (0.5,)
    scenarios: tuple[Literal["case-control", "single-set"], ...] = ("case-control",)
    thin_test: bool = False
    n_judged: int = Field(ge=1)

    @model_validator(mode="after")
    def _check_own_tasks(self) -> Self:
        for name, method in self.methods.items():
            self._check_tasks_of(name, method.tasks)
        return self

    def _check_tasks_of(self, name: str, tasks: dict[str, TaskSettings] | None) -> None:
        for task in tasks or ():
            if task not in self.tasks:
                raise ValueError(f"{name} has a task {task!r} that the item has not")

    def with_seeds(self, seeds: tuple[int, ...]) -> Self:
        """Return the same settings with other seeds, for every method."""
        methods = {
            name: method.model_copy(update={"seeds": None}) for name, method in self.methods.items()
        }
        return self.model_copy(update={"seeds": seeds, "methods": methods})


def expand_grid(settings: GridSettings) -> dict[str, Config]:
    """Return a run for every task, alpha, scenario, method and seed."""
    runs = {}
    cells = product(settings.tasks, settings.alphas, settings.scenarios, settings.methods.items())
    for task, alpha, scenario, (name, method) in cells:
        sizes = settings.tasks if method.tasks is None else method.tasks
        if task not in sizes:
            continue
        common = {} if method.method in REDUCED_METHODS else settings.parameters
        for seed in settings.seeds if method.seeds is None else method.seeds:
            config = {
                "task": task,
                **sizes[task].model_dump(),
                "alpha": alpha,
                "scenario": scenario,
                "thin_test": settings.thin_test,
                "row": name,
                **method.model_dump(exclude={"seeds", "tasks"}),
                "parameters": {**common, **method.parameters},
                "seed": seed,
                "n_judged": settings.n_judged,
            }
            runs[_run_id(config)] = config
    return runs


def _run_id(config: Config) -> str:
    parts = [config["task"], f"alpha{config['alpha']:g}", config["row"], f"seed{config['seed']}"]
    if config["scenario"] != "case-control":
        parts.insert(2, config["scenario"])
    return "_".join(parts)


def check_cell(config: Config, data_dir: Path | None) -> None:
    """Refuse a task, a method or a parameter that is unknown, and a task whose files are missing.

    Parameters
    ----------
    config : dict
    data_dir : Path or None
    """
    check_task(config["task"], data_dir)
    parameters = _parameters(config, config["alpha"])
    if config["method"] not in REDUCED_METHODS:
        make_method(config["method"], parameters)
        return
    if "n_components" not in parameters:
        raise InputError(f"{config['method']} needs n_components among its parameters.")
    del parameters["n_components"]
    check_reduced(config["method"], parameters)


def run_cell(config: Config, data_dir: Path | None) -> RunResult:
    """Draw the problem, fit the method and judge it."""
    problem = _draw_problem(config, data_dir)
    parameters = _parameters(config, problem.alpha)
    method, seed = config["method"], config["seed"]
    if method in REDUCED_METHODS:
        n_components = parameters.pop("n_components")
        metrics = run_reduced(
            method, problem, seed=seed, n_components=n_components, parameters=parameters
        )
        return RunResult(metrics, [])
    with varied_codebook(config["codebook_seed"], config["anchor_gap"]):
        return run_judged(
            method, problem, seed=seed, parameters=parameters, n_judged=config["n_judged"]
        )


def _draw_problem(config: Config, data_dir: Path | None) -> Problem:
    if config["thin_test"]:  # rare positives are rare among the labelled ones as well
        n_positive = round(2 * config["alpha"] * config["n_positive"])
        config = {**config, "n_positive": n_positive}
    return draw_problem(config, data_dir)


def _parameters(config: Config, alpha: float) -> dict[str, Any]:
    parameters = dict(config["parameters"])
    if config["knows_alpha"]:
        parameters["alpha"] = alpha
    if config["n_places"] is not None:
        parameters["encoder"] = pooled_encoder(config["n_places"])
    return parameters


def grid_item(
    show: Any,
    expand: Callable[[Any], dict[str, Config]] = expand_grid,
    runs_of: str | None = None,
) -> Item:
    """Return a grid as an item; what the arguments are says :class:`Item`."""
    return Item(expand, run_cell, show, GridSettings, check_cell, runs_of)
