"""50 published methods behind the same two events, all but six for late feedback.

``docs/rivals.md`` lists them with what each must be told and what it promises.
"""

from __future__ import annotations

from belated.rivals.ada_delay import AdaDelay
from belated.rivals.ada_grad import AdaGrad
from belated.rivals.ada_hedge_d import AdaHedgeD
from belated.rivals.adaptive_revision import AdaptiveRevision
from belated.rivals.agarwal_dekel_xiao import AgarwalDekelXiao
from belated.rivals.banker import BankerSFTINF, BankerTINF
from belated.rivals.base import Rival
from belated.rivals.bistritz import Bistritz, BistritzDoubling
from belated.rivals.bold import BOLD
from belated.rivals.delay_adaptive_sgd import DelayAdaptiveSGD
from belated.rivals.delayed_ogd import DelayedOGD
from belated.rivals.delayed_ons import DelayedONS
from belated.rivals.delayed_vaw import DelayedVAW
from belated.rivals.dftbl import DFTBL, DFTBLStronglyConvex
from belated.rivals.dmd import DMD, SDMD
from belated.rivals.dogd_sc import DOGDSC, DOGDSCManyPoint, DOGDSCTwoPoint
from belated.rivals.doomd import DOOMD
from belated.rivals.dorm import DORM, DORMPlus
from belated.rivals.dual_averaging import DelayedDualAveraging
from belated.rivals.dub import DUB
from belated.rivals.exp3 import AnytimeExp3, DelayedExp3, SkippingExp3
from belated.rivals.flaxman import Flaxman
from belated.rivals.frank_wolfe import DelayedFrankWolfe, DelayedFrankWolfeStronglyConvex
from belated.rivals.ftdrl import FTDRL
from belated.rivals.gold import GOLD
from belated.rivals.hazan_agarwal_kale import HazanAgarwalKale
from belated.rivals.koloskova_stich_jaggi import KoloskovaStichJaggi
from belated.rivals.langford_smola_zinkevich import LangfordSmolaZinkevich
from belated.rivals.learned_hints import LearnedHints
from belated.rivals.masoudian_zimmert_seldin import MasoudianZimmertSeldin
from belated.rivals.mild_ogd import MildOGD
from belated.rivals.odftrl import ODFTRL
from belated.rivals.qiu_esposito_zhang import QiuEspositoZhang
from belated.rivals.quanrud_khashabi import QuanrudKhashabi, QuanrudKhashabiDoubling
from belated.rivals.ringmaster import Ringmaster
from belated.rivals.shamir import Shamir
from belated.rivals.solid import SOLID
from belated.rivals.weinberger_ordentlich import WeinbergerOrdentlich
from belated.rivals.woftrl import WOFTRL
from belated.rivals.zimmert_seldin import ZimmertSeldin
from belated.rivals.zinkevich import Zinkevich

__all__ = [
    "BOLD",
    "DFTBL",
    "DMD",
    "DOGDSC",
    "DOOMD",
    "DORM",
    "DUB",
    "FTDRL",
    "GOLD",
    "ODFTRL",
    "SDMD",
    "SOLID",
    "WOFTRL",
    "AdaDelay",
    "AdaGrad",
    "AdaHedgeD",
    "AdaptiveRevision",
    "AgarwalDekelXiao",
    "AnytimeExp3",
    "BankerSFTINF",
    "BankerTINF",
    "Bistritz",
    "BistritzDoubling",
    "DFTBLStronglyConvex",
    "DOGDSCManyPoint",
    "DOGDSCTwoPoint",
    "DORMPlus",
    "DelayAdaptiveSGD",
    "DelayedDualAveraging",
    "DelayedExp3",
    "DelayedFrankWolfe",
    "DelayedFrankWolfeStronglyConvex",
    "DelayedOGD",
    "DelayedONS",
    "DelayedVAW",
    "Flaxman",
    "HazanAgarwalKale",
    "KoloskovaStichJaggi",
    "LangfordSmolaZinkevich",
    "LearnedHints",
    "MasoudianZimmertSeldin",
    "MildOGD",
    "QiuEspositoZhang",
    "QuanrudKhashabi",
    "QuanrudKhashabiDoubling",
    "Ringmaster",
    "Rival",
    "Shamir",
    "SkippingExp3",
    "WeinbergerOrdentlich",
    "ZimmertSeldin",
    "Zinkevich",
]
