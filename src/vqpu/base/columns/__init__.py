"""How the columns of a table become numbers: guessed once, kept with the model, applied for ever.

One place for the command line, ``vqpu.files.read_table`` and data frames in Python. Works on Arrow
record batches; importing it loads neither pyarrow nor scikit-learn.
"""

from vqpu.base.columns._encoding import encode_batch as encode_batch
from vqpu.base.columns._fitting import BatchSource as BatchSource
from vqpu.base.columns._fitting import fit_plan as fit_plan
from vqpu.base.columns._frames import is_frame as is_frame
from vqpu.base.columns._frames import is_plain_frame as is_plain_frame
from vqpu.base.columns._notes import Notes as Notes
from vqpu.base.columns._plan import Column as Column
from vqpu.base.columns._plan import ColumnPlan as ColumnPlan
from vqpu.base.columns._rows import EncodedRows as EncodedRows
from vqpu.base.columns._wishes import Wishes as Wishes
