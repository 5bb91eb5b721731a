"""Accuracy studies: which defaults are right, and what stands beside the paper's tables."""
