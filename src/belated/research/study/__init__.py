"""Experiments that can be rerun: a plan of cells, a row per cell, a page that says what they show.

``belated study NAME`` runs one. A study knows its question, its cells, how to run one and how to
read the rows; everything else is the same for all: ``rows`` keeps results on disk, so that an
interrupted study goes on where it stopped, ``belated.engine`` spreads the cells, ``runner`` ties
it together.
"""
