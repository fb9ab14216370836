"""One order, from the catalogue to the paid bill, through the public API, told in plain words.

Everything here goes through `import weir`, as a stranger's program would. It prints each step with its state changes,
amounts and times, and ends with a paid bill that the reader can check by hand.
"""

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import weir

if TYPE_CHECKING:
    from weir.api_types import (
        BillLineOut,
        BillLineWholeOut,
        BillWholeOut,
        CommodityOut,
        FormOut,
        OrderOut,
        QuoteAndStartOut,
        TaskRowOut,
        WorkloadOut,
    )

AMOUNTS = {"compute_share": 40, "gpu_memory": 512, "cpu": 1, "memory": 1024}
NEIGHBOUR_AMOUNTS = {"compute_share": 20, "gpu_memory": 256, "cpu": 1, "memory": 512}
RUN_FOR_S = 12
PATIENCE_S = 240.0


class JourneyFailed(Exception):
    """A step did not come out as the product promises."""


@dataclass
class Journey:
    """The actors of the story and what they have made so far.

    Args:
        url: the portal's address.
        password: of all demo people.
        say: where the story goes.
        duration_s: how long the resource is ordered for.
    """

    url: str
    password: str
    say: Callable[[str], None] = print
    duration_s: int = 600
    people: dict[str, weir.Client] = field(default_factory=dict)
    began_s: float = field(default_factory=time.monotonic)

    def person(self, name: str, tenant: str = "") -> weir.Client:
        """A signed-in person, one session each."""
        key = f"{name}@{tenant}"
        if key not in self.people:
            client, answer = weir.Client.sign_in(self.url, name, self.password)
            if tenant:
                client = weir.Client(self.url, answer["token"], tenant=tenant)
            self.people[key] = client
        return self.people[key]

    def step(self, text: str) -> None:
        self.say(f"[{time.monotonic() - self.began_s:6.1f} s] {text}")

    def wait(self, what: str, look: Callable[[], Any], patience_s: float = PATIENCE_S) -> Any:
        """Look every half second until there is something to see."""
        until = time.monotonic() + patience_s
        while True:
            found = look()
            if found:
                return found
            if time.monotonic() > until:
                raise JourneyFailed(f"waited {patience_s:.0f} s in vain for {what}")
            time.sleep(0.5)

    # --- the story ----------------------------------------------------------------------------------------

    def tell(self) -> "BillWholeOut":
        """All of it; the last bill, paid."""
        neighbour = self.order_made("gina", "gil", NEIGHBOUR_AMOUNTS, "a second tenant on the same device")
        order = self.order_made("alice", "dan", AMOUNTS, "train a small model")
        self.neighbours(order, neighbour)
        self.watch(order)
        first = self.settle(order)
        self.end(neighbour, "gina", "gil")
        self.end(order, "alice", "dan")
        last = self.settle(order)
        self.totals(order, [first, last])
        return last

    def commodity(self, who: weir.Client) -> "CommodityOut":
        found = who.commodities("training example")
        if not found:
            raise JourneyFailed("nothing is listed in the catalogue")
        return found[0]

    def order_made(self, applicant: str, decider: str, amounts: dict[str, int], remark: str) -> "OrderOut":
        """Catalogue, quote, cart, form, approvals, order, running resource; the order."""
        user = self.person(applicant)
        goods = self.commodity(user)
        quote = user.quote(goods["uid"], amounts, duration_s=self.duration_s)
        self.step(
            f"{applicant} finds “{goods['name_en']}” ({goods['number']}) in the catalogue and asks for"
            f" {_short(amounts)}"
        )
        self.quote_print(quote)
        form = self.form_made(user, goods, amounts, remark)
        self.step(f"   form {form['no']} is a {form['state']}; withdrawn and sent again to show that one can")
        form = user.application_submit(form["uid"])
        form = user.application_withdraw(form["uid"])
        form = user.application_submit(form["uid"])
        self.step(f"   submitted: {form['state']}; quota in process: {self.in_process(user)}")
        self.approvals(form, decider)
        return self.delivered(user, form)

    def quote_print(self, quote: "QuoteAndStartOut") -> None:
        for line in quote["lines"]:
            price = f"{line['unit_amount']} CNY for one share and {line['price_unit']}"
            self.step(
                f"   {line['name_en']}: {line['quantity']} {line['unit']} ({line['tier_method']}) = {price}"
            )
        self.step(
            f"   quote: {quote['per_hour']} CNY an hour, at most {quote['total']} CNY for {quote['duration_s']} s,"
            f" price version {quote['price_number']}; expected start: {_start(quote)}"
        )

    def form_made(
        self, user: weir.Client, goods: "CommodityOut", amounts: dict[str, int], remark: str
    ) -> "FormOut":
        """Cart, draft and attachment."""
        line = user.cart_add(goods["uid"], amounts)
        system = user.business_systems()[-1]
        form = user.application_make(
            lines=[{"commodity": line["commodity"], "amounts": line["amounts"], "count": line["count"]}],
            duration_s=self.duration_s,
            business_system=system["uid"],
            remark=remark,
            cart=[line["uid"]],
        )
        with tempfile.TemporaryDirectory() as folder:
            plan = Path(folder) / "plan.md"
            plan.write_text(f"# {remark}\n\nOne run of the training script.\n")
            user.attach(form["uid"], plan)
        return form

    def in_process(self, user: weir.Client) -> str:
        quota = user.quota()
        return ", ".join(f"{row['item']} {row['in_process']} of {row['total']}" for row in quota)

    def approvals(self, form: "FormOut", decider: str) -> None:
        """The tenant's decision maker, then the operators' manager."""
        task = self.task_of(self.person(decider), form)
        self.person(decider).decide(task["uid"], "approve", "Fits our plan.")
        self.step(f"   {decider} approves step “{task['step']}”")
        task = self.task_of(self.person("ops"), form)
        self.person("ops", task["tenant"]).decide(task["uid"], "approve", "Capacity is there.")
        self.step(f"   ops approves step “{task['step']}”")

    def task_of(self, client: weir.Client, form: "FormOut") -> "TaskRowOut":
        found: TaskRowOut = self.wait(
            f"the task of {form['no']}",
            lambda: next((task for task in client.tasks() if task["no"] == form["no"]), None),
        )
        return found

    def delivered(self, user: weir.Client, form: "FormOut") -> "OrderOut":
        made = self.wait("the order", lambda: next(iter(user.application(form["uid"])["orders"]), None))
        self.step(f"   order {made['no']} is made: {made['state']}")
        order: OrderOut = self.wait("delivery", lambda: self.order_in(user, made["uid"], "completed"))
        work = user.workload(_workload(order))
        self.step(
            f"   order {order['no']} is {order['state']}: {work['state']} on {_place(work)},"
            f" {work['compute_percent']} % and {work['memory_mib']} MiB"
        )
        return order

    def order_in(self, user: weir.Client, uid: str, state: str) -> "OrderOut | None":
        order = user.order(uid)
        if order["state"] == "failed":
            raise JourneyFailed(f"order {order['no']} failed: {order['note']}")
        return order if order["state"] == state else None

    def neighbours(self, order: "OrderOut", neighbour: "OrderOut") -> None:
        mine = self.person("alice").workload(_workload(order))
        theirs = self.person("gina").workload(_workload(neighbour))
        is_shared = mine["slices"][0]["device"] == theirs["slices"][0]["device"]
        self.step(
            f"two tenants run at the same time{' on the same device' if is_shared else ''}: {_place(mine)}"
        )

    def watch(self, order: "OrderOut") -> None:
        """The log as it grows, and the share as it is measured."""
        user, uid = self.person("alice"), _workload(order)
        self.step("the log of alice's work streams:")
        offset, until, shown = 0, time.monotonic() + RUN_FOR_S, 0
        while time.monotonic() < until:
            printed = user.log(uid, offset)
            offset = printed["next_offset"]
            for line in printed["text"].splitlines()[: max(0, 5 - shown)]:
                shown += 1
                self.say(f"             | {line}")
            time.sleep(1)
        if not shown:
            raise JourneyFailed("the work printed nothing")
        work = user.workload(uid)
        for part in work["slices"]:
            self.step(
                f"   measured: {part['delivered_percent']} % of the device (sold {part['compute_percent']} %),"
                f" {part['memory_used_mib']} of {part['memory_mib']} MiB; held by {part['compute_enforced_by']}"
                f" and {part['memory_enforced_by']}"
            )

    def settle(self, order: "OrderOut") -> "BillWholeOut":
        """Claim a coupon, make a bill of what was used up to now, confirm it, pay it."""
        payer = self.person("olga")
        bill: BillWholeOut = self.wait("a bill of the usage", lambda: self.bill_made(payer))
        activity = payer.coupon_activities()[0]
        coupon = payer.coupon_claim(activity["uid"])
        self.step(f"olga claims coupon {coupon['code']} worth {coupon['face_value']} CNY")
        bill = payer.bill(bill["uid"])
        self.bill_print(payer, bill)
        payer.bill_confirm(bill["uid"])
        before = payer.account()["balance"]
        payer.bill_pay(bill["uid"], coupon["uid"])
        after = payer.account()["balance"]
        bill = payer.bill(bill["uid"])
        paid = bill["payment"]
        if paid is None:
            raise JourneyFailed(f"bill {bill['no']} is {bill['state']} and has no payment")
        self.step(
            f"   bill {bill['no']} is {bill['state']}: {paid['coupon_amount']} CNY from the coupon and"
            f" {paid['balance_amount']} from the balance; balance {before} → {after} CNY"
        )
        return bill

    @staticmethod
    def bill_made(payer: weir.Client) -> "BillWholeOut | None":
        try:
            return payer.bill_make()
        except weir.ApiError as refusal:
            if refusal.status == 409:
                return None
            raise

    def bill_print(self, payer: weir.Client, bill: "BillWholeOut") -> None:
        self.step(f"bill {bill['no']} is {bill['state']}: {bill['total']} CNY")
        sum_of_lines = Decimal(0)
        for line in bill["lines"]:
            detail = payer.bill_line(bill["uid"], line["uid"])
            sum_of_lines += Decimal(line["amount"])
            self.line_print(line, detail)
        if sum_of_lines != Decimal(bill["total"]):
            raise JourneyFailed(f"the lines sum to {sum_of_lines}, the bill says {bill['total']}")

    def line_print(self, line: "BillLineOut", detail: "BillLineWholeOut") -> None:
        """The amount, and the way to get it by hand: seconds x price an hour ÷ 3600, half up."""
        records = detail["records"]["results"]
        by_hand = Decimal(line["unit_amount"]) * line["share_seconds"] / 3600
        rounded = by_hand.quantize(Decimal("0.01"), ROUND_HALF_UP)
        when = f"{_clock(records[0]['start_at'])}–{_clock(records[-1]['end_at'])}, {len(records)} intervals"
        self.say(
            f"             {line['order_no']} {line['name_en']} ({line['quantity']} {line['unit']}): {when},"
            f" {line['share_seconds']} s x {line['unit_amount']} CNY/h ÷ 3600 = {line['amount']}"
        )
        if rounded != Decimal(line["amount"]):
            raise JourneyFailed(f"by hand it is {rounded}, the bill says {line['amount']}")
        if sum(record["seconds"] for record in records) != line["share_seconds"]:
            raise JourneyFailed("the intervals do not add up to the seconds billed")

    def end(self, order: "OrderOut", applicant: str, decider: str) -> None:
        """Terminate: approval, release, quota back, metering stops to the second."""
        user = self.person(applicant)
        form = user.order_terminate(order["uid"], "done")
        task = self.task_of(self.person(decider), form)
        self.person(decider).decide(task["uid"], "approve", "")
        self.wait("release", lambda: self.order_in(user, order["uid"], "terminated"))
        work = user.workload(_workload(order))
        metered = sum(record["seconds"] for record in user.usage(_workload(order)))
        self.step(
            f"{applicant} terminates {order['no']}, {decider} approves: {work['state']}; ran"
            f" {_clock(work['started_at'])}–{_clock(work['ended_at'])}, {metered} s metered, quota in process or used:"
            f" {self.quota_in_use(user)}"
        )

    def quota_in_use(self, user: weir.Client) -> int:
        return sum(row["used"] + row["in_process"] for row in user.quota())

    def totals(self, order: "OrderOut", bills: "list[BillWholeOut]") -> None:
        usage = self.person("alice").usage(_workload(order))
        seconds = sum(record["seconds"] for record in usage)
        lines = [line for bill in bills for line in bill["lines"] if line["order_no"] == order["no"]]
        total = sum((Decimal(line["amount"]) for line in lines), Decimal(0))
        self.step(
            f"all in all {order['no']} ran {seconds} s in {len(usage)} intervals and cost {total} CNY, paid"
        )


def _short(amounts: dict[str, int]) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in amounts.items())


def _start(quote: "QuoteAndStartOut") -> str:
    start = quote["expected_start"]
    if start is None:
        raise JourneyFailed("what is quoted runs nothing in the pool")
    return start["sentence"] or start["start_at"] or "unknown"


def _workload(order: "OrderOut") -> str:
    """The uid of what an order runs."""
    if order["workload"] is None:
        raise JourneyFailed(f"order {order['no']} runs nothing")
    return order["workload"]


def _place(work: "WorkloadOut") -> str:
    return ", ".join(f"{part['node']} / {part['device']}" for part in work["slices"])


def _clock(instant: str | None) -> str:
    return datetime.fromisoformat(instant).strftime("%H:%M:%S") if instant else "?"
