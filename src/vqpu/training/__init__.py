"""The training loop and its parts: batches, weight averaging, stopping, history, progress."""

from vqpu.base._batches import BalancedBatches as BalancedBatches
from vqpu.base._batches import PlainBatches as PlainBatches
from vqpu.base._split import CheckSample as CheckSample
from vqpu.base._split import Sets as Sets
from vqpu.base._split import Split as Split
from vqpu.base._split import draw_check_sample as draw_check_sample
from vqpu.base._split import split_holdout as split_holdout
from vqpu.training._averaging import WeightAverage as WeightAverage
from vqpu.training._history import History as History
from vqpu.training._loop import SCHEDULES as SCHEDULES
from vqpu.training._loop import Objective as Objective
from vqpu.training._loop import TrainingResult as TrainingResult
from vqpu.training._loop import descend as descend
from vqpu.training._loop import learning_rate_factor as learning_rate_factor
from vqpu.training._loop import take_step as take_step
from vqpu.training._loop import train as train
from vqpu.training._loop import train_with_checks as train_with_checks
from vqpu.training._progress import progress_reporter as progress_reporter
from vqpu.training._snapshots import Snapshots as Snapshots
from vqpu.training._stopping import SIGNALS as SIGNALS
from vqpu.training._stopping import FixedBudget as FixedBudget
from vqpu.training._stopping import StoppingRule as StoppingRule
from vqpu.training._stopping import holdout_auc as holdout_auc
from vqpu.training._stopping import separation as separation
