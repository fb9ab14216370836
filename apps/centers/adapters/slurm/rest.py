"""slurmrestd spoken to: its version, its credential, and what its errors mean."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from apps.centers.adapters.base import CenterBroken, CenterError, CenterRefused, CenterUnreachable
from apps.centers.adapters.http_client import Answer, CenterClient
from apps.centers.adapters.slurm.tokens import Credential

# Forms of its interface that this adapter was tried with, the best first.
VERSIONS = ("v0.0.38",)
_PATH = re.compile(r"/(slurm|slurmdb)/(v\d+\.\d+\.\d+)/jobs/?")
# Numbers of Slurm's errors.
UNSPECIFIED, AUTHENTICATION, NO_JOB, ALREADY_OVER, NOTHING_FOUND = -1, 1007, 2017, 2021, 9003
_NOT_COMPLIANT = 9000
# What the controller says of a request that it has read: its own errors, and those of its parser.
_OF_REQUESTS = (range(2000, 3000), range(9001, 9100))


class SlurmError(CenterRefused):
    """Slurm refuses something under a number of its own."""

    def __init__(self, number: int, text: str) -> None:
        super().__init__(_("Slurm refuses it: %(text)s (%(number)s)") % {"text": text, "number": number})
        self.number = number


class SlurmRest:
    """Calls to one slurmrestd as one user."""

    def __init__(self, client: CenterClient, credential: Credential) -> None:
        self._client, self._credential = client, credential
        self._version = ""

    def controller(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """Ask the controller. Raises SlurmError for what it refuses, besides the errors of `base`."""
        answer = self._call(method, f"/slurm/{self.version()}/{path}", body=body)
        data = _record(answer)
        if not (found := errors(data)):
            return data
        number, told = found[0]
        # The controller's first error may have no number ("Unknown key"): the last of them says what it comes to.
        number = next((each for each, _told in found if each), number)
        if "job_id" in data and method == "POST":
            # Submitted all the same: what it lacks now is told as the reason that it waits.
            return data
        if number == UNSPECIFIED:
            raise self._nameless(told)
        raise _error(number, "; ".join(dict.fromkeys(each for _number, each in found)))

    def accounts(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Ask the accounts; what finds nothing has an empty list. Raises as `controller` does."""
        data = _record(self._call("GET", f"/slurmdb/{self.version()}/{path}", query=query))
        found = [(number, told) for number, told in errors(data) if number != NOTHING_FOUND]
        if not found:
            return data
        number, told = found[0]
        if number == AUTHENTICATION:
            raise self._credential_refused(told)
        raise _error(number, told)

    def version(self) -> str:
        """Which form of its interface is spoken, from its own description; asked for once."""
        if not self._version:
            answer = self._call("GET", "/openapi/v3")
            paths = answer.data.get("paths") if isinstance(answer.data, dict) else None
            if answer.status != 200 or not isinstance(paths, dict):
                raise CenterBroken(_("The address does not describe itself as slurmrestd does."))
            offered: dict[str, set[str]] = {"slurm": set(), "slurmdb": set()}
            for path in paths:
                if found := _PATH.fullmatch(path):
                    offered[found[1]].add(found[2])
            self._version = _chosen(offered["slurm"], offered["slurmdb"])
        return self._version

    def _call(
        self, method: str, path: str, *, query: Mapping[str, str] | None = None, body: object = None
    ) -> Answer:
        try:
            return self._client.call(method, path, query=query, body=body, headers=self._credential.headers())
        except CenterRefused as error:
            if self._credential.is_past:
                raise self._credential_refused(str(error)) from error
            raise

    def _nameless(self, words: str) -> CenterError:
        """The controller's "unspecified error" is a wrong token as well as no controller: the accounts know which."""
        try:
            self.accounts("jobs", {"job_name": "weir-nobody"})
        except CenterError as error:
            return error
        return CenterUnreachable(_("Slurm's controller does not answer: %(text)s") % {"text": words})

    def _credential_refused(self, words: str) -> CenterRefused:
        if self._credential.is_past and self._credential.ends_at is not None:
            return CenterRefused(
                _("The token of %(user)s expired at %(time)s: make a new one.")
                % {"user": self._credential.user, "time": self._credential.ends_at.isoformat(" ", "seconds")}
            )
        return CenterRefused(
            _("Slurm refuses the token of %(user)s: %(text)s")
            % {"user": self._credential.user, "text": words}
        )


def errors(data: Mapping[str, Any]) -> list[tuple[int, str]]:
    """The errors that an answer tells, each with its number, 0 where it has none."""
    found = data.get("errors")
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise CenterBroken(_("The answer has no list of %(name)s.") % {"name": "errors"})
    return [(_number_of(each), _words_of(each)) for each in found]


def _number_of(error: Mapping[str, Any]) -> int:
    for name in ("error_number", "error_code", "errno"):
        if isinstance(value := error.get(name), int):
            return value
    return 0


def _words_of(error: Mapping[str, Any]) -> str:
    told = [str(error[name]) for name in ("error", "description") if error.get(name)]
    return ": ".join(dict.fromkeys(told))[:300] or "?"


def _error(number: int, words: str) -> CenterError:
    if number == AUTHENTICATION or any(number in each for each in _OF_REQUESTS):
        return SlurmError(number, words)
    if number == _NOT_COMPLIANT:
        return CenterBroken(_("Slurm does not understand the question: %(text)s") % {"text": words})
    return CenterUnreachable(
        _("Slurm could not do it now: %(text)s (%(number)s)") % {"text": words, "number": number}
    )


def _record(answer: Answer) -> dict[str, Any]:
    if not isinstance(answer.data, dict):
        raise CenterBroken(
            _("The centre answers %(status)s without what Slurm says: %(text)s")
            % {"status": answer.status, "text": answer.text}
        )
    # An error that brings no error with it would be taken for an empty list.
    if answer.status >= 400 and not answer.data.get("errors"):
        raise CenterBroken(
            _("The centre answers %(status)s without what Slurm says: %(text)s")
            % {"status": answer.status, "text": answer.text}
        )
    return answer.data


def _chosen(slurm: set[str], slurmdb: set[str]) -> str:
    for version in VERSIONS:
        if version in slurm and version in slurmdb:
            return version
    if slurm & set(VERSIONS):
        raise CenterRefused(_("This slurmrestd does not give access to accounts (slurmdbd)."))
    raise CenterRefused(
        _("This slurmrestd speaks %(theirs)s; the portal knows %(ours)s.")
        % {"theirs": ", ".join(sorted(slurm | slurmdb)) or "-", "ours": ", ".join(VERSIONS)}
    )
