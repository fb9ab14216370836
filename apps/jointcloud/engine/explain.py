"""Why a centre was chosen, or none: an evaluation as structured reasons. `text.py` makes sentences of them."""

from __future__ import annotations

from collections import Counter

from apps.jointcloud.engine.evaluate import CentreStanding, Evaluation
from apps.jointcloud.engine.reasons import Code, Finding, Reason, reason


def explain(evaluation: Evaluation) -> tuple[Reason, ...]:
    """What decided: the chosen centre with its score, the second with what set them apart (the three policies that gave
    the most points more, or the tie-break), and what was not known of the chosen. Where no centre is a candidate: for
    how many centres which filter is the first that refuses."""
    best = evaluation.chosen
    if best is None:
        return (reason(Finding.NO_CANDIDATE, centres=len(evaluation.centres)), *_refused(evaluation))
    second = next((each for each in evaluation.centres if each.rank == 2), None)
    found = [reason(Finding.CHOSEN, centre=best.centre_id, score=best.final)]
    if second is None:
        found.append(
            reason(Finding.ONLY_CANDIDATE, centre=best.centre_id, refused=len(evaluation.centres) - 1)
        )
    elif best.final == second.final:
        found.append(_tie(best, second))
    else:
        found += _ahead(best, second)
    found += [
        reason(Finding.UNKNOWN_FIGURE, centre=best.centre_id, policy=score.policy)
        for score in best.scores
        if score.permille and not score.is_known
    ]
    return tuple(found)


def _refused(evaluation: Evaluation) -> list[Reason]:
    first = Counter(each.reasons[0].code for each in evaluation.centres)
    return [reason(code, centres=first[code]) for code in Code if first[code]]


def _tie(best: CentreStanding, second: CentreStanding) -> Reason:
    names = {"centre": best.centre_id, "other": second.centre_id}
    if best.running_tasks != second.running_tasks:
        return reason(Finding.TIE_RUNNING, **names, running=best.running_tasks, others=second.running_tasks)
    if best.price != second.price:
        return reason(Finding.TIE_PRICE, **names, price=best.price, others=second.price)
    return reason(Finding.TIE_ID, **names)


def _ahead(best: CentreStanding, second: CentreStanding) -> list[Reason]:
    """Where the first is ahead of the second, the most first, in thousandths of a point."""
    gains = [
        (one.permille * (one.score - two.score), one)
        for one, two in zip(best.scores, second.scores, strict=True)
        if one.score > two.score and one.permille
    ]
    gains.sort(key=lambda gain: (-gain[0], gain[1].policy))
    return [
        reason(
            Finding.AHEAD_BY_POLICY,
            centre=best.centre_id,
            other=second.centre_id,
            policy=score.policy,
            score=score.score,
            others=next(two.score for two in second.scores if two.policy == score.policy),
            milli_points=gain,
        )
        for gain, score in gains[:3]
    ]
