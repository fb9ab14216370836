import json
import logging
import signal
import sys
from argparse import ArgumentParser
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.conformance.models import ConformanceRun
from apps.conformance.report.forms import FORMS, render
from apps.conformance.runner import carry_out
from apps.conformance.selectors import run_get, verdict_of
from apps.conformance.services import run_ask
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import WeirError


class Command(BaseCommand):
    help = (
        "Examine the running pool by the functional tests of the pooling standard; `verify FILE` tells whether a "
        "report is as it was signed. Exit status 0: all that was asked for passed."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", nargs="?", choices=["run", "verify"], default="run")
        parser.add_argument("file", nargs="?", type=Path, help="the report (JSON) to verify")
        parser.add_argument("--level", type=int, choices=range(1, 6), help="the tests of a level of annex A")
        parser.add_argument(
            "--test", action="append", default=[], metavar="12.5", help="a test; may be repeated"
        )
        parser.add_argument("--clauses", action="store_true", help="our tests of the clauses without one")
        parser.add_argument(
            "--fail-fast", action="store_true", help="end a test with its first expectation that is not met"
        )
        parser.add_argument("--format", choices=sorted(FORMS), default="text")
        parser.add_argument("--output", type=Path, help="where to write the report; otherwise it is printed")
        parser.add_argument(
            "--carry-out", default="", metavar="RUN", help="carry out a run that was asked for"
        )
        parser.add_argument(
            "--url", default="", help="the portal's address; that of these settings otherwise"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        # A line for each request would hide the tests.
        logging.getLogger("httpx").setLevel(logging.WARNING)
        try:
            if options["action"] == "verify":
                self._verify(options["file"])
            else:
                self._run(options)
        except WeirError as error:
            raise CommandError(f"{error.message} {error.cure}".strip()) from error

    def _run(self, options: dict[str, Any]) -> None:
        if options["format"] == "pdf" and not options["output"]:
            raise CommandError("A PDF is written to a file: say --output FILE.")
        run = run_get(options["carry_out"]) if options["carry_out"] else self._asked(options)
        stop = Event()
        for signum in (signal.SIGINT, signal.SIGTERM):
            signal.signal(signum, lambda _number, _frame: stop.set())
        carry_out(run, url=options["url"], stop=stop, say=self._say, is_fail_fast=options["fail_fast"])
        document = run_get(run.uid).report
        if document is None:
            raise CommandError(run_get(run.uid).note or "The run left no report.")
        self._tell(document, options)

    @staticmethod
    def _asked(options: dict[str, Any]) -> ConformanceRun:
        return run_ask(
            actor=SYSTEM,
            numbers=options["test"],
            level=options["level"],
            is_clauses=options["clauses"],
            is_background=False,
        )

    def _say(self, line: str) -> None:
        with suppress(OSError):
            self.stderr.write(line, self.style.NOTICE)

    def _tell(self, document: dict[str, Any], options: dict[str, Any]) -> None:
        body = render(document, options["format"])
        if options["output"]:
            options["output"].write_bytes(body)
            self._say(f"The report is in {options['output']}.")
        else:
            self.stdout.write(body.decode(), ending="")
        report = document["report"]
        if report["note"] or report["counts"]["passed"] < len(report["tests"]):
            sys.exit(1)

    def _verify(self, file: Path | None) -> None:
        if file is None:
            raise CommandError("Name the report's file: conformance verify FILE.")
        try:
            document = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise CommandError(f"{file} is no report: {error}") from error
        found = verdict_of(document)
        key = found["public_key"]
        if not found["is_sound"]:
            raise CommandError(f"{file} is not as it was signed.")
        if not found["is_own"]:
            raise CommandError(f"{file} is sound, but it was signed by another portal, with key {key}.")
        self.stdout.write(f"{file} is as this portal signed it, with key {key}.")
