"""Experiments: the paper's tables and figures and the studies behind the defaults, not shipped.

``python -m experiments NAME`` makes the runs of an item that are not there yet, each a record
``results/ITEM/RUN.json``, then its summary from the records alone. ``items/`` has the paper's items
(settings in ``paper/``), ``studies/`` the accuracy studies; ``registry.py`` lists both. This is the
only place where estimators meet the truth.
"""
