"""Kernels of linear models with late labels."""
