"""The layout of the arrays of linear models.

A model is four arrays: ``f`` (float64: parameters and sums, then passing work, then what is kept
per ticket), ``n`` (int64: the counters of ``slots.ints`` and the table of tickets), ``c`` (int64:
one row of narrow numbers per coordinate) and ``pool`` (float64: the nonzeros of open tickets).
"""

from __future__ import annotations

# Slots of ``code``.
LOSS = 0  # which loss; ``losses`` gives the numbers
LOGISTIC = 4  # the one whose base counts positives that are still pending
SILENT = 1  # 1: silence is a label, which is learned at once
TIMED = 2  # 1: tickets have deadlines
SLOTS = 3

SCALES = 4  # experts that step at a scale a_k
COIN = SCALES  # one more bets coins, ...
# and one has the mean of the weights of a scale.
EXPERTS = SCALES + 2
ENERGIES = 3  # the first two scales share theirs
TOGETHER = 4  # entries of a row that are taken together, and ...
SPARE = TOGETHER - 1  # ... coordinates behind all others that fill them up; see ``together``
ENDOWMENT = 0.25  # what the coin starts with, as a part of S

# ``f``
TAU = 0  # level of the quantile
DELTA = 1  # where Huber's loss turns linear
L1 = 2
L2 = 3
COUNT = 4  # N: labels so far, each as often as it counts
MEAN = 5
SPREAD = 6  # sum of weight times squared distance from the mean
LOW = 7  # smallest label, and ...
HIGH = 8  # ... largest, as they were learned
SUM = 9
BASE = 10  # what every expert adds its weights to
SIZE = 11  # S: the unit of predictions; 0 while nothing can be learned
FLOOR = 12  # issued predictions of experts are clipped to [FLOOR, CEILING]
CEILING = 13
LARGEST = 14  # B: largest regret of an expert in a single round
LOST = 15  # sum of weight times loss of the mixture as issued
SHARE = 16  # v: weights of the experts
REGRET = 22  # R
SQUARES = 28  # Q
SILENCE = 34  # label of a ticket that nothing was heard of
DEADLINE = 35  # how long after its prediction a ticket is due
CLOCK = 36  # latest time that was told, or predictions so far
OFFSET = 37  # what predictions are moved towards, or by, while labels are censored ...
SHRINKAGE = 38  # ... and how much of the distance is left; see ``censoring``
SINCE = 39  # the first ticket after the first label; infinity before
NEXT_UPDATE = 40  # predictions after which these, or PENDING_POSITIVES, are computed again
CHARGED = 41  # the first ticket that experts are weighed by
LABELS = 42  # tickets with a label, each counted once
TAMED = 43  # labels that were not learned as far out as they are; see ``taming``
AGED = 44  # sum of their ages, where silence is no label; see ``ipcw``
SCORED = 45  # sum of the weights of losses
EARLIER = 46  # sum of the residuals of tickets before SINCE; see ``censoring``
FIRST = 47  # the first labels, and how often each counts; see ``slips``
FIRST_LABELS = 5
KINDS = 57  # labels that differ from each other; one more than MOST_KINDS for all above
OF_KINDS = 58  # of each: the label, how many came, sum of their ages, the largest
OF_KIND = 4
MOST_KINDS = 10
AGES = OF_KINDS + OF_KIND * MOST_KINDS
# By age: labels that came (see ``waiting``), first labels of tickets since SINCE, and the sum of
# their residuals. Where silence is a label, LABELLED counts corrections.
CAME, LABELLED, RESIDUALS = range(3)
BY_AGE = 3
BUCKETS = 160
# How far corrections that are still to come will move SUM, where silence is a label.
PENDING_POSITIVES = AGES + BY_AGE * BUCKETS
HEADER = PENDING_POSITIVES + 1

# Passing work: five numbers of each entry, see ``together``, and what ``peek`` keeps behind them.
WORK_AT = -HEADER % 8  # on a cache line
OF_ENTRY = 5 + SCALES
OF_ROW = WORK_AT + 5 * 3 * TOGETHER

# n[GIVES_UP]: no; by the ages of labels so far; after a fixed wait w, PATIENCE being w^2.
NEVER, BY_AGES, AFTER = range(3)

# A row of ``c``: 64 bytes, one line of a cache. Words of 32 bits (see ``kernels.narrow``).
CENTRE = 0  # standardiser: mean of the values seen, 48 bits of a float64; 16 bits of STAKE
SEEN = 2  # how many values, a count
VARIANCE = 3  # and their variance
OPEN = 4  # sum of |x| over open tickets, a count of 1 / GRAINS
FRACTION = 5  # the coin bets this part of what it has: theta / (G + L)
WEALTH = 6  # V: what it has, over L
TURNOVER = 7  # G: sum of the sizes of its gradients
WEIGHT = 8  # w_k
AVERAGE = 12  # mean of w_3
ENERGY = 13  # A
WORDS = 16
ROW = WORDS // 2  # ints of 64 bits
ISSUE_CHANGES = 3  # of them, the first, change when a row is entered
# The ints that these words begin.
CENTRE_AT, OPEN_AT, WEIGHT_AT, AVERAGE_AT = CENTRE // 2, OPEN // 2, WEIGHT // 2, AVERAGE // 2
GRAINS = 1024  # to 1

# ``kept``: what a ticket remembers. A pair of the pool is a coordinate and its standardised value.
START = 0  # first pair in the pool
PAIRS = 1
ISSUED = 2  # predictions of the experts
MIXTURE = 8  # how they were mixed
SHOWN = 9  # the prediction itself
LABEL = 10  # the label so far; NaN when there is none
LEARNED = 11  # what was learned of it: the label itself, unless it is far from all others
DUE = 12  # when the label so far becomes the last word
KEEP = 13

# Numbers beyond these could overflow.
HUGE_VALUE = 1e100
HUGE_LABEL = 1e50
HUGE_WEIGHT = 1e15
