"""38 methods that learn through the same two events, all but six for late feedback.

``docs/rivals.md`` lists them with the facts that each must be told, its guarantee and its paper.

Docstrings use these symbols: T rounds, k dimensions or arms; K the set, Pi its projection, D its
diameter, R and r its outer and inner radius; G (``lipschitz``) bounds gradients, M (``magnitude``)
values, lambda is the ``curvature``. d_t is the delay of round t, d_tot the sum of all, d_max the
largest; sigma_t counts the tickets open at play t, sigma_max is the most at once; d*_n counts the
arrivals between the play and the arrival of the n-th answer.
"""

from __future__ import annotations

from belated.research.rivals.arms import BankerTINF as BankerTINF
from belated.research.rivals.arms import DelayedExp3 as DelayedExp3
from belated.research.rivals.arms import MasoudianZimmertSeldin as MasoudianZimmertSeldin
from belated.research.rivals.arms import SkippingExp3 as SkippingExp3
from belated.research.rivals.arms import ZimmertSeldin as ZimmertSeldin
from belated.research.rivals.base import Rival as Rival
from belated.research.rivals.choice import Suited as Suited
from belated.research.rivals.choice import suited as suited
from belated.research.rivals.convex_bandits import DFTBL as DFTBL
from belated.research.rivals.convex_bandits import GOLD as GOLD
from belated.research.rivals.convex_bandits import AgarwalDekelXiao as AgarwalDekelXiao
from belated.research.rivals.convex_bandits import Bistritz as Bistritz
from belated.research.rivals.convex_bandits import DFTBLStronglyConvex as DFTBLStronglyConvex
from belated.research.rivals.convex_bandits import DOGDSCManyPoint as DOGDSCManyPoint
from belated.research.rivals.convex_bandits import DOGDSCTwoPoint as DOGDSCTwoPoint
from belated.research.rivals.convex_bandits import Flaxman as Flaxman
from belated.research.rivals.convex_bandits import Shamir as Shamir
from belated.research.rivals.copies import BOLD as BOLD
from belated.research.rivals.copies import WeinbergerOrdentlich as WeinbergerOrdentlich
from belated.research.rivals.descent import DMD as DMD
from belated.research.rivals.descent import DOGDSC as DOGDSC
from belated.research.rivals.descent import SOLID as SOLID
from belated.research.rivals.descent import AdaDelay as AdaDelay
from belated.research.rivals.descent import AdaGrad as AdaGrad
from belated.research.rivals.descent import AdaptiveRevision as AdaptiveRevision
from belated.research.rivals.descent import DelayAdaptiveSGD as DelayAdaptiveSGD
from belated.research.rivals.descent import HazanAgarwalKale as HazanAgarwalKale
from belated.research.rivals.descent import LangfordSmolaZinkevich as LangfordSmolaZinkevich
from belated.research.rivals.descent import MildOGD as MildOGD
from belated.research.rivals.descent import QuanrudKhashabi as QuanrudKhashabi
from belated.research.rivals.descent import Ringmaster as Ringmaster
from belated.research.rivals.descent import Zinkevich as Zinkevich
from belated.research.rivals.experts import DORM as DORM
from belated.research.rivals.experts import AdaHedgeD as AdaHedgeD
from belated.research.rivals.leader import ODFTRL as ODFTRL
from belated.research.rivals.leader import WOFTRL as WOFTRL
from belated.research.rivals.leader import DelayedDualAveraging as DelayedDualAveraging
from belated.research.rivals.leader import DelayedFrankWolfe as DelayedFrankWolfe
from belated.research.rivals.leader import (
    DelayedFrankWolfeStronglyConvex as DelayedFrankWolfeStronglyConvex,
)
from belated.research.rivals.leader import DelayedONS as DelayedONS
from belated.research.rivals.leader import QiuEspositoZhang as QiuEspositoZhang

__all__ = [
    "suited",
    *sorted(name for name, thing in vars().items() if isinstance(thing, type)),
]
