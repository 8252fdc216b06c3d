"""The arithmetic of linear models, intervals and choosers, and the only importer of numba.

Plain scalar-loop functions, the *leaves*, work on arrays; ``entries`` of each kind of model builds
``predict``, ``observe`` and others out of them. See docs/kernels.md.

Rules: no fastmath, fixed order of summation, only + - * / and square roots (and ``exact``). So live
calls, whole logs and the interpreted source agree bit for bit.
"""
