"""The only place where the algorithms' arithmetic lives, and the only importer of numba.

A learner is two arrays: ``f`` (float64: parameters, then state) and ``n`` (int64: counters, then
the table of open tickets). Plain scalar-loop functions, the *leaves*, work on them; ``entries``
builds ``predict``, ``observe``, ``cancel`` and ``run`` out of them for one composition.

================  ===================================================================
``layout``        codes of the parts, and where everything sits in ``f`` and ``n``
``state``         the same, with names, as the leaves take it
``jit``           how leaves and entries are compiled and cached
``exact``         ln, exp and cube root with the same bits on every machine
``tickets``       the table of open tickets, and all counting of delays
``directions``    exploration directions from a counter-based generator
``schedules``     exploration radii and step sizes
``sets``          projections
``bases``         one step of P-FTRL, of mirror descent and of dual averaging
``past``          points of the past, O(log) of them
``leader``        one step of the leader on quadratics
``portfolio``     one step of several bases, and of the weights over them
``steps``         which of these steps and sizes a composition takes
``feedback``      plays out of points, costs out of answers
``events``        one prediction, one observation, one cancellation
``methods``       the same events for published methods
``entries``       compiled entries for a composition
``losses``        rounds, values and gradients of losses
``loss_entries``  compiled entries for a family of losses and a source
``games``         whole games: a learner and losses in one loop
``game_entries``  compiled entries for a composition and losses
``linear``        linear models with late labels; ``linear_layout``, ``linear_losses``
                  and ``linear_entries`` belong to it, ``prefetch`` asks for memory ahead
================  ===================================================================

Rules: no fastmath, fixed order of summation, only + - * / and square roots (and ``exact``). So live
calls, whole runs and the interpreted source agree bit for bit.
"""
