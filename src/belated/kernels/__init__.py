"""The only place where the algorithms' arithmetic lives, and the only importer of numba.

A learner is two arrays: ``f`` (float64: parameters, then state) and ``n`` (int64: counters, then
the table of open tickets). Plain scalar-loop functions, the *leaves*, work on them; ``entries``
builds ``predict``, ``observe``, ``cancel`` and ``run`` out of them for one composition.

==============  ===================================================================
``slots``       names for every slot of the arrays, and for the codes of the parts
``parts``       tables in which the parts declare themselves
``choices``     choosing leaves by code while compiling, or by number while running
``jit``         how leaves and entries are compiled and cached; ``stamps``: by which
                sources they are looked up; ``announced``: and how that is said
``leaves``      emits leaves: from their source to what LLVM reads
``codes``       the type of a code, for the compiler
``blas``        what numba need not look for
``vectors``     what leaves see of an array; ``fours``: four floats of it at a time
``exact``       ln, exp and cube root with the same bits on every machine
``tickets``     the table of open tickets, and all counting of delays
``directions``  exploration directions from a counter-based generator
``narrow``      numbers in half the room; ``zeros``: with how many zeros one ends
``prefetch``    asks for memory ahead
``thinning``    the numbers of a capacity
``learners``    steps, sets, rates, feedback and events of learners
``linear``      linear models with late labels
``decisions``   what each action is worth, probabilities, the pick
``knobs``       settings of a live system
``games``       losses, and whole games: a learner and losses in one loop
==============  ===================================================================

Rules: no fastmath, fixed order of summation, only + - * / and square roots (and ``exact``). So live
calls, whole runs and the interpreted source agree bit for bit.
"""
