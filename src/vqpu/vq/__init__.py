"""The paper's method: network, objective, checks, clusters, decision rule, classifier."""

from vqpu.vq._classifier import VQKMeansClassifier as VQKMeansClassifier
from vqpu.vq._variant import PAPER_FORM as PAPER_FORM
from vqpu.vq._variant import VARIANTS as VARIANTS
from vqpu.vq._variant import Variant as Variant
