"""What applications are made of, for operators: categories, form templates and process applications."""

from collections.abc import Callable
from typing import Any, ClassVar
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.catalog.api.serializers import CategoryOut
from apps.catalog.models import Category, FormTemplate, ProcessApp
from apps.catalog.permissions import CatalogPermission
from apps.catalog.selectors.commodities import category_get
from apps.catalog.selectors.processes import (
    form_template_get,
    form_template_list,
    process_app_get,
    process_app_list,
    process_template_get,
)
from apps.catalog.services import categories, form_templates, processes
from apps.catalog.services.form_templates import FieldDraft
from apps.catalog.states import FieldKind
from apps.identity.api.base import ApiView
from apps.identity.api.sound import SoundSerializer
from apps.kernel.errors import InvalidInput, NotFound

_VERSION = OpenApiParameter("version", int, required=True, description="The form's, as it was read.")


class NamesIn(SoundSerializer):
    name_zh = serializers.CharField(max_length=120)
    name_en = serializers.CharField(max_length=120)


class CategoryIn(NamesIn):
    parent = serializers.CharField(  # type: ignore[assignment]
        max_length=48,
        default="",
        allow_blank=True,
        help_text="Code of the category of the first level that it is under; empty: it is itself of the first level.",
    )

    def said(self) -> dict[str, Any]:
        """What the services take."""
        given = dict(self.validated_data)
        code = given.pop("parent")
        return {**given, "parent": _found(category_get, "parent", code) if code else None}


class CategoryNewIn(CategoryIn):
    code = serializers.SlugField(
        max_length=48, default="", allow_blank=True, help_text="Empty: made of the English name."
    )


class FormFieldData(SoundSerializer):
    """A field of a form, as it is kept: durations in seconds, memory in MiB."""

    kind = serializers.ChoiceField(choices=FieldKind.choices)
    label_zh = serializers.CharField(max_length=120)
    label_en = serializers.CharField(max_length=120)
    is_required = serializers.BooleanField(default=False)
    help_zh = serializers.CharField(max_length=300, default="", allow_blank=True)
    help_en = serializers.CharField(max_length=300, default="", allow_blank=True)
    unit = serializers.CharField(max_length=16, default="", allow_blank=True)
    minimum = serializers.FloatField(required=False, allow_null=True, default=None)
    maximum = serializers.FloatField(required=False, allow_null=True, default=None)
    choices = serializers.ListField(
        child=serializers.CharField(max_length=120), max_length=50, default=list, help_text="Of a choice."
    )
    default = serializers.JSONField(
        required=False,
        allow_null=True,
        default=None,
        help_text="What stands there at first: text or a number.",
    )


class FormFieldOut(FormFieldData):
    name = serializers.CharField(help_text="What applications and conditions of processes call it.")
    kind = serializers.CharField()  # type: ignore[assignment]


class FormFieldIn(FormFieldData):
    version = serializers.IntegerField(
        min_value=1, max_value=10**9, write_only=True, help_text="The form's, as it was read."
    )

    def draft(self) -> FieldDraft:
        given = dict(self.validated_data)
        del given["version"]
        return FieldDraft(**{**given, "choices": tuple(given["choices"])})


class FormVersionIn(SoundSerializer):
    version = serializers.IntegerField(min_value=1, max_value=10**9, help_text="The form's, as it was read.")


class FormTemplateOut(serializers.ModelSerializer[FormTemplate]):
    fields_asked = serializers.SerializerMethodField(help_text="What it asks for, in this order.")

    class Meta:
        model = FormTemplate
        fields = ["code", "name_zh", "name_en", "kind", "fields_asked", "version", "created_at"]

    @extend_schema_field(FormFieldOut(many=True))
    def get_fields_asked(self, row: FormTemplate) -> list[dict[str, Any]]:
        return [dict(FormFieldOut(_whole(field)).data) for field in row.fields]


class FormTemplateIn(NamesIn):
    kind = serializers.ChoiceField(choices=FormTemplate.Kind.choices)
    code = serializers.SlugField(
        max_length=48, default="", allow_blank=True, help_text="Empty: made of the English name."
    )


