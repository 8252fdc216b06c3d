"""Choosing among actions: rows of context and action, probabilities, the pick."""
