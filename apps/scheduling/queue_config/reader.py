"""A text of queues, in whichever of its forms (ELA-1701, ELA-1703)."""

from django.utils.translation import gettext as _

from apps.scheduling.queue_config.schema import Fault, QueueFile, documents_of, file_refusal, queue_file_read
from apps.scheduling.queue_config.volcano_import import is_volcano, volcano_read


def file_read(text: str) -> QueueFile:
    """`queues.yaml`, a ConfigMap that holds it, or manifests of Volcano's queues. Raises InvalidQueueFile."""
    found = documents_of(text)
    if is_volcano(found[0].value):
        return volcano_read(found)
    if len(found) > 1:
        raise file_refusal(
            [Fault(found[1].line, _("A second document begins."), _("Put all queues into one."))]
        )
    return queue_file_read(found[0])
