from typing import Any

from rest_framework import serializers

from apps.identity.api.sound import SoundSerializer, TextField
from apps.identity.models import AgentToken, ApiToken, OperatorOrganization, OperatorRole, User
from apps.identity.rules.people_file import Change
from apps.identity.rules.role_functions import RoleDraft


class SignInIn(SoundSerializer):
    username = serializers.CharField(max_length=64)
    password = serializers.CharField(max_length=256)
    tenant = serializers.CharField(max_length=63, required=False, allow_blank=True, default="")
    days = serializers.IntegerField(min_value=1, max_value=366, default=1)


class PasswordIn(SoundSerializer):
    old_password = serializers.CharField(max_length=256, trim_whitespace=False)
    new_password = serializers.CharField(max_length=256, trim_whitespace=False)


class PasswordForgottenIn(SoundSerializer):
    account = serializers.CharField(max_length=254, help_text="Login account or e-mail.")
    tenant = serializers.CharField(max_length=63, required=False, allow_blank=True, default="")


class PasswordResetIn(SoundSerializer):
    secret = serializers.CharField(max_length=200, help_text="The end of the link's address.")
    new_password = serializers.CharField(max_length=256, trim_whitespace=False)


class PersonEditIn(SoundSerializer):
    display_name = serializers.CharField(max_length=120)
    email = serializers.EmailField(required=False, allow_blank=True, default="")


class SignInAttemptOut(serializers.Serializer[Any]):
    at = serializers.DateTimeField()
    address = serializers.CharField(allow_null=True)
    is_accepted = serializers.BooleanField()


class SignInWayOut(serializers.Serializer[Any]):
    """How somebody signs in here."""

    password = serializers.CharField(
        help_text="own; first: given by somebody else, to be changed; awaited: a link waits to be used."
    )
    tokens = serializers.IntegerField(help_text="API tokens that work.")
    attempts = SignInAttemptOut(many=True, help_text="The latest five, newest first.")


class OrganizationIn(SoundSerializer):
    name = serializers.CharField(max_length=120)
    # A serializer has a `parent` of its own, which this field is not taken for.
    parent = serializers.UUIDField(required=False, allow_null=True, default=None)  # type: ignore[assignment]
    description = TextField(max_length=500, required=False, allow_blank=True, default="")
    attributes = serializers.DictField(
        child=serializers.CharField(max_length=120, allow_blank=True), required=False, help_text="By name."
    )


class OrganizationsIn(SoundSerializer):
    organizations = serializers.ListField(child=serializers.UUIDField(), min_length=1, max_length=500)


class OperatorOrganizationOut(serializers.ModelSerializer[OperatorOrganization]):
    parent = serializers.UUIDField(source="parent.uid", default=None)  # type: ignore[assignment]

    class Meta:
        model = OperatorOrganization
        fields = ["uid", "name", "parent", "description", "attributes", "is_enabled", "created_at"]


class OperatorOrganizationRowOut(serializers.Serializer[Any]):
    organization = OperatorOrganizationOut()
    depth = serializers.IntegerField()
    head_count = serializers.IntegerField(help_text="Operators of it and of all below.")


class OperatorPlaceIn(SoundSerializer):
    organization = serializers.UUIDField(allow_null=True)


class FileFormIn(SoundSerializer):
    format = serializers.ChoiceField(["csv", "xlsx"], required=False, default="csv")


class PeopleImportIn(SoundSerializer):
    file = serializers.FileField(help_text="CSV or XLSX with the template's first row, at most 1 MiB.")
    dry_run = serializers.BooleanField(
        required=False, default=False, help_text="Say what would happen, and do nothing."
    )


class ImportRowOut(serializers.Serializer[Any]):
    """What became, or would become, of a row."""

    row = serializers.IntegerField(source="row.number", help_text="As a spreadsheet numbers it.")
    username = serializers.CharField(source="row.username", allow_blank=True)
    display_name = serializers.CharField(source="row.display_name", allow_blank=True)
    email = serializers.CharField(source="row.email", allow_blank=True)
    change = serializers.ChoiceField([change.value for change in Change])
    changes = serializers.ListField(child=serializers.CharField())
    fault = serializers.CharField(allow_blank=True, help_text="Why it is refused.")
    cure = serializers.CharField(allow_blank=True)
    secret = serializers.CharField(
        allow_blank=True,
        help_text="Shown once, for somebody new: the end of an invitation's link, or an operator's first password.",
    )


class PeopleImportOut(serializers.Serializer[Any]):
    is_done = serializers.BooleanField()
    rows = ImportRowOut(many=True)


class ResetLinkOut(serializers.Serializer[Any]):
    secret = serializers.CharField(
        help_text="Shown once; the link is the portal's address and /password/reset/ and this."
    )
    expires_at = serializers.DateTimeField()


class TenantOut(serializers.Serializer):
    schema = serializers.CharField(source="schema_name")
    name = serializers.CharField()


class RoleOut(serializers.Serializer):
    code = serializers.CharField()
    name_en = serializers.CharField()
    name_zh = serializers.CharField()


