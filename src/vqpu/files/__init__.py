"""Users' files in, predictions out.

For ``fit``, the ``read_`` functions give :class:`PUData`; for prediction, the ``iter_`` functions
give a stream of :class:`Chunk` in bounded memory. What the commands do with them is in the modules
beside; importing this package loads none of torch, scikit-learn and pyarrow.
"""

from vqpu.base.columns import Column as Column
from vqpu.base.columns import ColumnPlan as ColumnPlan
from vqpu.base.columns import Notes as Notes
from vqpu.files.readers._arrays import iter_array as iter_array
from vqpu.files.readers._arrays import open_npy as open_npy
from vqpu.files.readers._arrays import read_array_file as read_array_file
from vqpu.files.readers._arrays import read_arrays as read_arrays
from vqpu.files.readers._arrays import read_npz as read_npz
from vqpu.files.readers._imagelist import count_unlabeled_files as count_unlabeled_files
from vqpu.files.readers._imagelist import find_images as find_images
from vqpu.files.readers._imagelist import read_label_file as read_label_file
from vqpu.files.readers._images import iter_images as iter_images
from vqpu.files.readers._images import read_image_folders as read_image_folders
from vqpu.files.readers._images import read_labeled_images as read_labeled_images
from vqpu.files.readers._images import show_progress as show_progress
from vqpu.files.readers._samples import Broken as Broken
from vqpu.files.readers._samples import Chunk as Chunk
from vqpu.files.readers._samples import KeptColumn as KeptColumn
from vqpu.files.readers._samples import PUData as PUData
from vqpu.files.readers._samples import kind_of as kind_of
from vqpu.files.readers._tables import count_unlabeled as count_unlabeled
from vqpu.files.readers._tables import iter_table as iter_table
from vqpu.files.readers._tables import read_table as read_table
from vqpu.files.readers._tables import read_tables as read_tables
from vqpu.files.readers._tables import table_columns as table_columns

from vqpu.files._input_format import feature_extras as feature_extras  # isort: skip  # needs the names above
