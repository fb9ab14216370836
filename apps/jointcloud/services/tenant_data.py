"""What is kept of a tenant's jobs over centres, when that tenant's data are deleted."""

from django.db.models import CharField, F, Value
from django.db.models.functions import Cast, Concat

from apps.jointcloud.models import Dataset, Decision, Job, Replica, Task, TaskData
from apps.jointcloud.services.following import job_end
from apps.jointcloud.services.settling import job_lock
from apps.jointcloud.states import OPEN
from apps.kernel.actor import Actor, act_subject
from apps.kernel.service import service
from apps.tenancy.models import Tenant


@service(recorded=False)
def tenant_jobs_forget(*, actor: Actor, tenant: Tenant) -> None:
    """End what is open of a tenant's jobs. Of all of them only numbers, amounts, places, prices and times stay; how
    they were called, what they ran, what centres said of them, what was decided on them and the data they read goes."""
    act_subject("tenant", tenant.schema_name)
    jobs = Job.plain.filter(tenant=tenant)
    for job_id in jobs.filter(state__in=OPEN).order_by("pk").values_list("job_id", flat=True):
        job = job_lock(job_id)
        if job is not None and job.state in OPEN and job.stop_asked_at is None:
            job_end(job, actor=actor)
    Decision.objects.filter(task__job__tenant=tenant).delete()
    Replica.objects.filter(task__job__tenant=tenant).exclude(reason="").update(reason="")
    Task.objects.filter(job__tenant=tenant).update(
        name=Concat(Value("task"), Cast("number", CharField())), command="", image_id="", waits_for=[]
    )
    jobs.update(name=F("job_id"), desc="", weights=None, labels={})
    TaskData.objects.filter(task__job__tenant=tenant).delete()
    Dataset.objects.filter(tenant=tenant).delete()
