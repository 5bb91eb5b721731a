"""One of the processes of :func:`vqpu.distributed.fit`: ``python -m ... FOLDER``."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

from vqpu.distributed._fitting import LABELS, MODEL, PARAMETERS, SAMPLES
from vqpu.distributed._refusals import told_refusals
from vqpu.files import open_npy
from vqpu.training import joined_ranks
from vqpu.vq._classifier import VQKMeansClassifier


@told_refusals()
def main(folder: Path) -> None:
    """Fit with the others; the first one saves.

    Parameters
    ----------
    folder : Path
        Of samples, labels and parameters.
    """
    parameters, checkpoints = json.loads((folder / PARAMETERS).read_text("utf-8"))
    with joined_ranks() as ranks:
        if not ranks.is_first:
            warnings.simplefilter("ignore")  # one says it for all
        model = VQKMeansClassifier().set_params(**parameters)
        X, y = open_npy(folder / SAMPLES), open_npy(folder / LABELS)
        model.fit(X, y, checkpoint_dir=checkpoints, ranks=ranks)
        if ranks.is_first:
            model.save(folder / MODEL)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
