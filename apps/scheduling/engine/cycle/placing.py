"""One request is given its devices, or the reason why it gets none now."""

from __future__ import annotations

from apps.scheduling.engine.model.types import Grant, Reason
from apps.scheduling.engine.placement.fit import FREE_VIEW, View
from apps.scheduling.engine.placement.place import grant_of
from apps.scheduling.engine.queueing.backlog import Entry, Group
from apps.scheduling.engine.queueing.model_quota import within_models
from apps.scheduling.engine.resources.shapes import Shape
from apps.scheduling.engine.state.pass_state import PassState


def place(pass_: PassState, group: Group, entry: Entry, plain: Shape | None) -> Reason | None:
    """Start the request, and plan it; the reason where that cannot be, and nothing is taken.

    `plain`: its shape where nothing narrows it in this pass.
    """
    placer = pass_.state.placer
    shape = plain or pass_.shape_of(group)
    view = pass_.view(group) if placer.has_claims else FREE_VIEW
    if group.sample.min_shares is not None:
        found = _size(pass_, group, shape, view, entry.seq)
        if isinstance(found, Reason):
            return found
        shape = found
    else:
        reason = pass_.state.shortage(group.sample, group.least)
        if reason is not None:
            return reason
    is_plain = plain is not None
    grants = placer.take(shape, view, entry.seq) if is_plain else _take(pass_, group, shape, view, entry.seq)
    if isinstance(grants, Reason):
        return grants
    if grants is None:
        return pass_.why_not(shape, view)
    if shape.exclusive:
        settled = _settle_whole_cards(pass_, group, shape, grants, view, entry)
        if isinstance(settled, Reason):
            return settled
        grants = settled
    pass_.start(group, entry, shape, grants, view)
    return None


def _take(
    pass_: PassState, group: Group, shape: Shape, view: View, seq: int
) -> tuple[Grant, ...] | Reason | None:
    state, tenant_id = pass_.state, group.sample.tenant_id
    if not state.model_quota.binds(tenant_id):
        return state.placer.take(shape, view, seq)
    plain = state.shapes.sized(pass_.plain_shape_of(group), shape.shares)
    return within_models(state.model_quota, state.placer, state.shapes, tenant_id, plain, shape, view, seq)


def _size(pass_: PassState, group: Group, shape: Shape, view: View, seq: int) -> Shape | Reason:
    """The most shares of elastic work that fit now, the least first: more where more fit, by whole replicas."""
    per = group.sample.shares_per_replica
    fewest = (group.sample.min_shares or per) // per
    reason = _blocks(pass_, group, shape, fewest * per, view, seq)
    if reason is not None:
        return reason
    most = shape.shares // per
    while fewest < most:
        middle = (fewest + most + 1) // 2
        if _blocks(pass_, group, shape, middle * per, view, seq) is None:
            fewest = middle
        else:
            most = middle - 1
    return pass_.state.shapes.sized(shape, fewest * per)


def _blocks(pass_: PassState, group: Group, shape: Shape, shares: int, view: View, seq: int) -> Reason | None:
    sized = pass_.state.shapes.sized(shape, shares)
    cards = pass_.state.placer.find(sized, view, seq)
    if cards is None:
        return pass_.why_not(sized, view)
    return pass_.state.beyond(group.sample, tuple(grant_of(card, sized) for card in cards))


def _settle_whole_cards(
    pass_: PassState, group: Group, shape: Shape, grants: tuple[Grant, ...], view: View, entry: Entry
) -> tuple[Grant, ...] | Reason:
    """Whole cards count with all their memory: where a quota has no room for these, take smaller ones."""
    reason = _undo_beyond_quota(pass_, group, grants, view)
    if reason is None:
        return grants
    smaller = pass_.state.placer.take_smallest(shape, view)
    if smaller is None:
        return reason
    return _undo_beyond_quota(pass_, group, smaller, view) or smaller


def _undo_beyond_quota(
    pass_: PassState, group: Group, grants: tuple[Grant, ...], view: View
) -> Reason | None:
    reason = pass_.state.beyond(group.sample, grants)
    if reason is not None:
        pass_.state.placer.undo(grants, view)
    return reason
