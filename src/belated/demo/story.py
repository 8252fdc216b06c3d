"""The story: the problem, a few live rounds, a long run with rivals, and the certificate."""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

import numpy as np

from belated._version import __version__
from belated.demo import race
from belated.demo.live_rounds import play_live, show_promise
from belated.demo.race import Run
from belated.demo.screen import Screen
from belated.demo.shop import LIPSCHITZ, PROMISES, Orders, orders
from belated.errors import BelatedError, MissingExtra

YEAR = 8760
"""Orders in the long run: one an hour for a year."""
QUARTER = 2190
"""The same with ``--fast``."""
LONGER = 240
"""Ten days, in rounds: a wait that suits this shop better than three days."""


def tell(out: TextIO, picture: Path, seed: int = 0, *, fast: bool = False) -> None:
    """Write the whole story to ``out``, and its picture to a file."""
    _check_folder(picture)
    screen = Screen(out)
    world = orders(QUARTER if fast else YEAR, seed)
    screen.title(f"belated {__version__}: online learning when the answers come late")
    _problem(screen)
    _live(screen, world)
    runs = _long_run(screen, world)
    _certificate(screen, runs, world)
    _draw(screen, picture, world, runs)


def _check_folder(picture: Path) -> None:
    """Fail before the work, not after it."""
    if not picture.parent.is_dir():
        raise BelatedError(
            f"cannot write {picture}: there is no folder {picture.parent}; "
            "create it, or give another path with --out"
        )


def _problem(screen: Screen) -> None:
    screen.say(
        """A shop promises a delivery time and a shipping cost for every order, now. The truth comes
        when the parcel is delivered and billed: days later, out of order, and sometimes never. The
        shop pays the absolute error of both numbers, measured in half-widths of what is possible,
        so the gradient of a loss is at most sqrt(2) long."""
    )
    screen.code(f"box = bl.Box(low={list(PROMISES.bounds[0])}, high={list(PROMISES.bounds[1])})")
    screen.code(f"problem = bl.Problem(box, lipschitz={LIPSCHITZ:.6g})")
    screen.code('spec = problem.learner("gradient", skip=True, rate="tight")')
    screen.code('print(problem.explain("gradient", skip=True, rate="tight"))')
    screen.show(race.PROBLEM.explain(feedback="gradient", skip=True, rate="tight"))


def _live(screen: Screen, world: Orders) -> None:
    screen.title("A few rounds, live")
    play_live(screen, world)


# ---- the long run ------------------------------------------------------------------------------


def _long_run(screen: Screen, world: Orders) -> dict[str, Run]:
    screen.title(f"{world.rounds:,} orders, one an hour")
    screen.say(_describe(world))
    found = race.race(world, lambda name: screen.progress(f"  playing: {name} ..."))
    screen.progress("")
    runs = {run.name: run for run in found}
    screen.show("\n".join(_table(world, runs)))
    screen.say(_who_wins(runs))
    screen.say(_what_rivals_did(world, runs))
    return runs


def _describe(world: Orders) -> str:
    timeline = world.timeline
    delays = timeline.delay[timeline.observed]
    median, high = np.quantile(delays, [0.5, 0.9], method="inverted_cdf")
    lost = 1.0 - float(timeline.observed.mean())
    return (
        f"An answer takes {median} rounds in the median, {high} or more for the slowest tenth and "
        f"{delays.max():,} at worst; {lost:.1%} never come. Slow parcels answer late. Five "
        "learners get the same orders; only their treatment of lateness differs."
    )


def _table(world: Orders, runs: dict[str, Run]) -> list[str]:
    """One line per learner, least regret first, then the best fixed promise."""
    lines = [f"{'learner':<34}{'loss':>10}{'regret':>10}{'answers used':>15}{'certificate':>14}"]
    for run in sorted(runs.values(), key=lambda run: run.final_regret):
        certificate = run.report.certificate
        promise = "none" if certificate is None else f"{certificate.total:,.0f}"
        lines.append(
            f"{run.name:<34}{run.loss:>10,.0f}{run.final_regret:>10,.0f}"
            f"{run.report.observed:>15,}{promise:>14}"
        )
    best = world.best_promise()
    least = float(world.losses(np.broadcast_to(best, world.truth.shape)).sum())
    lines.append(f"{'best fixed: ' + show_promise(best):<34}{least:>10,.0f}{0:>10}")
    return lines


