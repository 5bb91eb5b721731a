"""Data sets in their official formats, and PU samples made of fully labelled data."""

from vqpu.datasets._catalogue import DATASETS as DATASETS
from vqpu.datasets._fetch import fetch_dataset as fetch_dataset
from vqpu.datasets._idx import read_idx as read_idx
from vqpu.datasets._places import data_directory as data_directory
from vqpu.datasets._presence import check_dataset as check_dataset
from vqpu.datasets._presence import is_present as is_present
from vqpu.datasets._pu import PUSample as PUSample
from vqpu.datasets._pu import make_pu as make_pu
from vqpu.datasets._tasks import TASKS as TASKS
from vqpu.datasets._tasks import find_task as find_task
from vqpu.datasets._tasks import load_task as load_task
