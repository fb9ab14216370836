"""Categories of tickets, their forms and rules, and the working calendar."""

from uuid import UUID

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api.base import ApiView
from apps.ticketing.api import serializers as s
from apps.ticketing.forms import day_of
from apps.ticketing.selectors import (
    calendar_now,
    categories_offered,
    category_get,
    category_list,
    special_day_list,
    working_hours_list,
)
from apps.ticketing.services.calendar import special_day_remove, special_days_set, working_hours_set
from apps.ticketing.services.categories import (
    category_change,
    category_create,
    category_delete,
    category_fields_set,
    rule_add,
    rule_remove,
)
from apps.ticketing.services.steps import category_steps_set

MANAGE = "tickets.manage"


class OfferedView(ApiView):
    plane = "both"
    pagination_class = None
    open_because = "in which categories a ticket can be opened is no secret to anybody signed in"

    @extend_schema(responses=s.TicketCategoryOfferedOut(many=True))
    def get(self, request: Request) -> Response:
        """The categories in which tickets can be opened, with the fields of their forms."""
        return Response(s.TicketCategoryOfferedOut(categories_offered(), many=True).data)


class CategoriesView(ApiView):
    plane = "provider"
    pagination_class = None
    permission = MANAGE

    @extend_schema(responses=s.TicketCategoryOut(many=True))
    def get(self, request: Request) -> Response:
        """All categories in the order of the tree, with their forms and rules."""
        return Response(s.TicketCategoryOut(category_list(), many=True).data)

    @extend_schema(request=s.TicketCategoryIn, responses={201: s.TicketCategoryOut})
    def post(self, request: Request) -> Response:
        """A category of one's own, below O&M (PLAT-CFG-29)."""
        given = s.TicketCategoryIn(data=request.data)
        given.is_valid(raise_exception=True)
        data = dict(given.validated_data)
        parent = category_get(data.pop("parent"))
        names = {name: data.pop(name) for name in ("name_zh", "name_en")}
        fields, steps = data.pop("form", ()), data.pop("steps", None)
        with transaction.atomic():
            row = category_create(actor=self.actor, parent=parent, **names, fields=fields, changes=data)
            if steps is not None:
                category_steps_set(actor=self.actor, category_uid=row.uid, steps=steps)
        return Response(s.TicketCategoryOut(category_get(row.uid)).data, status=201)


class CategoryView(ApiView):
    plane = "provider"
    permission = MANAGE

    @extend_schema(responses=s.TicketCategoryOut)
    def get(self, request: Request, uid: UUID) -> Response:
        return Response(s.TicketCategoryOut(category_get(uid)).data)

    @extend_schema(request=s.TicketCategoryChangeIn, responses=s.TicketCategoryOut)
    def patch(self, request: Request, uid: UUID) -> Response:
        """Change what is named; `form` replaces all its fields, `steps` all its steps."""
        given = s.TicketCategoryChangeIn(data=request.data)
        given.is_valid(raise_exception=True)
        changes = dict(given.validated_data)
        form, steps = changes.pop("form", None), changes.pop("steps", None)
        with transaction.atomic():
            category_change(actor=self.actor, category_uid=uid, changes=changes)
            if steps is not None:
                category_steps_set(actor=self.actor, category_uid=uid, steps=steps)
            if form is not None:
                category_fields_set(actor=self.actor, category_uid=uid, fields=form)
        return Response(s.TicketCategoryOut(category_get(uid)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, uid: UUID) -> Response:
        """Only one below which nothing stands and in which no ticket was opened; never one of the three built in."""
        category_delete(actor=self.actor, category_uid=uid)
        return Response(status=204)


class RulesView(ApiView):
    plane = "provider"
    permission = MANAGE

    @extend_schema(request=s.RoutingRuleIn, responses={201: s.RoutingRuleOut})
    def post(self, request: Request, uid: UUID) -> Response:
        """Send the category's tickets to somebody, all or those in which a field has a value (PLAT-CFG-25)."""
        given = s.RoutingRuleIn(data=request.data)
        given.is_valid(raise_exception=True)
        row = rule_add(actor=self.actor, category_uid=uid, **given.validated_data)
        return Response(s.RoutingRuleOut(row).data, status=201)


class RuleView(ApiView):
    plane = "provider"
    permission = MANAGE

    @extend_schema(responses={204: None})
    def delete(self, request: Request, uid: UUID) -> Response:
        rule_remove(actor=self.actor, rule_uid=uid)
        return Response(status=204)


class WorkingHoursView(ApiView):
    plane = "provider"
    permission = MANAGE

    @extend_schema(responses=s.WorkingHoursOut)
    def get(self, request: Request) -> Response:
        """When the centre works: by that the due times of tickets are counted."""
        return self._answer()

    @extend_schema(request=s.WorkingHoursData, responses=s.WorkingHoursOut)
    def put(self, request: Request) -> Response:
        """The week anew."""
        given = s.WorkingHoursData(data=request.data)
        given.is_valid(raise_exception=True)
        spans = [(one["weekday"], one["opens"], one["closes"]) for one in given.validated_data["hours"]]
        working_hours_set(actor=self.actor, spans=spans)
        return self._answer()

    def _answer(self) -> Response:
        found = {
            "hours": working_hours_list(),
            "timezone": str(calendar_now().zone),
            "special_days": special_day_list(),
        }
        return Response(s.WorkingHoursOut(found).data)


class SpecialDaysView(ApiView):
    plane = "provider"
    permission = MANAGE

    @extend_schema(request=s.SpecialDaysIn, responses={201: s.SpecialDayOut(many=True)})
    def post(self, request: Request) -> Response:
        """Close the centre from the first to the last day, or work these like another weekday."""
        given = s.SpecialDaysIn(data=request.data)
        given.is_valid(raise_exception=True)
        data = given.validated_data
        rows = special_days_set(actor=self.actor, **{**data, "last": data.get("last", data["first"])})
        return Response(s.SpecialDayOut(rows, many=True).data, status=201)


class SpecialDayView(ApiView):
    plane = "provider"
    permission = MANAGE

    @extend_schema(responses={204: None})
    def delete(self, request: Request, day: str) -> Response:
        special_day_remove(actor=self.actor, day=day_of(day))
        return Response(status=204)
