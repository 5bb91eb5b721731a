"""A person looks at the ranked list: queues, a page in the browser, decisions on disk, an audit.

``vqpu review MODEL INPUT`` opens the page (extra ``vqpu[review]``). What was decided is read by
:func:`read_decisions`; :func:`estimate_audit` says how good the list is. Importing this package
loads no server.
"""

from vqpu.files._decisions import Decision as Decision
from vqpu.files._decisions import read_decisions as read_decisions
from vqpu.review._audit import AuditEstimate as AuditEstimate
from vqpu.review._audit import Interval as Interval
from vqpu.review._audit import estimate_audit as estimate_audit
from vqpu.review._log import DecisionLog as DecisionLog
