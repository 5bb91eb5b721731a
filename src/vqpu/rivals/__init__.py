"""Other methods behind the same contract, on the same encoders and the same loop."""

from vqpu.estimators._validation import PUClassifier
from vqpu.rivals._bagging import BaggingPUClassifier as BaggingPUClassifier
from vqpu.rivals._dgan import DGANClassifier as DGANClassifier
from vqpu.rivals._distpu import DistPUClassifier as DistPUClassifier
from vqpu.rivals._elkan_noto import ElkanNotoClassifier as ElkanNotoClassifier
from vqpu.rivals._naive import NaivePUClassifier as NaivePUClassifier
from vqpu.rivals._nnpu import NNPUClassifier as NNPUClassifier
from vqpu.rivals._observer_gan import ObserverGANClassifier as ObserverGANClassifier
from vqpu.rivals._oracle import OracleClassifier as OracleClassifier
from vqpu.rivals._tedn import CVIRClassifier as CVIRClassifier
from vqpu.rivals._tedn import TEDnClassifier as TEDnClassifier
from vqpu.rivals._upu import UPUClassifier as UPUClassifier
from vqpu.rivals._vpu import VPUClassifier as VPUClassifier
from vqpu.rivals._vqvae import VQVAE as VQVAE

# The short names of PU methods that train a network, for scripts and commands.
PU_RIVALS: dict[str, type[PUClassifier]] = {
    "naive": NaivePUClassifier,
    "nnpu": NNPUClassifier,
    "upu": UPUClassifier,
    "distpu": DistPUClassifier,
    "vpu": VPUClassifier,
    "cvir": CVIRClassifier,
    "tedn": TEDnClassifier,
    "observer-gan": ObserverGANClassifier,
    "d-gan": DGANClassifier,
}
