from rest_framework import serializers

from apps.fleet.models import Device, Node


class DeviceOut(serializers.ModelSerializer):
    node = serializers.CharField(source="node.name", read_only=True)
    node_uid = serializers.CharField(source="node.uid", read_only=True)
    free_percent = serializers.IntegerField(read_only=True)
    free_mib = serializers.IntegerField(read_only=True)

    class Meta:
        model = Device
        fields = [
            "uid",
            "node",
            "node_uid",
            "index",
            "vendor",
            "model",
            "memory_mib",
            "reported_mib",
            "cores",
            "driver_version",
            "is_enabled",
            "is_simulated",
            "health",
            "health_reason",
            "oversubscribe_permille",
            "memory_oversubscribe_permille",
            "held_percent",
            "held_mib",
            "whole_held",
            "free_percent",
            "free_mib",
            "measured",
            "measured_at",
            "created_at",
        ]


class NodeOut(serializers.ModelSerializer):
    hostname = serializers.CharField(source="info.hostname", default="", read_only=True)
    os = serializers.CharField(source="info.os", default="", read_only=True)
    cpu_count = serializers.IntegerField(source="info.cpu_count", default=0, read_only=True)
    memory_mib = serializers.IntegerField(source="info.memory_mib", default=0, read_only=True)
    labels = serializers.DictField(
        source="info.labels", child=serializers.CharField(), default=dict, read_only=True
    )

    class Meta:
        model = Node
        fields = [
            "uid",
            "name",
            "state",
            "is_drained",
            "last_seen_at",
            "lost_at",
            "agent_version",
            "clock_offset_s",
            "hostname",
            "os",
            "cpu_count",
            "memory_mib",
            "labels",
            "created_at",
        ]


class NodeDetailOut(NodeOut):
    devices = DeviceOut(many=True, read_only=True)

    class Meta(NodeOut.Meta):
        fields = [*NodeOut.Meta.fields, "devices"]
