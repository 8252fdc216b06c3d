"""Kernels of learners: the two events, and every step between them."""
