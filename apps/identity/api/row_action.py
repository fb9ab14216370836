"""One thing done to one row; which, the route says."""

from typing import Any, ClassVar

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer

from apps.identity.api.base import ApiView


class ActView(ApiView):
    """Calls `act(actor=…, <takes>=uid)` and answers with the row. Those of one kind share a subclass that carries
    the schema: `@extend_schema(request=None, responses=…)`."""

    plane = "provider"
    act: ClassVar[Any] = None
    takes: ClassVar[str] = "uid"
    shows: ClassVar[type[BaseSerializer]]

    def post(self, request: Request, uid: Any) -> Response:
        row = type(self).act(actor=self.actor, **{self.takes: uid})
        return Response(self.shows(self.row_of(row)).data)

    def row_of(self, row: Any) -> Any:
        """What is shown of the row that the act returned."""
        return row
