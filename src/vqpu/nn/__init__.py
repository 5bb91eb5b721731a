"""Torch modules and pure functions on tensors; nothing here knows what a label is."""

from vqpu.nn._augment import Augmentation as Augmentation
from vqpu.nn._codebook import Codebook as Codebook
from vqpu.nn._codebook import nearest_code as nearest_code
from vqpu.nn._codebook import nearest_code_pruned as nearest_code_pruned
from vqpu.nn._codebook import project_on_anchors as project_on_anchors
from vqpu.nn._codebook import straight_through as straight_through
from vqpu.nn._decoders import ConvDecoder as ConvDecoder
from vqpu.nn._decoders import MLPDecoder as MLPDecoder
from vqpu.nn._encoders import ENCODERS as ENCODERS
from vqpu.nn._encoders import ConvEncoder as ConvEncoder
from vqpu.nn._encoders import EncoderEnsemble as EncoderEnsemble
from vqpu.nn._encoders import InputNormalizer as InputNormalizer
from vqpu.nn._encoders import MLPEncoder as MLPEncoder
from vqpu.nn._encoders import evaluating as evaluating
from vqpu.nn._encoders import fold_batch_norm as fold_batch_norm
from vqpu.nn._gan import Discriminator as Discriminator
from vqpu.nn._gan import Generator as Generator
from vqpu.nn._gan_losses import dgan_discriminator_loss as dgan_discriminator_loss
from vqpu.nn._gan_losses import discriminator_loss as discriminator_loss
from vqpu.nn._gan_losses import observed_generator_loss as observed_generator_loss
from vqpu.nn._gan_losses import towards_one as towards_one
from vqpu.nn._losses import codebook_loss as codebook_loss
from vqpu.nn._losses import commitment_loss as commitment_loss
from vqpu.nn._losses import equation_1 as equation_1
from vqpu.nn._losses import gaussian_kl_loss as gaussian_kl_loss
from vqpu.nn._losses import target_loss as target_loss
