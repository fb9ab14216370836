"""The lives of application forms and orders (platform.md, annex A).

What annex A leaves open is decided here:

- An order whose run time is over stays `completed`: it was delivered, and its end is written beside the state
  (`ended_at`, `end_reason_code`). Only a termination makes it `terminated`, only a failed delivery `failed`.
- A form whose delivery failed is `completed` too, with a note: nothing is left to be done about it.
- A termination form that is approved is `delivering` until its resource is released, then `completed`.
"""

from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.kernel.flow import Flow


class FormKind(models.TextChoices):
    NEW = "new", _("New")
    CHANGE = "change", _("Change")
    TERMINATION = "termination", _("Termination")
    REGULARIZATION = "regularization", _("Regularization")


class FormState(models.TextChoices):
    DRAFT = "draft", _("Draft")
    SUBMITTED = "submitted", _("Submitted")
    APPROVING = "approving", _("In approval")
    APPROVED = "approved", _("Approved")
    DELIVERING = "delivering", _("In delivery")
    COMPLETED = "completed", _("Completed")
    REJECTED = "rejected", _("Rejected")


class OrderState(models.TextChoices):
    PENDING = "pending", _("Pending")
    PROCESSING = "processing", _("Processing")
    SHIPPED = "shipped", _("Shipped")
    COMPLETED = "completed", _("Completed")
    TERMINATING = "terminating", _("Terminating")
    TERMINATED = "terminated", _("Terminated")
    FAILED = "failed", _("Failed")


IN_PROGRESS = (FormState.SUBMITTED, FormState.APPROVING, FormState.APPROVED, FormState.DELIVERING)
FINISHED = (FormState.COMPLETED, FormState.REJECTED)
TERMINABLE = (OrderState.PENDING, OrderState.PROCESSING, OrderState.SHIPPED, OrderState.COMPLETED)

FORM = Flow(
    {
        (FormState.DRAFT, FormState.SUBMITTED): "",
        (FormState.SUBMITTED, FormState.DRAFT): "",
        (FormState.SUBMITTED, FormState.APPROVING): "",
        (FormState.APPROVING, FormState.DRAFT): "",
        (FormState.APPROVING, FormState.APPROVED): "",
        (FormState.APPROVING, FormState.REJECTED): "",
        (FormState.APPROVED, FormState.DELIVERING): "",
        (FormState.DELIVERING, FormState.COMPLETED): "",
    },
    mirrored="form",
)
ORDER = Flow(
    {
        (OrderState.PENDING, OrderState.PROCESSING): "",
        (OrderState.PENDING, OrderState.FAILED): "",
        (OrderState.PROCESSING, OrderState.SHIPPED): "",
        (OrderState.PROCESSING, OrderState.FAILED): "",
        (OrderState.SHIPPED, OrderState.COMPLETED): "",
        **{(state, OrderState.TERMINATING): "" for state in TERMINABLE},
        **{(OrderState.TERMINATING, state): "" for state in TERMINABLE},
        (OrderState.TERMINATING, OrderState.TERMINATED): "",
        (OrderState.TERMINATING, OrderState.FAILED): "",
    },
    mirrored="order",
)
