"""A bill as a file to keep, for pages and the API alike."""

from django.http import HttpResponse
from django.utils.http import content_disposition_header

from apps.billing.bill_document import bill_document, bill_parts, part_lengths
from apps.billing.models import Bill
from apps.billing.report.pdf import pdf_of
from apps.billing.report.xlsx import xlsx_of
from apps.identity.pages.file_turns import one_at_a_time
from apps.kernel.actor import Actor
from apps.kernel.workbook import XLSX_TYPE


def bill_file(actor: Actor, bill: Bill, kind: str) -> HttpResponse:
    """The part of a bill that the actor reaches: `kind` is pdf or xlsx. Conflict while another file is written for
    him."""
    with one_at_a_time(actor):
        document, parts = bill_document(bill, actor), bill_parts(bill, actor)
        if kind == "pdf":
            data, content_type = pdf_of(document, part_lengths(bill, actor), parts), "application/pdf"
        else:
            data, content_type = xlsx_of(document, parts), XLSX_TYPE
    disposition = content_disposition_header(True, f"{bill.no}.{kind}") or ""
    return HttpResponse(data, content_type=content_type, headers={"Content-Disposition": disposition})
