"""Features of pretrained networks: pictures and texts as vectors, extracted once.

An extractor is an ONNX file or a local Hugging Face directory (:func:`open_extractor`), or a
function of yours (:class:`FunctionExtractor`). :func:`extract` gives what ``fit`` takes;
:func:`fine_tune` lets a fit train a network's last layers as well.
"""

from vqpu.features._extraction import extract as extract
from vqpu.features._extractor import Extractor as Extractor
from vqpu.features._fine_tuning import FineTuning as FineTuning
from vqpu.features._fine_tuning import fine_tune as fine_tune
from vqpu.features._function import FunctionExtractor as FunctionExtractor
from vqpu.features._opening import open_extractor as open_extractor
from vqpu.features._record import ExtractorRecord as ExtractorRecord
from vqpu.features._record import ImageInput as ImageInput
from vqpu.features._record import TextInput as TextInput
