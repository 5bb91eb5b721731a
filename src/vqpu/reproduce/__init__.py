"""The paper, reproduced: every table and figure by one command, made from records of runs."""

from vqpu.reproduce._items import ITEMS as ITEMS
from vqpu.reproduce._items import PROFILES as PROFILES
from vqpu.reproduce._items import ItemSettings as ItemSettings
from vqpu.reproduce._items import Outcome as Outcome
from vqpu.reproduce._items import Record as Record
from vqpu.reproduce._items import Shown as Shown
from vqpu.reproduce._items import load_item as load_item
from vqpu.reproduce._items import runs_of as runs_of
from vqpu.reproduce._runner import Request as Request
from vqpu.reproduce._runner import check_item as check_item
from vqpu.reproduce._runner import read_item as read_item
from vqpu.reproduce._runner import run_item as run_item
from vqpu.reproduce._runner import show_item as show_item
from vqpu.reproduce._runner import split_request as split_request
from vqpu.reproduce._settings import read_expected as read_expected
from vqpu.reproduce._settings import read_settings as read_settings
