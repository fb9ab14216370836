"""Storage classes by API: made once they work, tried, switched, given another key, forgotten."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.centre.models import StorageClass
from apps.centre.permissions import CentrePermission
from apps.centre.states import StorageKind
from apps.centre.storage_classes import storage_class_get, storage_class_list
from apps.centre.storage_services import (
    StorageGiven,
    storage_class_change,
    storage_class_remove,
    storage_class_switch,
)
from apps.console.centre.storage_classes import storage_class_add, storage_class_check
from apps.identity.api.base import ApiView
from apps.identity.api.sound import SoundSerializer


class StorageClassOut(serializers.ModelSerializer[StorageClass]):
    """`check_problem` is what the last check found, "" where it worked in `check_ms`; the secret is never told."""

    class Meta:
        model = StorageClass
        fields = [
            "code", "name_zh", "name_en", "kind", "path", "endpoint", "bucket", "prefix", "region", "access_key",
            "is_enabled", "is_default", "checked_at", "check_ms", "check_problem", "created_at",
        ]  # fmt: skip


class StorageClassIn(SoundSerializer):
    code = serializers.CharField(max_length=48)
    name_zh = serializers.CharField(max_length=120)
    name_en = serializers.CharField(max_length=120)
    kind = serializers.ChoiceField(choices=StorageKind.choices)
    path = serializers.CharField(
        max_length=400,
        required=False,
        allow_blank=True,
        default="",
        help_text="Of a mounted path: where it is.",
    )
    endpoint = serializers.CharField(max_length=300, required=False, allow_blank=True, default="")
    bucket = serializers.CharField(max_length=63, required=False, allow_blank=True, default="")
    prefix = serializers.CharField(max_length=200, required=False, allow_blank=True, default="")
    region = serializers.CharField(max_length=40, required=False, allow_blank=True, default="")
    access_key = serializers.CharField(max_length=128, required=False, allow_blank=True, default="")
    secret = serializers.CharField(
        max_length=200, required=False, allow_blank=True, default="", write_only=True
    )


class StorageClassChangeIn(SoundSerializer):
    name_zh = serializers.CharField(max_length=120, required=False, default="")
    name_en = serializers.CharField(max_length=120, required=False, default="")
    access_key = serializers.CharField(max_length=128, required=False, allow_blank=True, default="")
    secret = serializers.CharField(
        max_length=200, required=False, allow_blank=True, default="", write_only=True
    )
    is_enabled = serializers.BooleanField(required=False, allow_null=True, default=None)
    is_default = serializers.BooleanField(required=False, allow_null=True, default=None)


class StorageClassesView(ApiView):
    plane = "provider"
    permission = CentrePermission.STORAGE

    @extend_schema(responses=StorageClassOut(many=True))
    def get(self, request: Request) -> Response:
        """Where volumes are kept beside the portal's own folder."""
        return self.page(storage_class_list(), StorageClassOut)

    @extend_schema(request=StorageClassIn, responses={201: StorageClassOut})
    def post(self, request: Request) -> Response:
        """Add one. It is tried first, and refused with what is wrong where it does not work."""
        given = StorageClassIn(data=request.data)
        given.is_valid(raise_exception=True)
        row = storage_class_add(actor=self.actor, given=StorageGiven(**given.validated_data))
        return Response(StorageClassOut(row).data, status=201)


class StorageClassView(ApiView):
    plane = "provider"
    permission = CentrePermission.STORAGE

    @extend_schema(responses=StorageClassOut)
    def get(self, request: Request, code: str) -> Response:
        return Response(StorageClassOut(storage_class_get(code)).data)

    @extend_schema(request=StorageClassChangeIn, responses=StorageClassOut)
    def patch(self, request: Request, code: str) -> Response:
        """Rename it, give it another key, or switch it."""
        given = StorageClassChangeIn(data=request.data)
        given.is_valid(raise_exception=True)
        said: dict[str, Any] = dict(given.validated_data)
        switched = {name: said.pop(name) for name in ("is_enabled", "is_default")}
        storage_class_get(code)
        if any(said.values()):
            storage_class_change(actor=self.actor, code=code, **said)
        if any(value is not None for value in switched.values()):
            storage_class_switch(actor=self.actor, code=code, **switched)
        return Response(StorageClassOut(storage_class_get(code)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, code: str) -> Response:
        """Forget it, where no volume lies there."""
        storage_class_remove(actor=self.actor, code=code)
        return Response(status=204)


class StorageClassCheckView(ApiView):
    plane = "provider"
    permission = CentrePermission.STORAGE

    @extend_schema(request=None, responses=StorageClassOut)
    def post(self, request: Request, code: str) -> Response:
        """Write, read and delete a file there now; what was found stands in the answer."""
        return Response(StorageClassOut(storage_class_check(actor=self.actor, code=code)).data)
