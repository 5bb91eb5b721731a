"""Experiments: the only room where estimators meet the truth."""

from vqpu.experiments._demo import run_demo as run_demo
from vqpu.experiments._judged import JudgedRun as JudgedRun
from vqpu.experiments._judged import run_judged as run_judged
from vqpu.experiments._records import environment as environment
from vqpu.experiments._records import read_records as read_records
from vqpu.experiments._records import run_jobs as run_jobs
from vqpu.experiments._records import run_missing as run_missing
from vqpu.experiments._records import write_json as write_json
from vqpu.experiments._records import write_summary as write_summary
from vqpu.experiments._reduced import REDUCED_METHODS as REDUCED_METHODS
from vqpu.experiments._reduced import run_reduced as run_reduced
from vqpu.experiments._runs import METHODS as METHODS
from vqpu.experiments._runs import RAISED_BY_TRIED as RAISED_BY_TRIED
from vqpu.experiments._runs import Problem as Problem
from vqpu.experiments._runs import count_threads as count_threads
from vqpu.experiments._runs import fit_method as fit_method
from vqpu.experiments._runs import make_problem as make_problem
from vqpu.experiments._runs import run_method as run_method
from vqpu.experiments._runs import scores as scores
from vqpu.experiments._runs import set_threads as set_threads
from vqpu.experiments._tables import TABLES as TABLES
from vqpu.experiments._tables import make_table as make_table
from vqpu.experiments._variants import pooled_encoder as pooled_encoder
from vqpu.experiments._variants import varied_classifier as varied_classifier
