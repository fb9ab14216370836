from rest_framework import serializers

from apps.tickets.models import Ticket


class TicketOut(serializers.ModelSerializer):
    title = serializers.CharField()
    subject = serializers.UUIDField(source="subject_uid")
    assignee = serializers.CharField(source="assignee.display_name", default="")
    organization = serializers.CharField(source="organization_name")
    business_system = serializers.CharField(source="business_system_name")

    class Meta:
        model = Ticket
        fields = [
            "uid", "no", "kind", "title", "subject_kind", "subject", "subject_no", "side", "state",
            "submitter_name", "organization", "business_system", "assignee", "result", "created_at", "claimed_at",
            "done_at",
        ]  # fmt: skip
