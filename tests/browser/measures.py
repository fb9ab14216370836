"""What is measured of an open page: access by axe-core, all rules and all grades; and English on a Chinese page."""

import re
from collections.abc import Iterator
from functools import cache

from playwright.sync_api import Page

from portal.devstack.bootstrap import ROOT

# Evaluated by the browser's own tools, which the page's content policy does not bind.
_AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
# `target-size` is of WCAG 2.2 AA and asked for by name; a frame has a page, and a test, of its own.
_RUN = """async () => (await axe.run(document, {
    resultTypes: ["violations"], iframes: false, rules: {"target-size": {enabled: true}},
  })).violations.flatMap(rule => rule.nodes.map(node =>
    `${rule.id} (${rule.impact}): ${node.html.slice(0, 120)}
      ${node.any.concat(node.all, node.none)[0]?.message ?? ""}`))"""
# The words of a page, but for what is code or is said to be in another language, and what people have typed.
_TEXTS = """() => {
  const found = [], beside = "code, pre, kbd, samp, script, style, svg, textarea, [lang=en], .font-monospace, " +
    // The mark that bpmn.io's licence asks for, and a way through drawings that is never shown.
    ".bjs-powered-by, .bjs-breadcrumbs";
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode())
    if (!walk.currentNode.parentElement?.closest(beside)) found.push(walk.currentNode.data);
  for (const name of ["aria-label", "title", "placeholder", "alt"])
    for (const part of document.querySelectorAll(`[${name}]`))
      if (!part.closest(beside)) found.push(part.getAttribute(name));
  return [document.title, ...found].filter(text => /[A-Za-z]{3}/.test(text));
}"""
# Names that stand as they are in Chinese, too: products, formats, units, what is typed into a terminal.
_TERMS = """
Weir API CPU GPU NPU MIG MiB GiB TiB KiB MLU SHA PDF CSV XLSX JSON YAML BPMN URL HTTP HTTPS TLS SSH SMTP STARTTLS SSL
OpenAPI OAuth UTC CNY ETA QoS NFS POSIX Containerfile Docker Jupyter JupyterLab Python PyTorch TensorBoard TensorFlow
Slurm PBS Kubernetes SkyPilot SkyWalking VS Code curl pip weir wheel Prometheus PostgreSQL Redis Celery webhook WebHook
Ascend AMD EPYC Intel Xeon NVIDIA Cambricon Hygon CUDA MPS HAMi vGPU cgroups cgroup vm Ctrl Shift Enter Esc Tab Linux
UP DOWN DRAIN INACTIVE LIMITED UNLIMITED YES EXCLUSIVE FORCE Spread BestFit Pack Web Moore Threads Biren Enflame
Iluvatar Kunlunxin MetaX ASGI English conformance amd64 runc
FROM RUN COPY ADD ENV ARG WORKDIR USER CMD ENTRYPOINT LABEL EXPOSE root apt outputs
Idempotency Key Bearer OCI uid tus S3 AWS Markdown HF_TOKEN Optimal EN
PEM NUL scontrol sacctmgr slurmrestd slurmdbd token Token gpu npu mlu Ray ray start
Excel Asia Shanghai Europe Berlin America New_York WeCom DingTalk Feishu Slack
"""
TERMS = frozenset(_TERMS.split())
# What the demo's people have written, in English.
_DEMO = """
acme Acme Research globex Globex Labs default alice Alice Wang dan Dan Liu olga Olga Sun sam Sam Zhao ops admin boss gil
Gil gina Gina greta Greta Mei Lin operations Wei Zhang system Hua Chen executive Head office Lab Speech recognition
Acoustic model training Computing Centre Fits our plan Capacity there something look opening balance the demo Welcome
compute coupon small medium large release key jupyterlab Notebooks terminal and editor the browser third card sign-in
Demo Ltd Road Pudong Bank
"""
DEMO = frozenset(_DEMO.split())
_WORD = re.compile(r"[A-Za-z][A-Za-z_]{2,}")
# Numbers of things, addresses, names of files and hosts, identifiers: a word beside a digit, a dot, a slash or an @.
_NAMES = re.compile(
    # Tests call what they make by a word and six digits of their own.
    r"[A-Za-z]+ [0-9a-f]{6}\b|https?://[!-~]+|[!-~]+@[!-~]+|[!-~]*[A-Za-z]+-[A-Z0-9][!-~]*|[!-~]*\d[!-~]*|[!-~]+[./:_=][!-~]+"
    r"|[a-z]+(?:-[a-z0-9]+)+|\{\w+\}"
)


@cache
def _axe() -> str:
    return _AXE.read_text()


def access_faults(page: Page, place: str) -> Iterator[str]:
    """What axe-core finds wrong with the open page in its present theme and width."""
    page.evaluate(_axe())
    yield from (f"{place}: {finding}" for finding in page.evaluate(_RUN))


def english_faults(page: Page, place: str, data: frozenset[str]) -> Iterator[str]:
    """English words of a page that is read in Chinese; `data` are words that people or the demo have written."""
    yield from (
        f"{place} zh: {text!r} has {words}" for text, words in english_in(page.evaluate(_TEXTS), data)
    )


def english_in(texts: list[str], data: frozenset[str]) -> Iterator[tuple[str, list[str]]]:
    """Each text that has English words which are neither terms, names nor data, with those."""
    for text in texts:
        words = [
            word for word in _WORD.findall(_NAMES.sub(" ", text)) if word not in TERMS and word not in data
        ]
        if words:
            yield " ".join(text.split())[:120], words
