"""Experiments: the only room where estimators meet the truth."""

from vqpu.experiments._demo import run_demo as run_demo
from vqpu.experiments._records import environment as environment
from vqpu.experiments._records import read_records as read_records
from vqpu.experiments._records import run_missing as run_missing
from vqpu.experiments._records import write_json as write_json
from vqpu.experiments._records import write_summary as write_summary
from vqpu.experiments._runs import METHODS as METHODS
from vqpu.experiments._runs import RAISED_BY_TRIED as RAISED_BY_TRIED
from vqpu.experiments._runs import Problem as Problem
from vqpu.experiments._runs import make_problem as make_problem
from vqpu.experiments._runs import run_method as run_method
from vqpu.experiments._runs import set_threads as set_threads
from vqpu.experiments._tables import TABLES as TABLES
from vqpu.experiments._tables import make_table as make_table
