"""From users' files to a model, and from a model to answers: what the commands stand on."""

from vqpu.serving._comparison import METHODS as METHODS
from vqpu.serving._comparison import Comparison as Comparison
from vqpu.serving._comparison import compare as compare
from vqpu.serving._evaluation import evaluate as evaluate
from vqpu.serving._evaluation import evaluate_file as evaluate_file
from vqpu.serving._fitting import fit_files as fit_files
from vqpu.serving._input_contract import CONTRACT_FILE as CONTRACT_FILE
from vqpu.serving._input_contract import InputContract as InputContract
from vqpu.serving._input_contract import open_input as open_input
from vqpu.serving._inspection import inspect_model as inspect_model
from vqpu.serving._models import OpenedModel as OpenedModel
from vqpu.serving._models import open_model as open_model
from vqpu.serving._prediction import predict_file as predict_file
from vqpu.serving._prediction import rank_file as rank_file
from vqpu.serving._ranking import Ranked as Ranked
from vqpu.serving._ranking import draw_sheet as draw_sheet
from vqpu.serving._scoring import Answers as Answers
from vqpu.serving._scoring import answers_to as answers_to
from vqpu.serving._settings import FitSettings as FitSettings
from vqpu.serving._settings import Sources as Sources
from vqpu.serving._settings import fit_settings as fit_settings
from vqpu.serving._settings import parse_assignments as parse_assignments
from vqpu.serving._shards import Shard as Shard
from vqpu.serving._training_data import TrainingData as TrainingData
from vqpu.serving._training_data import read_sources as read_sources
from vqpu.serving._writers import writing as writing
