"""The address at which clients of S3 reach the files of volumes, beside the portal that was asked."""

from django.conf import settings
from django.http import HttpRequest


def object_origin(request: HttpRequest) -> str:
    """By the scheme and at the port of the portal that was asked."""
    _name, colon, port = request.get_host().rpartition(":")
    at = f":{port}" if colon and port.isdigit() else ""
    return f"{request.scheme}://{settings.WEIR_S3_HOST}{at}"
