"""What work printed, line by line, and of several shares or attempts whose line each is."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weir.api import Client


@dataclass(slots=True)
class _Source:
    """The output of one share, as far as it was read; `rest` is a line that has not ended yet."""

    share: int | None
    offset: int = 0
    attempt: int = 1
    rest: str = ""
    has_ended: bool = False


def output(
    client: Client,
    workload: str,
    *,
    share: int | None = None,
    attempt: int | None = None,
    follows: bool = False,
    every_s: float = 1.0,
) -> Iterator[str]:
    """The lines that a workload printed; with `follows` as they come, until it has ended.

    Of work with several shares each line begins with the number of its share, from a second attempt on with that of
    the attempt, unless that one was named.
    """
    shares = client.workload(workload)["shares"] if share is None else 1
    sources = [_Source(number) for number in range(shares)] if shares > 1 else [_Source(share)]
    while True:
        has_news = False
        for source in sources:
            if source.has_ended:
                continue
            part = client.log(workload, source.offset, share=source.share, attempt=attempt)
            source.offset = part["next_offset"]
            has_news |= bool(part["text"])
            if part["attempt"] != source.attempt:
                yield from _ended(source, shares, attempt)
                source.attempt = part["attempt"]
            yield from _lines(source, part["text"], shares, attempt)
            if part["ended"]:
                source.has_ended = True
                yield from _ended(source, shares, attempt)
        if all(source.has_ended for source in sources) or not (has_news or follows):
            break
        if not has_news:
            time.sleep(every_s)
    for source in sources:
        yield from _ended(source, shares, attempt)


def _lines(source: _Source, text: str, shares: int, attempt: int | None) -> Iterator[str]:
    *lines, source.rest = (source.rest + text).split("\n")
    label = _label(source, shares, attempt)
    for line in lines:
        yield f"{label}{line}\n"


def _ended(source: _Source, shares: int, attempt: int | None) -> Iterator[str]:
    """The last line, if it was begun and not ended."""
    if source.rest:
        yield f"{_label(source, shares, attempt)}{source.rest}\n"
        source.rest = ""


def _label(source: _Source, shares: int, attempt: int | None) -> str:
    named = [str(source.share)] if shares > 1 else []
    if source.attempt > 1 and attempt is None:
        named.append(f"attempt {source.attempt}")
    return f"[{', '.join(named)}] " if named else ""
