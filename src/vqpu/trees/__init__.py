"""Boosted trees as plain arrays: growing them, checking them, scoring with them (no torch)."""

from vqpu.trees._arrays import TreeArrays as TreeArrays
from vqpu.trees._arrays import TreeSizes as TreeSizes
from vqpu.trees._arrays import blank_trees as blank_trees
from vqpu.trees._arrays import check_trees as check_trees
from vqpu.trees._arrays import mean_of_trees as mean_of_trees
from vqpu.trees._growing import Binned as Binned
from vqpu.trees._growing import Growth as Growth
from vqpu.trees._growing import GrowthSettings as GrowthSettings
from vqpu.trees._growing import Task as Task
from vqpu.trees._growing import arrays_of_texts as arrays_of_texts
from vqpu.trees._scoring import TreeScorer as TreeScorer