class ProcessAppOut(serializers.ModelSerializer[ProcessApp]):
    category = serializers.CharField(source="category.code")
    form_template = serializers.CharField(source="form_template.code")
    kind = serializers.CharField(source="form_template.kind", help_text="Of which applications it decides.")
    process_template = serializers.UUIDField(source="process_template.uid")

    class Meta:
        model = ProcessApp
        fields = [
            "uid", "code", "name_zh", "name_en", "category", "form_template", "kind", "process_template", "state",
        ]  # fmt: skip


class ProcessBindIn(SoundSerializer):
    form_template = serializers.CharField(max_length=48, help_text="What is asked: a form's code.")
    process_template = serializers.UUIDField(help_text="Who decides: a version of a process.")

    def said(self) -> dict[str, Any]:
        """What the services take."""
        found = {
            "form_template": form_template_get,
            "process_template": process_template_get,
            "category": category_get,
        }
        given: dict[str, Any] = self.validated_data
        return {
            name: _found(found[name], name, value) if name in found else value
            for name, value in given.items()
        }


class ProcessAppIn(NamesIn, ProcessBindIn):
    category = serializers.CharField(max_length=48, help_text="A category's code.")
    code = serializers.SlugField(
        max_length=48, default="", allow_blank=True, help_text="Empty: made of the English name."
    )


class ManagedView(ApiView):
    """What operators who manage the catalogue do."""

    plane = "provider"
    permission = CatalogPermission.MANAGE


class CategoryView(ManagedView):
    @extend_schema(responses=CategoryOut)
    def get(self, request: Request, code: str) -> Response:
        return Response(CategoryOut(category_get(code)).data)

    @extend_schema(request=CategoryIn, responses=CategoryOut)
    def put(self, request: Request, code: str) -> Response:
        """Other names, and another place: what is in it goes along."""
        row = categories.category_change(actor=self.actor, code=code, **_valid(CategoryIn, request).said())
        return Response(CategoryOut(row).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, code: str) -> Response:
        """Only an empty one."""
        categories.category_delete(actor=self.actor, code=code)
        return Response(status=204)


class CategoryActionView(ManagedView):
    @extend_schema(request=None, responses=CategoryOut, operation_id="categories_act")
    def post(self, request: Request, code: str, action: str) -> Response:
        """`up` or `down` among those beside it, `enable`, or `disable`: out of the catalogue with all in it."""
        actor = self.actor
        if action in ("up", "down"):
            row: Category = categories.category_order(actor=actor, code=code, is_up=action == "up")
        elif action == "enable":
            row = categories.category_enable(actor=actor, code=code)
        elif action == "disable":
            row = categories.category_disable(actor=actor, code=code)
        else:
            raise NotFound()
        return Response(CategoryOut(row).data)


class FormTemplatesView(ManagedView):
    @extend_schema(responses=FormTemplateOut(many=True))
    def get(self, request: Request) -> Response:
        """The forms that applications are made by, with their fields."""
        return self.page(form_template_list(), FormTemplateOut)

    @extend_schema(request=FormTemplateIn, responses={201: FormTemplateOut})
    def post(self, request: Request) -> Response:
        """A form without fields of its own; what every application says, it asks for anyway."""
        given = _valid(FormTemplateIn, request).validated_data
        row = form_templates.form_template_create(actor=self.actor, **given)
        return Response(FormTemplateOut(row).data, status=201)


class FormTemplateView(ManagedView):
    @extend_schema(responses=FormTemplateOut)
    def get(self, request: Request, code: str) -> Response:
        return Response(FormTemplateOut(form_template_get(code)).data)

    @extend_schema(request=NamesIn, responses=FormTemplateOut)
    def put(self, request: Request, code: str) -> Response:
        """Other names; what it asks for stays."""
        given = _valid(NamesIn, request).validated_data
        row = form_templates.form_template_rename(actor=self.actor, code=code, **given)
        return Response(FormTemplateOut(row).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, code: str) -> Response:
        """Only one that no process application asks with."""
        form_templates.form_template_delete(actor=self.actor, code=code)
        return Response(status=204)


class FormFieldsView(ManagedView):
    @extend_schema(request=FormFieldIn, responses={201: FormTemplateOut})
    def post(self, request: Request, code: str) -> Response:
        """Ask for one thing more, at the end. Applications that are open keep the fields they were begun with."""
        given = _valid(FormFieldIn, request)
        row = form_templates.form_field_put(
            actor=self.actor, code=code, version=given.validated_data["version"], draft=given.draft()
        )
        return Response(FormTemplateOut(row).data, status=201)


