"""One page about a model: what was fitted, whether it seems to have worked, and why."""

from vqpu.report._page import make_report as make_report
from vqpu.report._page import write_report as write_report
