"""Scores: with the truth, and without any negative, each naming its scenario and assumptions."""

from vqpu.metrics._centers import center_distance_score as center_distance_score
from vqpu.metrics._centers import center_distance_scorer as center_distance_scorer
from vqpu.metrics._pu import lee_liu_score as lee_liu_score
from vqpu.metrics._pu import proxy_accuracy as proxy_accuracy
from vqpu.metrics._pu import proxy_auc as proxy_auc
from vqpu.metrics._pu import pu_average_precision_score as pu_average_precision_score
from vqpu.metrics._pu import pu_f1_score as pu_f1_score
from vqpu.metrics._pu import pu_precision_score as pu_precision_score
from vqpu.metrics._pu import pu_recall_score as pu_recall_score
from vqpu.metrics._pu import pu_roc_auc_score as pu_roc_auc_score
from vqpu.metrics._pu import pu_zero_one_risk as pu_zero_one_risk
from vqpu.metrics._selection import PU_SCORERS as PU_SCORERS
from vqpu.metrics._selection import PUStratifiedKFold as PUStratifiedKFold
from vqpu.metrics._selection import make_pu_scorer as make_pu_scorer
from vqpu.metrics._truth import TruthScores as TruthScores
from vqpu.metrics._truth import alpha_error as alpha_error
from vqpu.metrics._truth import expected_calibration_error as expected_calibration_error
from vqpu.metrics._truth import score_with_truth as score_with_truth