class FormFieldView(ManagedView):
    @extend_schema(request=FormFieldIn, responses=FormTemplateOut)
    def put(self, request: Request, code: str, name: str) -> Response:
        """Change a field; its kind and its name stay."""
        given = _valid(FormFieldIn, request)
        row = form_templates.form_field_put(
            actor=self.actor,
            code=code,
            version=given.validated_data["version"],
            draft=given.draft(),
            name=name,
        )
        return Response(FormTemplateOut(row).data)

    @extend_schema(parameters=[_VERSION], responses={204: None})
    def delete(self, request: Request, code: str, name: str) -> Response:
        """Ask for it no more. Applications that are open still do."""
        given = FormVersionIn(data=request.query_params)
        given.is_valid(raise_exception=True)
        form_templates.form_field_remove(actor=self.actor, code=code, name=name, **given.validated_data)
        return Response(status=204)


class FormFieldMoveView(ManagedView):
    @extend_schema(
        request=FormVersionIn, responses=FormTemplateOut, operation_id="form_templates_fields_move"
    )
    def post(self, request: Request, code: str, name: str, action: str) -> Response:
        """`up` or `down`: it changes places with the field before it, or after it."""
        if action not in ("up", "down"):
            raise NotFound()
        given = _valid(FormVersionIn, request).validated_data
        row = form_templates.form_field_order(
            actor=self.actor, code=code, name=name, is_up=action == "up", **given
        )
        return Response(FormTemplateOut(row).data)


class ProcessAppsView(ManagedView):
    ordering = ("code",)

    @extend_schema(responses=ProcessAppOut(many=True))
    def get(self, request: Request) -> Response:
        """Which form is asked and which process decides, for which category."""
        return self.page(process_app_list(), ProcessAppOut)

    @extend_schema(request=ProcessAppIn, responses={201: ProcessAppOut})
    def post(self, request: Request) -> Response:
        """Tie a form to a process, as a draft: publish it, so that it can be applied by."""
        row = processes.process_app_create(actor=self.actor, **_valid(ProcessAppIn, request).said())
        return Response(ProcessAppOut(row).data, status=201)


class ProcessAppView(ManagedView):
    @extend_schema(responses=ProcessAppOut)
    def get(self, request: Request, uid: UUID) -> Response:
        return Response(ProcessAppOut(process_app_get(uid)).data)

    @extend_schema(request=ProcessBindIn, responses=ProcessAppOut)
    def put(self, request: Request, uid: UUID) -> Response:
        """Another process and another form: new applications follow them, running ones keep theirs."""
        said = _valid(ProcessBindIn, request).said()
        processes.process_app_rebind(actor=self.actor, process_app_uid=uid, **said)
        return Response(ProcessAppOut(process_app_get(uid)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, uid: UUID) -> Response:
        """Only one that no commodity goes by."""
        processes.process_app_delete(actor=self.actor, process_app_uid=uid)
        return Response(status=204)


class ProcessAppActionView(ManagedView):
    ACTIONS: ClassVar[dict[str, Callable[..., ProcessApp]]] = {
        "publish": processes.process_app_publish,
        "unpublish": processes.process_app_unpublish,
    }

    @extend_schema(request=None, responses=ProcessAppOut, operation_id="process_applications_act")
    def post(self, request: Request, uid: UUID, action: str) -> Response:
        """`publish`, so that it can be applied by, or `unpublish`."""
        if action not in self.ACTIONS:
            raise NotFound()
        self.ACTIONS[action](actor=self.actor, process_app_uid=uid)
        return Response(ProcessAppOut(process_app_get(uid)).data)


def _valid(kind: type[Any], request: Request) -> Any:
    given = kind(data=request.data)
    given.is_valid(raise_exception=True)
    return given


def _found(get: Callable[[Any], Any], name: str, value: object) -> Any:
    """What a field of the body names; its refusal names the field."""
    try:
        return get(value)
    except NotFound as error:
        raise InvalidInput(fields={name: error.message}) from error


def _whole(field: dict[str, Any]) -> dict[str, Any]:
    """A kept field with what it does not say: nothing is kept of what is empty."""
    empty = {"is_required": False, "help_zh": "", "help_en": "", "unit": "", "label_zh": "", "label_en": ""}
    return {**empty, "minimum": None, "maximum": None, "choices": [], "default": None, **field}
