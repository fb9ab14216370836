"""A living centre: two tenants, each with an order that was carried to a paid bill and one that still runs.

Made through the API by the people of the demo, so what it holds is what real calls leave behind.
"""

import re
from base64 import b64encode
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from apps.billing.services.rating import usage_rate
from apps.identity.models import User
from apps.identity.services.tokens import api_token_make
from apps.images.models import Image, ImageBuild, ImageVersion
from apps.images.states import BuildState, Owner, VersionState
from apps.kernel.actor import SYSTEM
from apps.kernel.planes import in_tenant
from apps.orders.selectors import orders_undelivered
from apps.orders.services.deliveries import order_deliver
from apps.scheduling.models import ServiceKey, Workload
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.tenancy.models import Tenant
from portal.demo.people import MEMBERS
from portal.demo.seed import seed_all
from tests.factories.node import SpokenNode

AMOUNTS = {"compute_share": 20, "gpu_memory": 512, "cpu": 1, "memory": 1024}
CREW = {"acme": ("alice", "dan", "olga", "sam"), "globex": ("gina", "gil", "greta", "greta")}
PASSWORD = "correct-horse-9"


@dataclass
class World:
    """`uids[schema][kind]` are the identifiers of what each tenant has."""

    node: SpokenNode
    uids: dict[str, dict[str, str]] = field(default_factory=dict)

    def api(self, username: str, tenant: str = "") -> APIClient:
        """A person's API client; `tenant` to enter one as an operator."""
        person = next((one for one in MEMBERS if one.username == username), None)
        tied = Tenant.objects.get(schema_name=person.schema) if person else None
        user = User.objects.get(username=username)
        _token, secret = api_token_make(actor=SYSTEM, user=user, name="test", tenant=tied)
        client = APIClient(headers={"host": "localhost", **({"weir-tenant": tenant} if tenant else {})})
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
        return client

    def page(self, username: str) -> Client:
        """A person's signed-in browser on the own host."""
        person = next((one for one in MEMBERS if one.username == username), None)
        client = Client(headers={"host": f"{person.schema}.localhost" if person else "localhost"})
        client.force_login(User.objects.get(username=username))
        return client

    def client(self, side: str) -> Any:
        """`api:alice`, `page:ops`."""
        kind, _colon, username = side.partition(":")
        return self.api(username) if kind == "api" else self.page(username)

    def fill(self, path: str, schema: str = "acme") -> str:
        """Put acme's identifiers into `{order}`-like places of a path."""
        return re.sub(r"\{(\w+)\}", lambda found: str(self.uids[schema][found[1]]), path)


def world_make() -> World:
    seed_all(PASSWORD)
    world = World(SpokenNode())
    for schema in CREW:
        world.uids[schema] = Story(world, schema).tell()
    return world


def tick(world: World, seconds: int = 10) -> None:
    """What worker, beat and agent do meanwhile."""
    for schema in CREW:
        with in_tenant(schema):
            for uid in orders_undelivered():
                order_deliver(actor=SYSTEM, order_uid=uid)
    cycle_run(actor=SYSTEM)
    world.node.run_all(seconds)
    usage_rate(actor=SYSTEM)


