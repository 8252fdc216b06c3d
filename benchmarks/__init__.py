"""Benchmarks: every figure is a ratio to a floor or peer measured in the same run.

``python -m benchmarks`` runs all of them, prints a table and saves ``benchmarks/results.json``.
"""