def _who_wins(runs: dict[str, Run]) -> str:
    """Say who has the least regret among those that wait for answers, whoever it is."""
    late = sorted(
        (run for run in runs.values() if run.name != race.AT_ONCE), key=lambda run: run.final_regret
    )
    first, second = late[0], late[1]
    verdict = "Here a rival wins" if first.name in race.RIVALS else "Least regret with late answers"
    at_once = runs[race.AT_ONCE].final_regret
    return (
        f"{verdict}: {_quoted(first)}, then {_quoted(second)}. Told at once, the same learner has "
        f"{at_once:,.0f}. The most: {_quoted(late[-1])}. This is one world: those that are close "
        "may swap places with another --seed."
    )


def _quoted(run: Run) -> str:
    return f'"{run.name}" ({run.final_regret:,.0f})'


def _what_rivals_did(world: Orders, runs: dict[str, Run]) -> str:
    """Describe the promises of the two rivals, in numbers of this run."""
    lately = slice(-world.rounds // 4, None)
    promised = float(np.mean(runs[race.WAITING].promises[lately, 0]))
    took = float(np.median(world.truth[lately, 0]))
    swing = float(np.std(runs[race.BLIND].promises[lately, 0]))
    steady = float(np.std(runs[race.PATIENT].promises[lately, 0]))
    dropped = runs[race.WAITING].report.cancelled
    return (
        f"Waiting three days gave up on {dropped:,} orders and so learnt from the fast parcels: in "
        f"the last quarter it promised {promised:.0f} h on average, when the median parcel took "
        f"{took:.0f} h. {_what_if_longer(world, runs)} The delay-blind learner takes every late "
        f"answer for fresh: its promises swing by {swing:.0f} h (standard deviation), those of "
        f"belated by {steady:.1f} h."
    )


def _what_if_longer(world: Orders, runs: dict[str, Run]) -> str:
    """Be fair to waiting: a better number than three days exists, if one knows it."""
    longer = race.wait(world, LONGER).final_regret
    ours = min(runs[name].final_regret for name in (race.SKIPPING, race.PATIENT))
    verdict = "less than" if longer < ours else "against"
    return (
        f"Had it waited ten days its regret would be {longer:,.0f}, {verdict} {ours:,.0f} of "
        "belated, which need not be told how long to wait."
    )


# ---- the certificate and the picture -----------------------------------------------------------


def _certificate(screen: Screen, runs: dict[str, Run], world: Orders) -> None:
    screen.title("What the learner says about itself")
    run = runs[race.SKIPPING]
    screen.code("print(learner.report())")
    screen.show(str(run.report))
    screen.say(_judge(run, runs[race.PATIENT], world))


def _judge(run: Run, patient: Run, world: Orders) -> str:
    """Put the certificate next to the true regret, which only the demo can know."""
    worst = LIPSCHITZ * PROMISES.diameter * world.rounds
    certificate = run.report.certificate
    if certificate is None:
        return f"There is no certificate yet; the true regret is {run.final_regret:,.0f}."
    holds = "holds" if run.final_regret <= certificate.total else "FAILS"
    text = (
        f"The certificate {holds}. It says: regret at most {certificate.total:,.0f} against any "
        f"fixed promise, of {worst:,.0f} that could be lost, for convex losses and this lipschitz, "
        f"whatever the delays. The truth, which only a demo knows, is {run.final_regret:,.0f} "
        f"({run.final_regret / certificate.total:.1%} of it): this shop is no adversary."
    )
    other = patient.report.certificate
    if other is None or other.total <= certificate.total:
        return text
    return (
        f"{text} Without skipping, lost answers stay open for ever and weigh on every step: there "
        f"the certificate is {other.total:,.0f}."
    )


def _draw(screen: Screen, picture: Path, world: Orders, runs: dict[str, Run]) -> None:
    """Write the picture; without matplotlib say so, as the story is complete without it."""
    from belated.demo.figure import draw

    screen.title("Picture")
    try:
        draw(picture, world, runs)
    except MissingExtra as error:
        screen.say(str(error))
    else:
        screen.say(f"Written to {picture}")