class Story:
    """One tenant's tale."""

    def __init__(self, world: World, schema: str) -> None:
        self.world, self.schema = world, schema
        user, decider, payer, self.admin = CREW[schema]
        self.user, self.decider, self.payer = (world.api(name) for name in (user, decider, payer))
        self.ops = world.api("ops")
        self.ops_inside = world.api("ops", schema)
        self.uids: dict[str, str] = {}

    def tell(self) -> dict[str, str]:
        uids = self.uids
        uids["commodity"] = rows(self.user.get("/api/v1/commodities"))[0]["uid"]
        uids["business_system"] = rows(self.user.get("/api/v1/business-systems"))[0]["uid"]
        uids["organization"] = rows(self.world.api(self.admin).get("/api/v1/organizations"))[0]["uid"]
        line = {"commodity": uids["commodity"], "amounts": AMOUNTS, "count": 1}
        people = self.world.api(self.admin)
        uids["person"] = rows(people.get("/api/v1/people"))[0]["uid"]
        invite = {"display_name": f"Guest of {self.schema}", "roles": []}
        uids["invitation"] = good(people.post("/api/v1/invitations", invite))["uid"]
        uids["cart"] = good(self.user.post("/api/v1/cart", line))["uid"]
        form = self.form(line)
        uids["form"] = form["uid"]
        uids["attachment"] = form["attachments"][0]["uid"]
        self.approve(form["uid"])
        tick(self.world)
        form = good(self.user.get(f"/api/v1/application-forms/{form['uid']}"))
        uids["order"], uids["resource"] = form["orders"][0]["uid"], form["orders"][0]["workload"]
        uids["ticket"] = good(self.user.get(f"/api/v1/orders/{uids['order']}"))["ticket"]
        self.files()
        self.money()
        self.service_key()
        self.access_key()
        uids["message"] = rows(self.user.get("/api/v1/messages"))[0]["uid"]
        self.request()
        waiting = self.form(line)
        uids["waiting_form"] = waiting["uid"]
        uids["waiting_task"] = task_of(self.decider, waiting["no"])["uid"]
        return uids

    def form(self, line: dict[str, Any]) -> dict[str, Any]:
        body = {
            "lines": [line],
            "duration_s": 3600,
            "business_system": self.uids["business_system"],
            "remark": f"secret plan of {self.schema}",
        }
        form = good(self.user.post("/api/v1/application-forms", body))
        upload = SimpleUploadedFile("plan.md", f"plan of {self.schema}\n".encode(), "text/markdown")
        path = f"/api/v1/application-forms/{form['uid']}"
        good(self.user.post(f"{path}/attachments", {"file": upload}, format="multipart"))
        good(self.user.post(f"{path}/submit"))
        return good(self.user.get(path))

    def approve(self, form_uid: str) -> None:
        no = good(self.user.get(f"/api/v1/application-forms/{form_uid}"))["no"]
        self.uids["task"] = task_of(self.decider, no)["uid"]
        good(self.decider.post(f"/api/v1/tasks/{self.uids['task']}/decide", {"decision": "approve"}))
        task = task_of(self.ops, no)
        good(self.ops_inside.post(f"/api/v1/tasks/{task['uid']}/decide", {"decision": "approve"}))

    def files(self) -> None:
        """A volume of the user's own, with a file in it and an upload that is not finished."""
        uids = self.uids
        body = {"name": f"volume-of-{self.schema}", "size_mib": 8}
        uids["volume"] = good(self.user.post("/api/v1/volumes", body))["uid"]
        for path, size in (("plan.md", 5), ("half.bin", 9)):
            answer = self.user.generic(
                "POST",
                f"/api/v1/volumes/{uids['volume']}/uploads",
                b"plan!",
                content_type="application/offset+octet-stream",
                headers={
                    "tus-resumable": "1.0.0",
                    "upload-length": str(size),
                    "upload-metadata": f"path {b64encode(path.encode()).decode()}",
                },
            )
            uids["upload"] = good(answer)["uid"]
        body = {"kind": "dataset", "name": "plans", "introduction": f"secret plans of {self.schema}"}
        uids["asset"] = good(self.user.post("/api/v1/assets", body, format="json"))["uid"]
        self.images()

    def images(self) -> None:
        """An image of the user's own, with a version as it stands once a worker has brought it to a registry."""
        image = Image.objects.create(
            tenant=Tenant.objects.get(schema_name=self.schema),
            name="plans",
            introduction=f"secret plan of {self.schema}",
            owner=Owner.PERSON,
            person=User.objects.get(username=CREW[self.schema][0]),
        )
        version = ImageVersion.objects.create(
            image=image,
            tag="1",
            state=VersionState.READY,
            repository=f"{self.schema}/{image.uid.hex}",
            digest=f"sha256:{image.uid.hex * 2}",
            architecture="amd64",
            size_bytes=2**20,
            unpacked_bytes=2**22,
            entry_point=["/bin/plan", "--all"],
            layers=[{"digest": f"sha256:{image.uid.hex * 2}", "size_bytes": 2**20}],
            made_by=image.person,
        )
        self.uids |= {"image": str(image.uid), "image_version": str(version.uid)}
        build = ImageBuild.plain.create(
            tenant=image.tenant,
            version_uid=version.uid,
            workload_uid=uuid4(),
            workload_no="W-0000000000",
            name=str(version),
            made_by=image.person,
            containerfile=f"FROM base:1\nRUN echo secret plan of {self.schema}\n",
            base="base:1",
            steps=1,
            state=BuildState.DONE,
            ended_at=timezone.now(),
        )
        self.uids["image_build"] = str(build.uid)

    def service_key(self) -> None:
        """The user's resource is a service, with a key as he makes one."""
        row = Workload.plain.get(uid=self.uids["resource"])
        row.work |= {"service": {"port": 8080, "health_path": "/"}}
        row.save(update_fields=["work"])
        key = ServiceKey.plain.create(
            tenant=row.tenant,
            workload=row,
            name=f"secret plan of {self.schema}",
            digest=row.uid.hex * 2,
            made_by=User.objects.get(username=CREW[self.schema][0]),
            role="tenant_front_line",
        )
        self.uids["service_key"] = str(key.uid)

    def access_key(self) -> None:
        body = {"name": f"secret plan of {self.schema}"}
        self.uids["access_key"] = good(self.user.post("/api/v1/access-keys", body, format="json"))["uid"]

    def request(self) -> None:
        """A ticket that the user opened, with a file."""
        offered = self.user.get("/api/v1/ticket-categories/offered").json()
        category = next(row["uid"] for row in offered if row["path"] == "system")
        body = {"category": category, "title": f"secret plan of {self.schema}"}
        self.uids["request"] = good(self.user.post("/api/v1/tickets", body, format="json"))["uid"]
        upload = SimpleUploadedFile("log.txt", f"log of {self.schema}\n".encode(), "text/plain")
        path = f"/api/v1/tickets/{self.uids['request']}/files"
        self.uids["request_file"] = good(self.user.post(path, {"file": upload}, format="multipart"))["uid"]

    def money(self) -> None:
        uids = self.uids
        bill = good(self.payer.post("/api/v1/bills", {}))
        uids["bill"] = bill["uid"]
        uids["bill_line"] = good(self.payer.get(f"/api/v1/bills/{bill['uid']}"))["lines"][0]["uid"]
        uids["activity"] = rows(self.payer.get("/api/v1/coupon-activities"))[0]["uid"]
        uids["coupon"] = good(self.payer.post(f"/api/v1/coupon-activities/{uids['activity']}/claim"))["uid"]
        good(self.payer.post(f"/api/v1/bills/{bill['uid']}/confirm"))
        good(self.payer.post(f"/api/v1/bills/{bill['uid']}/pay", {"coupon": uids["coupon"]}))


def good(answer: Any) -> Any:
    assert answer.status_code < 300, (answer.status_code, answer.content[:800])
    return answer.json() if answer.content else None


def rows(answer: Any) -> list[dict[str, Any]]:
    found = good(answer)
    return found if isinstance(found, list) else found["results"]


def task_of(client: APIClient, no: str) -> dict[str, Any]:
    return next(task for task in rows(client.get("/api/v1/tasks")) if task["no"] == no)
