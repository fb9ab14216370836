from typing import Any

from rest_framework import serializers

from apps.identity.api.serializers import FirstPasswordOut, PeopleImportIn, SignInWayOut
from apps.identity.api.sound import SoundSerializer
from apps.orgs.models import Invitation
from apps.orgs.selectors.people import people_of

ROLES_HELP = "Codes of roles; GET roles lists them."


class _Roles(serializers.ListField):
    child = serializers.CharField(max_length=48)


class PlaceIn(SoundSerializer):
    """Where a person comes to: an organization and roles."""

    organization = serializers.UUIDField(required=False, allow_null=True, default=None)
    roles = _Roles(required=False, default=list, help_text=ROLES_HELP)


class PersonIn(PlaceIn):
    username = serializers.CharField(max_length=64)
    display_name = serializers.CharField(max_length=120)
    email = serializers.EmailField(required=False, allow_blank=True, default="")


class TenantPeopleImportIn(PeopleImportIn):
    days = serializers.IntegerField(
        min_value=1, max_value=30, required=False, default=14, help_text="How long the invitations are valid."
    )
    by_mail = serializers.BooleanField(
        required=False, default=False, help_text="The links are sent to the e-mails and shown to nobody."
    )


class PersonAddIn(PlaceIn):
    username = serializers.CharField(max_length=64)


class PersonRolesIn(SoundSerializer):
    roles = _Roles(allow_empty=True, help_text=ROLES_HELP)


class PersonMoveIn(SoundSerializer):
    organization = serializers.UUIDField()


class PersonOut(serializers.Serializer):
    """A person of the tenant: account, state, place in the organization and roles."""

    uid = serializers.UUIDField(source="user.uid")
    username = serializers.CharField(source="user.username")
    display_name = serializers.CharField(source="user.display_name")
    email = serializers.CharField(source="user.email")
    state = serializers.CharField(help_text="active, disabled here, or locked by the computing centre.")
    must_change_password = serializers.BooleanField(source="user.must_change_password")
    organization = serializers.UUIDField(source="member.organization.uid", default=None, allow_null=True)
    organization_name = serializers.CharField(source="member.organization.name", default="")
    post = serializers.CharField(source="member.post.name", default="")
    roles = serializers.SerializerMethodField()
    created_at = serializers.DateTimeField(source="membership.created_at")

    def get_roles(self, person: Any) -> list[str]:
        return [role.code for role in person.roles]


class PersonSystemOut(serializers.Serializer[Any]):
    uid = serializers.UUIDField()
    name = serializers.CharField()
    number = serializers.CharField()


class PersonDetailOut(PersonOut):
    """A person with the business systems he takes part in and, for who manages people, how he signs in."""

    business_systems = PersonSystemOut(many=True)
    sign_in = SignInWayOut(allow_null=True)


class PeopleOut(serializers.ListSerializer):
    """A page of memberships, told as persons: two queries for all of them."""

    child = PersonOut()

    def to_representation(self, data: Any) -> list[Any]:
        return super().to_representation(people_of(data))


class PersonRowOut(PersonOut):
    class Meta:
        list_serializer_class = PeopleOut


class PersonMadeOut(FirstPasswordOut):
    person = PersonOut()


class InvitationIn(PlaceIn):
    display_name = serializers.CharField(max_length=120)
    email = serializers.EmailField(required=False, allow_blank=True, default="")
    days = serializers.IntegerField(min_value=1, max_value=30, default=7)
    by_mail = serializers.BooleanField(
        required=False, default=False, help_text="The link is sent to the e-mail and shown to nobody."
    )


class InvitationOut(serializers.ModelSerializer):
    organization = serializers.UUIDField(source="organization.uid", default=None, allow_null=True)
    roles = serializers.SerializerMethodField()
    state = serializers.CharField(help_text="open, used, withdrawn or expired.")
    mail = serializers.CharField(
        source="mail_state", help_text="waiting, sent or failed; empty where none was asked for."
    )
    mailed_at = serializers.DateTimeField(source="mail.sent_at", default=None, allow_null=True)

    class Meta:
        model = Invitation
        fields = [
            "uid",
            "display_name",
            "email",
            "organization",
            "roles",
            "state",
            "mail",
            "mailed_at",
            "expires_at",
            "created_at",
        ]

    def get_roles(self, row: Invitation) -> list[str]:
        return [role.code for role in row.roles.all()]


class InvitationMadeOut(InvitationOut):
    secret = serializers.CharField(
        help_text="Shown once; the link is the tenant's address and /join/ and this. Empty where it is mailed."
    )

    class Meta(InvitationOut.Meta):
        fields = [*InvitationOut.Meta.fields, "secret"]


class InvitationAcceptIn(SoundSerializer):
    tenant = serializers.CharField(max_length=63)
    secret = serializers.CharField(max_length=128)
    username = serializers.CharField(max_length=64)
    password = serializers.CharField(max_length=256, trim_whitespace=False)
    display_name = serializers.CharField(
        max_length=120,
        required=False,
        allow_blank=True,
        default="",
        help_text="For a new account; left empty, the account and its password must exist.",
    )


class JoinedOut(serializers.Serializer):
    tenant = serializers.CharField()
    username = serializers.CharField()
