from apps.conformance.catalogue.tolerances import USE_RISES
from apps.conformance.harness.case_context import CaseContext
from apps.conformance.harness.record import Record
from apps.conformance.test_cases.base import TestCase
from apps.conformance.test_cases.scripts import BEGIN_APART, NETWORKS, Script, session, transports

SHARE = {"compute_percent": 50, "memory_mib": 512}
# Trains a small network on the remote card and on the local CPU: the same numbers must come out.
TRAIN = """
torch.set_num_threads(1)
def train(device):
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)).to(device)
    x, y = torch.randn(256, 64).to(device), torch.randint(0, 10, (256,)).to(device)
    rule = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(20):
        rule.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward(); rule.step()
        losses.append(loss.item())
    return losses
remote, local = train('weir:0'), train('cpu')
cards = torch.cuda.device_count() if torch.cuda.is_available() else 0
print('RESULT', json.dumps({'remote': remote, 'local': local, 'cards_here': cards}), flush=True)
until = time.time() + 120
a = torch.randn(512, 512).to('weir:0')
while time.time() < until and not os.path.exists(os.environ['STOP']):
    for _ in range(20): b = a @ a
    float(b[0, 0])
print('DONE', flush=True)
"""


class RemoteCall(TestCase):
    """A script on a node without cards trains on a card of another node, over the network (POOL-12.3)."""

    number = "12.3"
    seconds = 30

    def run(self, pool: CaseContext, say: Record) -> None:
        (device,) = pool.take()
        work, shares = session(pool, device=device["uid"], **SHARE)
        before = _use(pool, work)
        script = Script(pool, BEGIN_APART + TRAIN, shares)
        at = f"{shares[0]['host']}:{shares[0]['port']}"
        say.step("S1", "a training script directed to a card of " + device["node"], f"it runs over {at}")
        found = script.result()
        same = found["remote"] == found["local"]
        peak = self._watch(pool, script, work, before)
        (transport,) = transports(pool, work)
        script.finish()
        script.says("DONE")
        script.wait()
        pool.until(
            "the use to fall", lambda: _use(pool, work)[0] < 5 or pool.work(work)["state"] != "running"
        )
        say.step(
            "S2",
            "the card's use before, during and after",
            f"{before[0]} %, {peak[0]} % and {_use(pool, work)[0]} % of the card; {peak[1]} MiB at most",
            transport=transport,
            loss_first=found["remote"][0],
            loss_last=found["remote"][-1],
        )
        say.expect(
            "E2", transport in NETWORKS, f"the script reaches the card by {transport}, over the network"
        )
        say.expect("E2", found["cards_here"] == 0, f"the client's node has {found['cards_here']} cards")
        say.expect("E2", same, f"20 training steps give the same losses as locally: {found['remote'][-1]!r}")
        say.expect(
            "E2",
            _is_used(before, peak),
            f"use of {device['node']}'s card rose from {before[0]} % to {peak[0]} % meanwhile",
        )

    @staticmethod
    def _watch(pool: CaseContext, script: Script, work: dict, before: tuple[float, int]) -> tuple[float, int]:
        """The highest use while the script computes, which it does until its use is seen or its time is over."""
        peak = (0.0, 0)
        while script.is_alive and not _is_used(before, peak):
            percent, mib = _use(pool, work)
            peak = (max(peak[0], percent), max(peak[1], mib))
            pool.sleep(0.5)
        return peak


def _is_used(before: tuple[float, int], peak: tuple[float, int]) -> bool:
    return peak[0] > before[0] + USE_RISES.value and peak[1] > 0


def _use(pool: CaseContext, work: dict) -> tuple[float, int]:
    """Compute delivered (percent of the card) and memory held (MiB) of the work's first share."""
    grants = pool.work(work)["grants"]
    if not grants:
        return 0.0, 0
    grant = grants[0]
    return float(grant["delivered_percent"] or 0), int(grant["memory_used_mib"] or 0)
