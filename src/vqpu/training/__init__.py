"""The training loop and its parts: feeds, weight averaging, stopping, history, progress, stages."""

from vqpu.training._feed import Feed as Feed
from vqpu.training._feed import encode_batches as encode_batches
from vqpu.training._feed import make_feeds as make_feeds
from vqpu.training._history import Callback as Callback
from vqpu.training._history import CheckResult as CheckResult
from vqpu.training._history import History as History
from vqpu.training._history import Row as Row
from vqpu.training._history import RowMaker as RowMaker
from vqpu.training._loop import SCHEDULES as SCHEDULES
from vqpu.training._loop import TrainingResult as TrainingResult
from vqpu.training._loop import descend as descend
from vqpu.training._loop import take_step as take_step
from vqpu.training._optimizers import OPTIMIZERS as OPTIMIZERS
from vqpu.training._optimizers import WeightAverage as WeightAverage
from vqpu.training._optimizers import resolve_optimizer as resolve_optimizer
from vqpu.training._progress import progress_reporter as progress_reporter
from vqpu.training._snapshots import Changing as Changing
from vqpu.training._stage import FitContext as FitContext
from vqpu.training._stage import Stage as Stage
from vqpu.training._stage import plan_budget as plan_budget
from vqpu.training._stage import run_stage as run_stage
from vqpu.training._stopping import SIGNALS as SIGNALS
from vqpu.training._stopping import FixedBudget as FixedBudget
from vqpu.training._stopping import StoppingRule as StoppingRule
from vqpu.training._stopping import holdout_auc as holdout_auc
from vqpu.training._stopping import separation as separation
