"""Users' own data: folders of images, arrays and tables as samples, PU labels and names.

For ``fit``, the ``read_`` functions give :class:`PUData`; for prediction, the ``iter_`` functions
give a stream of :class:`Chunk` in bounded memory.
"""

from vqpu.inputs._arrays import iter_array as iter_array
from vqpu.inputs._arrays import open_npy as open_npy
from vqpu.inputs._arrays import read_array_file as read_array_file
from vqpu.inputs._arrays import read_arrays as read_arrays
from vqpu.inputs._arrays import read_npz as read_npz
from vqpu.inputs._imagelist import count_unlabeled_files as count_unlabeled_files
from vqpu.inputs._imagelist import find_images as find_images
from vqpu.inputs._imagelist import read_label_file as read_label_file
from vqpu.inputs._images import iter_images as iter_images
from vqpu.inputs._images import read_image_folders as read_image_folders
from vqpu.inputs._images import read_labeled_images as read_labeled_images
from vqpu.inputs._progress import show_progress as show_progress
from vqpu.inputs._samples import Broken as Broken
from vqpu.inputs._samples import Chunk as Chunk
from vqpu.inputs._samples import PUData as PUData
from vqpu.inputs._samples import kind_of as kind_of
from vqpu.inputs._schema import Column as Column
from vqpu.inputs._schema import TableSchema as TableSchema
from vqpu.inputs._tables import count_unlabeled as count_unlabeled
from vqpu.inputs._tables import iter_table as iter_table
from vqpu.inputs._tables import read_table as read_table
from vqpu.inputs._tables import read_tables as read_tables
from vqpu.inputs._tables import table_columns as table_columns