class UserOut(serializers.Serializer):
    uid = serializers.UUIDField()
    username = serializers.CharField()
    display_name = serializers.CharField()
    email = serializers.CharField()
    is_operator = serializers.BooleanField()
    must_change_password = serializers.BooleanField(
        help_text="The password was set by somebody else: the portal opens when it is changed there."
    )


class SignInOut(serializers.Serializer):
    token = serializers.CharField(help_text="Shown once; send it as a bearer token.")
    expires_at = serializers.DateTimeField()
    user = UserOut()
    tenants = TenantOut(many=True)


class MeOut(serializers.Serializer):
    user = UserOut()
    side = serializers.ChoiceField(["user", "operator"])
    tenant = serializers.CharField(allow_blank=True)
    role = serializers.CharField(allow_blank=True)
    roles = RoleOut(many=True)
    permissions = serializers.ListField(child=serializers.CharField())
    tenants = TenantOut(many=True)


class TokenIn(SoundSerializer):
    name = serializers.CharField(max_length=80)
    days = serializers.IntegerField(min_value=1, max_value=366, default=30)


class TokenOut(serializers.ModelSerializer):
    class Meta:
        model = ApiToken
        fields = ["uid", "name", "hint", "expires_at", "revoked_at", "used_at", "created_at"]


class TokenMadeOut(TokenOut):
    secret = serializers.CharField(help_text="Shown once.")

    class Meta(TokenOut.Meta):
        fields = [*TokenOut.Meta.fields, "secret"]


class AgentTokenIn(SoundSerializer):
    note = serializers.CharField(max_length=120)
    ttl_s = serializers.IntegerField(min_value=60, max_value=30 * 86400, default=3600)


class AgentTokenOut(serializers.ModelSerializer):
    class Meta:
        model = AgentToken
        fields = ["uid", "kind", "node_uid", "note", "expires_at", "used_at", "revoked_at", "created_at"]


class AgentTokenMadeOut(AgentTokenOut):
    secret = serializers.CharField(help_text="Shown once.")

    class Meta(AgentTokenOut.Meta):
        fields = [*AgentTokenOut.Meta.fields, "secret"]


ROLE_FIELDS = [
    "code", "name_en", "name_zh", "description", "permissions", "is_read_only", "is_builtin", "created_at",
]  # fmt: skip


class OperatorRoleOut(serializers.ModelSerializer):
    class Meta:
        model = OperatorRole
        fields = ROLE_FIELDS


class RoleIn(SoundSerializer):
    name = serializers.CharField(max_length=80, help_text="As people see it; one of a kind.")
    permissions = serializers.ListField(
        child=serializers.CharField(max_length=64), help_text="What it allows; what these need is added."
    )
    description = TextField(max_length=500, required=False, allow_blank=True, default="")
    is_read_only = serializers.BooleanField(
        required=False, default=False, help_text="It changes nothing but its holder's own account."
    )

    def draft(self) -> RoleDraft:
        """The role as the body asks for it."""
        return RoleDraft(**self.validated_data)


class RoleFunctionOut(serializers.Serializer[Any]):
    permission = serializers.CharField()
    group = serializers.CharField()
    name = serializers.CharField(source="label", help_text="What it lets somebody do.")
    is_change = serializers.BooleanField(help_text="Whether it changes anything.")
    needs = serializers.ListField(child=serializers.CharField(), help_text="What a role with it has too.")


class OperatorIn(SoundSerializer):
    username = serializers.CharField(max_length=64)
    display_name = serializers.CharField(max_length=120)
    email = serializers.EmailField(required=False, allow_blank=True, default="")
    roles = serializers.ListField(child=serializers.CharField(max_length=48), required=False, default=list)


class OperatorRolesIn(SoundSerializer):
    roles = serializers.ListField(child=serializers.CharField(max_length=48), allow_empty=True)


class OperatorOut(serializers.ModelSerializer):
    roles = serializers.SerializerMethodField()
    organization = serializers.UUIDField(source="organization.uid", default=None)
    post = serializers.CharField(source="post.name", default="")

    class Meta:
        model = User
        fields = [
            "uid",
            "username",
            "display_name",
            "email",
            "is_active",
            "must_change_password",
            "organization",
            "post",
            "roles",
            "created_at",
        ]

    def get_roles(self, user: User) -> list[str]:
        return [binding.role.code for binding in user.operator_bindings.all()]


class PostIn(SoundSerializer):
    name = serializers.CharField(max_length=120)


class PostOut(serializers.Serializer[Any]):
    uid = serializers.UUIDField()
    name = serializers.CharField()
    held = serializers.IntegerField(help_text="How many people hold it.")
    created_at = serializers.DateTimeField()


class PostGivenIn(SoundSerializer):
    post = serializers.UUIDField(allow_null=True, help_text="Null: none.")


class FirstPasswordOut(serializers.Serializer):
    password = serializers.CharField(help_text="Shown once; it must be changed at the first sign-in.")


class OperatorDetailOut(OperatorOut):
    sign_in = SignInWayOut(allow_null=True, help_text="For who manages people.")

    class Meta(OperatorOut.Meta):
        fields = [*OperatorOut.Meta.fields, "sign_in"]


class OperatorMadeOut(FirstPasswordOut):
    operator = OperatorOut()
