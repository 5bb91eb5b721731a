"""``vqpu features``: what pretrained networks can be used, and what they see in your data."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer

from vqpu.cli import _options as option

app = typer.Typer(help="Pretrained features: list, try.", no_args_is_help=True)

_NEEDED = {
    "onnxruntime": ("onnx", "ONNX files"),
    "onnx": ("onnx", "ONNX files"),
    "tokenizers": ("hf", "texts"),
    "transformers": ("hf", "Hugging Face directories"),
}


@app.command("list")
def list_features(as_json: option.AsJson = False) -> None:
    """Name what is installed for features, and what the cache holds."""
    from vqpu.files._feature_streams import cached_features, feature_cache

    versions = {name: _version(name) for name in _NEEDED}
    folder, stored = feature_cache(None), cached_features()
    if as_json:
        cached = [
            {"n_vectors": one.n_vectors, "bytes": one.n_bytes, **one.record.model_dump(mode="json")}
            for one in stored
        ]
        print(json.dumps({"packages": versions, "cache": str(folder), "cached": cached}))
        return
    for name, (extra, purpose) in _NEEDED.items():
        version = versions[name]
        missing = f"missing: pip install 'vqpu[{extra}]'"
        print(f"{name:14} {version or missing:10} for {purpose}")
    print(f"cache: {folder}, which may be deleted at any time")
    for one in stored:
        record = one.record
        print(
            f"{record.name:30} {one.n_vectors:9} vectors of {record.n_features}, "
            f"{one.n_bytes / 1e6:.1f} MB, from {record.input}s"
        )


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


@app.command("try")
def try_features(
    extractor: Annotated[
        str,
        typer.Argument(
            metavar="EXTRACTOR", help="An .onnx file or a local Hugging Face directory."
        ),
    ],
    input_path: Annotated[
        str, typer.Argument(metavar="INPUT", help="Folder of pictures or texts, or a table.")
    ],
    text: Annotated[str | None, typer.Option(help="Column of texts of a table.")] = None,
    sheet: Annotated[
        Path | None, typer.Option(help="PNG with the pictures: in every row one and its nearest.")
    ] = None,
    samples: Annotated[int, typer.Option(min=2, help="Drawn at random from the input.")] = 300,
    questions: Annotated[int, typer.Option(min=1, help="Whose nearest ones are shown.")] = 8,
    seed: Annotated[int, typer.Option(min=0, help="Seed of what is drawn.")] = 0,
    as_json: option.AsJson = False,
) -> None:
    """Show the nearest neighbours of some samples, and so whether a network sees what you want."""
    from vqpu.files._neighbours import try_features as compare

    tried = compare(
        extractor,
        input_path,
        text=text,
        sheet=sheet,
        n_samples=samples,
        n_questions=questions,
        seed=seed,
    )
    record = tried.extractor.record
    if as_json:
        rows = [[{"name": tried.names[p], "similarity": s} for p, s in row] for row in tried.rows]
        print(json.dumps({"extractor": record.model_dump(mode="json"), "rows": rows}))
        return
    for first, *others in tried.rows:
        print(tried.shown[first.place])
        for place, similarity in others:
            print(f"  {similarity:5.2f}  {tried.shown[place]}")
    broken = f"; {tried.n_broken} cannot be used" * bool(tried.n_broken)
    typer.echo(f"{len(tried.names)} samples by {record.describe()}{broken}", err=True)
    if sheet is not None:
        typer.echo(f"{sheet}: features can serve if its rows belong together for you", err=True)
