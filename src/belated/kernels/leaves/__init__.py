"""How leaves are compiled: from their source to what LLVM reads, without numba's front end.

Leaves are written in a small part of Python: numbers, vectors and named tuples, ``if``, ``while``,
``for`` over a range, and calls of other leaves. A leaf is compiled for given kinds of arguments, so
the kind of everything in it is known when it is reached, and it can be emitted at once. numba goes
over a function a dozen times, which took two thirds of a cold start.

``trees`` reads a source, ``values`` says what stands for a value, ``statements`` goes through a
body with ``expressions`` and ``arithmetic``, ``calls`` makes leaves known to each other and to
numba, which still compiles entries, and ``library`` keeps what was emitted.
"""
