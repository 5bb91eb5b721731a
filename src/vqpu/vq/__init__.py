"""The paper's method put together: network, objective, clusters and answer."""

from vqpu.vq._answer import NO_HIDDEN_POSITIVES as NO_HIDDEN_POSITIVES
from vqpu.vq._answer import Answer as Answer
from vqpu.vq._answer import found_positives as found_positives
from vqpu.vq._answer import report_trouble as report_trouble
from vqpu.vq._checks import Check as Check
from vqpu.vq._checks import Checker as Checker
from vqpu.vq._clusters import Clusters as Clusters
from vqpu.vq._clusters import find_clusters as find_clusters
from vqpu.vq._conclusion import Conclusion as Conclusion
from vqpu.vq._conclusion import conclude as conclude
from vqpu.vq._network import Encodings as Encodings
from vqpu.vq._network import VQNetwork as VQNetwork
from vqpu.vq._network import blank_codebook as blank_codebook
from vqpu.vq._network import draw_codebook as draw_codebook
from vqpu.vq._objective import VQObjective as VQObjective
