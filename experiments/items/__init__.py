"""The paper, reproduced: every table and figure by one command, made from records of runs."""

from experiments.items._items import ITEMS as ITEMS
from experiments.items._items import PROFILES as PROFILES
from experiments.items._items import ItemSettings as ItemSettings
from experiments.items._items import Record as Record
from experiments.items._items import RenderedItem as RenderedItem
from experiments.items._items import RunResult as RunResult
from experiments.items._items import load_item as load_item
from experiments.items._items import runs_of as runs_of
from experiments.items._runner import Request as Request
from experiments.items._runner import check_item as check_item
from experiments.items._runner import read_item as read_item
from experiments.items._runner import run_item as run_item
from experiments.items._runner import show_item as show_item
from experiments.items._runner import split_request as split_request
from experiments.items._settings import read_expected as read_expected
from experiments.items._settings import read_settings as read_settings
