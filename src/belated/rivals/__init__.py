"""50 published methods that learn through the same two events, all but six for late feedback.

``docs/rivals.md`` lists them with the facts that each must be told, its guarantee and its paper.

Docstrings use these symbols: T rounds, k dimensions or arms; K the set, Pi its projection, D its
diameter, R and r its outer and inner radius; G (``lipschitz``) bounds gradients, M (``magnitude``)
values, lambda is the ``curvature``. d_t is the delay of round t, d_tot the sum of all, d_max the
largest; sigma_t counts the tickets open at play t, sigma_max is the most at once; d*_n counts the
arrivals between the play and the arrival of the n-th answer.
"""

from __future__ import annotations

from belated.rivals.arms import AnytimeExp3 as AnytimeExp3
from belated.rivals.arms import BankerSFTINF as BankerSFTINF
from belated.rivals.arms import BankerTINF as BankerTINF
from belated.rivals.arms import DelayedExp3 as DelayedExp3
from belated.rivals.arms import MasoudianZimmertSeldin as MasoudianZimmertSeldin
from belated.rivals.arms import SkippingExp3 as SkippingExp3
from belated.rivals.arms import ZimmertSeldin as ZimmertSeldin
from belated.rivals.base import Rival as Rival
from belated.rivals.convex_bandits import DFTBL as DFTBL
from belated.rivals.convex_bandits import GOLD as GOLD
from belated.rivals.convex_bandits import AgarwalDekelXiao as AgarwalDekelXiao
from belated.rivals.convex_bandits import Bistritz as Bistritz
from belated.rivals.convex_bandits import BistritzDoubling as BistritzDoubling
from belated.rivals.convex_bandits import DFTBLStronglyConvex as DFTBLStronglyConvex
from belated.rivals.convex_bandits import DOGDSCManyPoint as DOGDSCManyPoint
from belated.rivals.convex_bandits import DOGDSCTwoPoint as DOGDSCTwoPoint
from belated.rivals.convex_bandits import Flaxman as Flaxman
from belated.rivals.convex_bandits import Shamir as Shamir
from belated.rivals.copies import BOLD as BOLD
from belated.rivals.copies import WeinbergerOrdentlich as WeinbergerOrdentlich
from belated.rivals.delayed_vaw import DelayedVAW as DelayedVAW
from belated.rivals.descent import DMD as DMD
from belated.rivals.descent import DOGDSC as DOGDSC
from belated.rivals.descent import DOOMD as DOOMD
from belated.rivals.descent import SDMD as SDMD
from belated.rivals.descent import SOLID as SOLID
from belated.rivals.descent import AdaDelay as AdaDelay
from belated.rivals.descent import AdaGrad as AdaGrad
from belated.rivals.descent import AdaptiveRevision as AdaptiveRevision
from belated.rivals.descent import DelayAdaptiveSGD as DelayAdaptiveSGD
from belated.rivals.descent import DelayedOGD as DelayedOGD
from belated.rivals.descent import HazanAgarwalKale as HazanAgarwalKale
from belated.rivals.descent import KoloskovaStichJaggi as KoloskovaStichJaggi
from belated.rivals.descent import LangfordSmolaZinkevich as LangfordSmolaZinkevich
from belated.rivals.descent import MildOGD as MildOGD
from belated.rivals.descent import QuanrudKhashabi as QuanrudKhashabi
from belated.rivals.descent import QuanrudKhashabiDoubling as QuanrudKhashabiDoubling
from belated.rivals.descent import Ringmaster as Ringmaster
from belated.rivals.descent import Zinkevich as Zinkevich
from belated.rivals.experts import DORM as DORM
from belated.rivals.experts import DUB as DUB
from belated.rivals.experts import AdaHedgeD as AdaHedgeD
from belated.rivals.experts import DORMPlus as DORMPlus
from belated.rivals.experts import LearnedHints as LearnedHints
from belated.rivals.leader import FTDRL as FTDRL
from belated.rivals.leader import ODFTRL as ODFTRL
from belated.rivals.leader import WOFTRL as WOFTRL
from belated.rivals.leader import DelayedDualAveraging as DelayedDualAveraging
from belated.rivals.leader import DelayedFrankWolfe as DelayedFrankWolfe
from belated.rivals.leader import DelayedFrankWolfeStronglyConvex as DelayedFrankWolfeStronglyConvex
from belated.rivals.leader import DelayedONS as DelayedONS
from belated.rivals.leader import QiuEspositoZhang as QiuEspositoZhang

__all__ = sorted(name for name, thing in vars().items() if isinstance(thing, type))
