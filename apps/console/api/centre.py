"""The centre over the API: set it up, once; read and change its settings."""

from typing import Any

from django.conf import settings
from django.db import transaction
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response

from apps.centre.errors import AlreadySetUp, SetupTokenUnknown
from apps.centre.models import Centre
from apps.centre.selectors import centre_find, centre_is_set_up, mail_by_environment
from apps.centre.services import (
    MailGiven,
    centre_change,
    centre_mail_set,
    centre_mail_try,
    centre_quotas_set,
    centre_seller_set,
    centre_tickets_set,
)
from apps.centre.setup_token import setup_token_is
from apps.centre.states import MailSecurity
from apps.console.centre.services import centre_setup
from apps.identity.api.base import ApiView
from apps.identity.api.sound import SoundSerializer
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import NotFound
from apps.kernel.money import CURRENCY

SOLD_BY = ("legal_name", "address", "tax_number", "bank")


class MailIn(SoundSerializer):
    """A mail server. Without `password` the one that is kept goes on to be used, for the same server and account."""

    host = serializers.CharField(max_length=253)
    port = serializers.IntegerField(min_value=1, max_value=65535, default=587)
    security = serializers.ChoiceField(choices=MailSecurity.choices, default=MailSecurity.STARTTLS)
    username = serializers.CharField(max_length=254, default="", allow_blank=True)
    password = serializers.CharField(
        max_length=256, write_only=True, required=False, allow_blank=True, trim_whitespace=False
    )
    sender = serializers.EmailField(help_text="Who mail is from.")


class CentreIn(SoundSerializer):
    """What is not named stays as it is."""

    name = serializers.CharField(max_length=80, required=False, allow_blank=True)
    language = serializers.ChoiceField(
        choices=settings.LANGUAGES, required=False, help_text="For whom no other is known to suit."
    )
    timezone = serializers.CharField(max_length=64, required=False, help_text="Such as Asia/Shanghai.")
    sends_tickets = serializers.BooleanField(
        required=False,
        help_text="Whether approved orders are delivered by themselves, or wait until an operator sends their tickets.",
    )
    keeps_quotas = serializers.BooleanField(
        required=False, help_text="Whether what is over its quota is refused, or counted only."
    )
    legal_name = serializers.CharField(
        max_length=160,
        required=False,
        allow_blank=True,
        help_text="What bills call their seller; empty: `name`.",
    )
    address = serializers.CharField(max_length=300, required=False, allow_blank=True, help_text="On bills.")
    tax_number = serializers.CharField(max_length=40, required=False, allow_blank=True, help_text="On bills.")
    bank = serializers.CharField(
        max_length=300, required=False, allow_blank=True, help_text="Bank and account, on bills."
    )


class SetupIn(SoundSerializer):
    """The first operator, and what the centre begins with."""

    token = serializers.CharField(max_length=128, help_text="From the link that the server printed.")
    username = serializers.CharField(max_length=64)
    display_name = serializers.CharField(max_length=120)
    email = serializers.EmailField(default="", allow_blank=True)
    password = serializers.CharField(max_length=256, write_only=True, trim_whitespace=False)
    name = serializers.CharField(max_length=80, default="", allow_blank=True)
    language = serializers.ChoiceField(choices=settings.LANGUAGES, default="zh-hans")
    timezone = serializers.CharField(max_length=64, default="Asia/Shanghai")
    mail = MailIn(required=False, allow_null=True, default=None)


class SetupOut(serializers.Serializer[Any]):
    username = serializers.CharField(help_text="Who signs in now, at auth/login.")
    name = serializers.CharField(help_text="What the centre is called.")


class MailOut(serializers.Serializer[Any]):
    host = serializers.CharField(source="mail_host")
    port = serializers.IntegerField(source="mail_port")
    security = serializers.ChoiceField(source="mail_security", choices=MailSecurity.choices)
    username = serializers.CharField(source="mail_username")
    sender = serializers.CharField(source="mail_sender")


