"""Which slots of ``code`` the larger leaves look at; see ``choices.only``."""

from __future__ import annotations

from belated.kernels.choices import only
from belated.kernels.slots import code as C

of_all = only(*range(C.SLOTS))  # what comes after the slots is a stamp, and none of their business
of_answer = only(C.REDUCTION, C.CHART, C.SMOOTHING, C.BASELINE)
of_norm = only(C.BASE)
of_set = only(C.DOMAIN)
of_chart = only(C.CHART)
of_lags = only(C.LAGS)
of_wrapper = only(C.WRAPPER, C.WEIGHED, C.BASELINE)
of_rate = only(C.RATE, C.REDUCTION, C.SMOOTHING, C.WEIGHED)
of_tracking = only(C.WEIGHED, C.BASELINE, C.LAGS)
of_step = only(C.BASE, C.DOMAIN)
