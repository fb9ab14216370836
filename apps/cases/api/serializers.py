from rest_framework import serializers

from apps.cases.models import Case


class CaseOut(serializers.ModelSerializer):
    tenant = serializers.CharField(source="tenant.schema_name")
    tenant_name = serializers.CharField(source="tenant.name")
    link = serializers.CharField(source="operator_link")

    class Meta:
        model = Case
        fields = [
            "kind", "uid", "no", "title", "state", "tenant", "tenant_name", "applicant_name", "organization",
            "business_system", "side", "roles", "due_at", "urged_at", "is_open", "link", "created_at", "updated_at",
        ]  # fmt: skip
