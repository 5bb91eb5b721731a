"""Data sets in their official formats, and PU samples made of fully labelled data."""

from vqpu.datasets._pu import PUSample as PUSample
from vqpu.datasets._pu import make_pu as make_pu
from vqpu.datasets._readers import TASKS as TASKS
from vqpu.datasets._readers import load_task as load_task
