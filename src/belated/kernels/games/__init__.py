"""Kernels of losses, and of whole games."""
