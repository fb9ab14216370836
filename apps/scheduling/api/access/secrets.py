"""Secrets: set, listed by name, deleted. What is in them no answer shows."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.fleet.models import Secret
from apps.fleet.services.secrets import VALUE_MOST, secret_delete, secret_set, secrets_seen
from apps.identity.api.base import ApiView
from apps.identity.api.sound import ProgramField
from apps.scheduling.api.serializers.workloads import KnownFields
from apps.scheduling.api.work.workloads import read
from apps.scheduling.permissions import ResourcePermission


class SecretOut(serializers.ModelSerializer[Secret]):
    """A secret without what is in it: its name, whose it is, who set it when, and when work last started with it."""

    is_shared = serializers.SerializerMethodField()
    changed_by = serializers.CharField(source="changed_by.username", default="")

    class Meta:
        model = Secret
        fields = ["uid", "name", "is_shared", "changed_by", "changed_at", "used_at"]

    def get_is_shared(self, row: Secret) -> bool:
        return row.owner_id is None


class SecretIn(KnownFields):
    """A name, as of a variable, and what is in it; `is_shared`: of all people of the tenant."""

    name = serializers.CharField(max_length=128)
    value = ProgramField(max_length=VALUE_MOST, trim_whitespace=False, write_only=True)
    is_shared = serializers.BooleanField(default=False)


class SecretsView(ApiView):
    permission = ResourcePermission.OPERATE
    ordering = ("name", "pk")

    @extend_schema(responses=SecretOut(many=True))
    def get(self, request: Request) -> Response:
        """One's own secrets and those of all people of the tenant, by name."""
        return self.page(secrets_seen(self.entered, self.actor), SecretOut)

    @extend_schema(request=SecretIn, responses={201: SecretOut})
    def post(self, request: Request) -> Response:
        """Set a secret; one of the same name is replaced, for work that starts from now on."""
        given: dict[str, Any] = read(SecretIn, request)
        row = secret_set(
            actor=self.actor,
            tenant=self.entered,
            name=given["name"],
            secret_value=given["value"],
            is_shared=given["is_shared"],
        )
        return Response(SecretOut(row).data, status=201)


class SecretView(ApiView):
    permission = ResourcePermission.OPERATE

    @extend_schema(responses={204: None})
    def delete(self, request: Request, uid: UUID) -> Response:
        """Delete a secret. Work that waits with it is refused when its turn comes."""
        secret_delete(actor=self.actor, tenant=self.entered, secret_uid=uid)
        return Response(status=204)
