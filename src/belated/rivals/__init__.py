"""50 published methods behind the same two events, all but six for late feedback.

``docs/rivals.md`` lists them with what each must be told and what it promises.
"""

from __future__ import annotations

from belated.rivals.arms import (
    AnytimeExp3,
    BankerSFTINF,
    BankerTINF,
    DelayedExp3,
    MasoudianZimmertSeldin,
    SkippingExp3,
    ZimmertSeldin,
)
from belated.rivals.bandit import (
    DFTBL,
    GOLD,
    AgarwalDekelXiao,
    Bistritz,
    BistritzDoubling,
    DFTBLStronglyConvex,
    DOGDSCManyPoint,
    DOGDSCTwoPoint,
    Flaxman,
    Shamir,
)
from belated.rivals.base import Rival
from belated.rivals.copies import BOLD, WeinbergerOrdentlich
from belated.rivals.delayed_vaw import DelayedVAW
from belated.rivals.descent import (
    DMD,
    DOGDSC,
    DOOMD,
    SDMD,
    SOLID,
    AdaDelay,
    AdaGrad,
    AdaptiveRevision,
    DelayAdaptiveSGD,
    DelayedOGD,
    HazanAgarwalKale,
    KoloskovaStichJaggi,
    LangfordSmolaZinkevich,
    MildOGD,
    QuanrudKhashabi,
    QuanrudKhashabiDoubling,
    Ringmaster,
    Zinkevich,
)
from belated.rivals.experts import DORM, DUB, AdaHedgeD, DORMPlus, LearnedHints
from belated.rivals.leader import (
    FTDRL,
    ODFTRL,
    WOFTRL,
    DelayedDualAveraging,
    DelayedFrankWolfe,
    DelayedFrankWolfeStronglyConvex,
    QiuEspositoZhang,
)
from belated.rivals.matrices import DelayedONS

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
