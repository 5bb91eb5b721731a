"""The paper's method put together: network, objective, clusters and answer."""

from vqpu.vq._check import Check as Check
from vqpu.vq._check import Checker as Checker
from vqpu.vq._clusters import Clusters as Clusters
from vqpu.vq._clusters import find_clusters as find_clusters
from vqpu.vq._decision_rule import NO_HIDDEN_POSITIVES as NO_HIDDEN_POSITIVES
from vqpu.vq._decision_rule import DecisionRule as DecisionRule
from vqpu.vq._decision_rule import found_positives as found_positives
from vqpu.vq._decision_rule import report_trouble as report_trouble
from vqpu.vq._fit_result import FitResult as FitResult
from vqpu.vq._fit_result import conclude as conclude
from vqpu.vq._network import Encodings as Encodings
from vqpu.vq._network import VQNetwork as VQNetwork
from vqpu.vq._network import blank_codebook as blank_codebook
from vqpu.vq._network import draw_codebook as draw_codebook
from vqpu.vq._objective import VQObjective as VQObjective