class CentreOut(serializers.ModelSerializer[Centre]):
    currency = serializers.SerializerMethodField(help_text="The one currency of the ledger.")
    mail = serializers.SerializerMethodField(help_text="Null: the centre names no mail server.")
    is_mail_fixed = serializers.SerializerMethodField(
        help_text="Whether the server's own environment (WEIR_EMAIL_URL) says how mail goes, whatever is said here."
    )

    class Meta:
        model = Centre
        fields = [
            "name",
            "language",
            "timezone",
            "sends_tickets",
            "keeps_quotas",
            *SOLD_BY,
            "currency",
            "mail",
            "is_mail_fixed",
            "opened_at",
        ]

    def get_currency(self, row: Centre) -> str:
        return CURRENCY

    @extend_schema_field(MailOut(allow_null=True))
    def get_mail(self, row: Centre) -> Any:
        return MailOut(row).data if row.mail_host else None

    def get_is_mail_fixed(self, row: Centre) -> bool:
        return mail_by_environment() is not None


class MailTryIn(SoundSerializer):
    to = serializers.EmailField(max_length=254)


class SetupView(ApiView):
    plane = "both"
    no_key_because = "it happens once: a repeat is refused by name"
    open_because = "nobody can sign in before it; the setup token is asked for instead"

    def get_authenticators(self) -> list[BaseAuthentication]:
        return []

    def get_permissions(self) -> list[BasePermission]:
        return []

    @extend_schema(request=SetupIn, responses={201: SetupOut}, auth=[])
    def post(self, request: Request) -> Response:
        """Set an empty centre up: its first operator and its settings. Works once."""
        given = SetupIn(data=request.data)
        given.is_valid(raise_exception=True)
        data = dict(given.validated_data)
        if centre_is_set_up():
            raise AlreadySetUp()
        if not setup_token_is(data.pop("token")):
            raise SetupTokenUnknown()
        mail = data.pop("mail")
        centre, user = centre_setup(actor=SYSTEM, mail=MailGiven(**mail) if mail else None, **data)
        return Response(SetupOut({"username": user.username, "name": str(centre)}).data, status=201)


class CentreView(ApiView):
    plane = "provider"
    permission = "tenancy.view"

    @extend_schema(responses=CentreOut)
    def get(self, request: Request) -> Response:
        """The centre's own settings."""
        return Response(CentreOut(_row()).data)

    @extend_schema(request=CentreIn, responses=CentreOut)
    def patch(self, request: Request) -> Response:
        """Change its name, language or time zone, how it goes about orders and quotas, or what bills say of it."""
        given = CentreIn(data=request.data)
        given.is_valid(raise_exception=True)
        row = _row()
        wanted = dict(given.validated_data)
        sends = wanted.pop("sends_tickets", row.sends_tickets)
        quotas = wanted.pop("keeps_quotas", row.keeps_quotas)
        seller = {name: wanted.pop(name) for name in SOLD_BY if name in wanted}
        kept = {"name": row.name, "language": row.language, "timezone": row.timezone}
        with transaction.atomic():
            row = centre_change(actor=self.actor, **{**kept, **wanted})
            if sends != row.sends_tickets:
                row = centre_tickets_set(actor=self.actor, sends_tickets=sends)
            if quotas != row.keeps_quotas:
                row = centre_quotas_set(actor=self.actor, keeps_quotas=quotas)
            if seller:
                shown = {name: getattr(row, name) for name in SOLD_BY}
                row = centre_seller_set(actor=self.actor, **(shown | seller))
        return Response(CentreOut(row).data)


class CentreMailView(ApiView):
    plane = "provider"
    permission = "centre.manage"

    @extend_schema(request=MailIn, responses=CentreOut)
    def put(self, request: Request) -> Response:
        """The server by which mail is sent from now on."""
        given = MailIn(data=request.data)
        given.is_valid(raise_exception=True)
        return Response(
            CentreOut(centre_mail_set(actor=self.actor, mail=MailGiven(**given.validated_data))).data
        )

    @extend_schema(responses={204: None})
    def delete(self, request: Request) -> Response:
        """Send mail no more."""
        centre_mail_set(actor=self.actor, mail=None)
        return Response(status=204)


class CentreMailTryView(ApiView):
    plane = "provider"
    permission = "centre.manage"

    @extend_schema(request=MailTryIn, responses={204: None})
    def post(self, request: Request) -> Response:
        """Send one mail to see whether it goes; refused with the mail server's own word."""
        given = MailTryIn(data=request.data)
        given.is_valid(raise_exception=True)
        centre_mail_try(actor=self.actor, to=given.validated_data["to"])
        return Response(status=204)


def _row() -> Centre:
    row = centre_find()
    if row is None:
        raise NotFound()
    return row
