"""Checkpoints of trees: one a finished round, since a round takes seconds."""

from __future__ import annotations

from vqpu.errors import CheckpointError, ModelFileError
from vqpu.nn import Codebook
from vqpu.persistence._checkpoints import Checkpoint, CheckpointFolder
from vqpu.persistence._tensors import fill_modules, module_tensors
from vqpu.persistence._values import decode, encode
from vqpu.training import History, TrainingResult
from vqpu.trees import TreeSizes
from vqpu.vq._tree_network import blank_tree_network


def write_round(folder: CheckpointFolder, result: TrainingResult) -> None:
    """Write a finished round.

    Parameters
    ----------
    folder : CheckpointFolder
        Of the round.
    result : TrainingResult
        Its state is a TreeNetwork; its history that of the round alone.
    """
    header = {
        "sizes": list(result.state.encoder.arrays.sizes),
        "best_check": result.best_check,
        "stopped_early": result.stopped_early,
        "history": encode(result.history.rows, "history", {}, ()),
    }
    folder.write(result.n_steps, header, module_tensors("network", result.state))


def resume_round(
    folder: CheckpointFolder, n_features: int, n_members: int, codebook: Codebook
) -> TrainingResult | None:
    """Return a round that was finished before, None if there is none.

    Parameters
    ----------
    folder : CheckpointFolder
        Of the round.
    n_features, n_members : int
    codebook : Codebook
        To be filled.
    """
    found = folder.newest()
    if found is None:
        return None
    try:
        return _restored(found, n_features, n_members, codebook)
    except (ModelFileError, LookupError, TypeError, ValueError, RuntimeError) as error:
        raise CheckpointError(
            f"The newest checkpoint in {folder.path} does not fit this model: {error} Use another "
            "checkpoint_dir, or the version of vqpu that wrote it."
        ) from error


def _restored(
    found: Checkpoint, n_features: int, n_members: int, codebook: Codebook
) -> TrainingResult:
    header, tensors = found
    network = blank_tree_network(TreeSizes(*header["sizes"]), n_features, n_members, codebook)
    fill_modules({"network": network}, tensors)
    network.encoder.check()
    history = History(decode(header["history"], {}, ()))
    if not 0 <= header["best_check"] < len(history):
        raise ModelFileError(f"check {header['best_check']} is none of {len(history)}.")
    return TrainingResult(
        network.eval().requires_grad_(False),
        history,
        header["best_check"],
        bool(header["stopped_early"]),
        int(header["step"]),
    )
