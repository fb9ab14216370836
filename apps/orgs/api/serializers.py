from typing import Any

from rest_framework import serializers

from apps.identity.api.serializers import ROLE_FIELDS
from apps.orgs.models import BusinessSystem, Member, Organization, TenantRole


class OrganizationIn(serializers.Serializer):
    name = serializers.CharField(max_length=120)
    parent = serializers.UUIDField(required=False, allow_null=True, default=None)
    description = serializers.CharField(max_length=500, required=False, allow_blank=True, default="")


class OrganizationOut(serializers.ModelSerializer):
    parent = serializers.UUIDField(source="parent.uid", default=None)

    class Meta:
        model = Organization
        fields = ["uid", "name", "parent", "description", "attributes", "is_enabled", "created_at"]


class OrganizationRowOut(serializers.Serializer):
    organization = OrganizationOut()
    depth = serializers.IntegerField()
    head_count = serializers.IntegerField()


class BusinessSystemIn(serializers.Serializer):
    name = serializers.CharField(max_length=120)
    number = serializers.CharField(max_length=48)
    organization = serializers.UUIDField()
    parent = serializers.UUIDField(required=False, allow_null=True, default=None)


class BusinessSystemOut(serializers.ModelSerializer):
    organization = serializers.UUIDField(source="organization.uid")
    organization_name = serializers.CharField(source="organization.name")
    parent = serializers.UUIDField(source="parent.uid", default=None)

    class Meta:
        model = BusinessSystem
        fields = [
            "uid",
            "name",
            "number",
            "organization",
            "organization_name",
            "parent",
            "is_enabled",
            "created_at",
        ]


class MemberIn(serializers.Serializer):
    username = serializers.CharField(max_length=64)
    organization = serializers.UUIDField()


class MemberOut(serializers.ModelSerializer):
    username = serializers.CharField(source="user.username")
    display_name = serializers.CharField(source="user.display_name")
    organization = serializers.UUIDField(source="organization.uid")
    organization_name = serializers.CharField(source="organization.name")
    post = serializers.CharField(source="post.name", default="")

    class Meta:
        model = Member
        fields = [
            "uid",
            "username",
            "display_name",
            "organization",
            "organization_name",
            "post",
            "created_at",
        ]


class UsernameIn(serializers.Serializer):
    username = serializers.CharField(max_length=64)


class OrganizationsIn(serializers.Serializer[Any]):
    organizations = serializers.ListField(child=serializers.UUIDField(), min_length=1, max_length=500)


class TenantRoleOut(serializers.ModelSerializer):
    class Meta:
        model = TenantRole
        fields = ROLE_FIELDS
