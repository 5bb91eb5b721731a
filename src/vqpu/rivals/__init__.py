"""Other methods behind the same contract, on the same encoders and the same loop."""

from vqpu.rivals._distpu import DistPUClassifier as DistPUClassifier
from vqpu.rivals._naive import NaivePUClassifier as NaivePUClassifier
from vqpu.rivals._nnpu import NNPUClassifier as NNPUClassifier
from vqpu.rivals._oracle import OracleClassifier as OracleClassifier
from vqpu.rivals._tedn import CVIRClassifier as CVIRClassifier
from vqpu.rivals._tedn import TEDnClassifier as TEDnClassifier
from vqpu.rivals._upu import UPUClassifier as UPUClassifier
from vqpu.rivals._vpu import VPUClassifier as VPUClassifier
