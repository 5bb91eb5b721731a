"""``vqpu inspect``, ``report`` and ``export``: what a model is, for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from vqpu.cli import _options as option

_MOST_COLUMNS = 20


def inspect(
    model: option.Model,
    as_json: option.AsJson = False,
) -> None:
    """Say what a model was fitted on, how it ended and whether it seems to have worked."""
    from vqpu.report._inspection import inspect_model

    found = inspect_model(model)
    if as_json:
        print(json.dumps(found))
        return
    _print_model(found)


def export(
    model: option.Model,
    onnx: Annotated[Path, typer.Option(help="File that the graph goes to, ending in .onnx.")],
    features: Annotated[
        str | None,
        typer.Option(
            metavar="EXTRACTOR", help="Where the ONNX file of a model on features lies now."
        ),
    ] = None,
    as_json: option.AsJson = False,
) -> None:
    """Write a model as one ONNX graph and check it against the model on the spot."""
    from vqpu.files._export import export_onnx
    from vqpu.files._input_streams import opened_features
    from vqpu.files._models import open_model
    from vqpu.persistence._targets import MADE_HERE, check_target

    check_target(onnx, (".onnx",), marks=MADE_HERE, model_path=model)
    estimator, input_format, _ = open_model(model)
    extractor = opened_features(input_format, features)
    plan = input_format.plan
    columns = None if plan is None else plan.feature_names
    done = export_onnx(
        estimator,
        onnx,
        sample_shape=input_format.sample_shape,
        dtype=input_format.dtype,
        feature_names=columns,
        categories=None if plan is None else plan.values_by_column(),
        extractor=extractor,
    )
    if as_json:
        print(json.dumps(done._asdict() | {"path": str(done.path), "columns": columns}))
        return
    print(
        f"{done.path}: takes {', '.join(done.inputs)} of {done.input_dtype}, shape "
        f"{('n', *done.input_shape)}; gives {', '.join(done.outputs)}. On {done.n_checked} samples "
        f"its scores are within {done.largest_error:.1e} of the model's, and "
        f"{done.codes_apart:.2%} of the codes differ."
    )
    if columns is not None:
        shown = ", ".join(columns[:_MOST_COLUMNS]) + ", ..." * (len(columns) > _MOST_COLUMNS)
        print(f"The columns of x are, in order: {shown}; the graph's metadata name them all.")


def report(
    model: option.Model,
    out: Annotated[Path, typer.Option(help="Page, ending in .html.")],
    as_json: option.AsJson = False,
) -> None:
    """Write one self-contained page that shows what was fitted and whether it worked."""
    from vqpu.report import write_report

    write_report(model, out)
    print(json.dumps({"out": str(out)}) if as_json else f"{out}: open it in a browser.")


def _rounds(fitted: dict[str, Any]) -> str:
    return f" in {fitted['n_rounds']} rounds" if fitted.get("n_rounds", 1) > 1 else ""


def _print_model(found: dict[str, Any]) -> None:
    fitted, best = found["fitted"], found["best_check"]
    lines = {
        "estimator": f"{found['estimator']}, saved by vqpu {found['versions']['vqpu']}",
        "takes": found["input"]["takes"],
        "classes": f"{found['classes'][0]!r} (negative), {found['classes'][1]!r} (positive)",
        "training": f"{fitted['n_steps']} steps{_rounds(fitted)}, ended by "
        f"{fitted['stop_reason']}; of {found['n_checks']} checks that at step {best['step']} was "
        "chosen",
        "size": f"{found['bytes'] / 1e6:.1f} MB",
    }
    if "alpha" in fitted:
        low, high = fitted["alpha_interval"]
        lines["alpha"] = (
            f"{fitted['alpha']:.3f} ({low:.2f} to {high:.2f}) of the unlabelled samples are "
            "positives"
        )
    if "positive_share" in fitted:
        lines["predicted"] = f"{fitted['positive_share']:.1%} of them are called positive"
    for name, text in lines.items():
        print(f"{name:10} {text}")
    if found["columns"] is not None:
        print("columns")
        for name, taken in found["columns"].items():
            print(f"  {name}: {taken}")
    for finding in found["findings"]:
        print(f"{finding['level']:10} {finding['sentence']}")
