"""Directories of tensors and plain values that are read without running any code from them.

Models and checkpoints are both such directories: ``manifest.json`` and the files that it lists with
their SHA-256. Nothing here knows an estimator.
"""

from vqpu.modelfiles._bundle import MANIFEST as MANIFEST
from vqpu.modelfiles._bundle import Bundle as Bundle
from vqpu.modelfiles._bundle import read_bundle as read_bundle
from vqpu.modelfiles._bundle import write_bundle as write_bundle
from vqpu.modelfiles._checkpoints import Checkpoint as Checkpoint
from vqpu.modelfiles._checkpoints import CheckpointFolder as CheckpointFolder
from vqpu.modelfiles._checkpoints import locked_folder as locked_folder
from vqpu.modelfiles._checkpoints import stored_seed as stored_seed
from vqpu.modelfiles._model import MODEL as MODEL
from vqpu.modelfiles._model import check_free as check_free
from vqpu.modelfiles._model import read_extra as read_extra
from vqpu.modelfiles._model import read_model as read_model
from vqpu.modelfiles._model import write_model as write_model
from vqpu.modelfiles._tensors import WEIGHTS as WEIGHTS
from vqpu.modelfiles._tensors import fill_modules as fill_modules
from vqpu.modelfiles._tensors import module_tensors as module_tensors
from vqpu.modelfiles._tensors import pack as pack
from vqpu.modelfiles._tensors import unpack as unpack
from vqpu.modelfiles._values import decode as decode
from vqpu.modelfiles._values import encode as encode
