"""What a build is to do: the steps that run in the image it begins with, and how the image that it makes is to run."""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from django.utils.translation import gettext as _

from apps.images.containerfile.reading import Instruction, Trouble, instructions_read
from apps.images.containerfile.words import NotWords, name_is_sound, words_of

STEPS_MAX = 200
_SHELL = ("/bin/sh", "-c")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# As everywhere: known without an ARG.
_PLAIN_ARGS = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")
_ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst")
# The begin of a text that ends further down; neither a shift by bits nor a text in one line.
_HERE_TEXT = re.compile(r"(?<!<)<<-?\s*[\"']?[A-Za-z_]")
Kind = Literal["run", "copy", "folder"]


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that is done in the image: `words` run, `words` (the last: where to) copied from the context, or the
    folder `words` made; with the variables `env`, in the folder `cwd`. `mode`: what copied files may be, in octal."""

    line: int
    text: str
    kind: Kind
    words: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    mode: str = ""


@dataclass(slots=True)
class Plan:
    """`base`: the image that it begins with, by name and tag. `config`: what the image says of how it runs, as OCI has
    it."""

    base: str = ""
    steps: list[Step] = field(default_factory=list)
    config: dict[str, Any] = field(default_factory=dict)

    @property
    def entry_point(self) -> list[str]:
        """What runs where work names no program."""
        return [*(self.config.get("Entrypoint") or ()), *(self.config.get("Cmd") or ())]

    @property
    def has_context(self) -> bool:
        """Whether files are copied."""
        return any(step.kind == "copy" for step in self.steps)

    def keys(self, base: str, context: str) -> list[str]:
        """By how many steps are done, what the image is then known by: `base` is the digest of the one it begins with,
        `context` that of its files. "" from where nobody knows, as files without a digest are copied."""
        found = [hashlib.sha256(base.encode()).hexdigest()]
        for step in self.steps:
            if not found[-1] or (step.kind == "copy" and not context):
                found.append("")
                continue
            told = [found[-1], step.kind, step.words, sorted(step.env.items()), step.cwd, step.mode]
            told.append(context if step.kind == "copy" else "")
            found.append(hashlib.sha256(json.dumps(told).encode()).hexdigest())
        return found


def base_of(text: str, args: Mapping[str, str]) -> tuple[str, list[Trouble]]:
    """The image that a Containerfile begins with; and, where that cannot be said, why."""
    found, troubles = instructions_read(text)
    if troubles:
        return "", troubles
    known: dict[str, str] = {}
    for one in found:
        if one.word == "ARG":
            name, _sign, value = one.rest.partition("=")
            known[name] = args.get(name, value.strip("'\""))
        elif one.word == "FROM":
            return _from(one, known)
        else:
            break
    cause = _("A Containerfile begins with FROM.")
    return "", [Trouble(found[0].line if found else 1, cause, _("Name one of your images: FROM mine:1."))]


def _from(one: Instruction, known: Mapping[str, str]) -> tuple[str, list[Trouble]]:
    if "platform" in one.flags:
        return "", [
            Trouble(
                one.line, _("--platform is not taken."), _("Images are built for this centre's machines.")
            )
        ]
    if one.flags:
        return "", [_flag_trouble(one)]
    words = _cut(one, known)
    if isinstance(words, Trouble):
        return "", [words]
    if len(words) != 1 and not (len(words) == 3 and words[1].lower() == "as"):
        return "", [Trouble(one.line, _("FROM names one image."))]
    if words[0] == "scratch":
        cause = _("An image cannot begin with nothing here: its steps run in it, by its shell.")
        return "", [Trouble(one.line, cause, _("Begin with an image that has /bin/sh."))]
    return words[0], []


def _cut(one: Instruction, known: Mapping[str, str]) -> list[str] | Trouble:
    if one.words is not None:
        return list(one.words)
    try:
        return words_of(one.rest, known)
    except NotWords as error:
        if str(error) == "quote":
            return Trouble(one.line, _("A quotation mark has no end."))
        return Trouble(one.line, _("Of variables ${NAME}, ${NAME:-else} and ${NAME:+then} are known."))


def _flag_trouble(one: Instruction) -> Trouble:
    flag = next(iter(one.flags))
    cures = {
        "mount": _(
            "Secrets and caches are not given to builds: COPY what it needs, or mount volumes into work."
        ),
        "from": _("Only one stage is built: begin with an image that has it."),
        "chown": _("Files belong to the image's own user: leave it out."),
    }
    cause = _("%(word)s --%(flag)s is not taken.") % {"word": one.word, "flag": flag[:40]}
    return Trouble(one.line, cause, cures.get(flag, _("Leave it out.")))


def plan_make(text: str, config: Mapping[str, Any], args: Mapping[str, str]) -> tuple[Plan, list[Trouble]]:
    """What a Containerfile asks for, upon an image whose configuration is `config`; `args` are values of its ARGs. Of a
    plan with troubles nothing is to be run."""
    base, troubles = base_of(text, args)
    if troubles:
        return Plan(), troubles
    found, _none = instructions_read(text)
    maker = _Maker(base, config, args)
    for one in found:
        maker.take(one)
    if unknown := [name for name in args if name not in maker.asked]:
        maker.trouble(1, _("No ARG is called %(names)s.") % {"names": ", ".join(unknown)[:100]})
    if len(maker.plan.steps) > STEPS_MAX:
        maker.trouble(
            1, _("It has more than %(most)s steps.") % {"most": STEPS_MAX}, _("Join some RUN lines.")
        )
    maker.finish()
    return maker.plan, maker.troubles


class _Maker:
    """Takes one instruction after the other."""

    def __init__(self, base: str, config: Mapping[str, Any], args: Mapping[str, str]) -> None:
        self.plan = Plan(base=base, config=dict(config))
        self.troubles: list[Trouble] = []
        self.asked: set[str] = set(_PLAIN_ARGS)
        self._given = args
        self._env: dict[str, str] = {"PATH": _PATH}
        for entry in config.get("Env") or ():
            name, _sign, value = str(entry).partition("=")
            self._env[name] = value
        self._args: dict[str, str] = {}
        # Values before FROM count behind it where ARG asks for them again.
        self._outer: dict[str, str] = {}
        self._shell = tuple(config.get("Shell") or _SHELL)
        self._user_line, self._is_begun = 0, False

    def trouble(self, line: int, cause: str, cure: str = "") -> None:
        self.troubles.append(Trouble(line, cause, cure))

    def finish(self) -> None:
        self.plan.config["Env"] = [f"{name}={value}" for name, value in self._env.items()]

    def take(self, one: Instruction) -> None:
        """Add what an instruction asks for, or why it is not taken."""
        if one.word == "FROM":
            self._from(one)
            return
        flags = {"COPY": ("chmod",), "ADD": ("chmod",)}.get(one.word, ())
        if not self._is_begun and one.word != "ARG":
            return
        act = _TAKEN.get(one.word)
        if act is None:
            cures = {
                "VOLUME": _("Mount volumes where work is submitted."),
                "HEALTHCHECK": _("Give it where work is submitted: --serve and --health."),
                "ONBUILD": _("Write it into the Containerfile that it is meant for."),
            }
            cure = cures.get(one.word, _("Known are %(words)s.") % {"words": ", ".join(("FROM", *_TAKEN))})
            self.trouble(one.line, _("%(word)s is not taken.") % {"word": one.word[:40]}, cure)
        elif not one.rest and one.word != "CMD":
            self.trouble(one.line, _("%(word)s says nothing.") % {"word": one.word})
        elif any(flag not in flags for flag in one.flags):
            self.troubles.append(_flag_trouble(one))
        elif one.word in ("RUN", "COPY", "ADD") and _HERE_TEXT.search(one.rest):
            self.trouble(
                one.line, _("Text in the Containerfile itself is not taken."), _("Put it into a file.")
            )
        else:
            act(self, one)

    def _from(self, one: Instruction) -> None:
        if self._is_begun:
            cure = _("Build the first as an image of its own, and begin with that.")
            self.trouble(one.line, _("Only one stage is built."), cure)
        self._is_begun = True
        self._outer, self._args = self._args, {}

    @property
    def _known(self) -> dict[str, str]:
        plain = {name: self._given[name] for name in _PLAIN_ARGS if name in self._given}
        return plain | self._args | self._env

    def _cut(self, one: Instruction) -> list[str]:
        words = _cut(one, self._known)
        if isinstance(words, Trouble):
            self.troubles.append(words)
            return []
        return words

    @property
    def _cwd(self) -> str:
        return str(self.plan.config.get("WorkingDir") or "/")

    def _step(self, one: Instruction, kind: Kind, words: tuple[str, ...], mode: str = "") -> None:
        if self._user_line and kind == "run":
            cause = _("RUN behind USER: steps run as the user of the image that it begins with.")
            self.trouble(one.line, cause, _("Put USER behind the last RUN."))
        self.plan.steps.append(Step(one.line, one.text, kind, words, self._known, self._cwd, mode))

    # --- each instruction, by its name ---

    def _run(self, one: Instruction) -> None:
        self._step(one, "run", one.words or (*self._shell, one.rest))

    def _copy(self, one: Instruction) -> None:
        mode = one.flags.get("chmod", "")
        if "chmod" in one.flags and not (2 < len(mode) < 5 and set(mode) <= set("01234567")):
            self.trouble(one.line, _("--chmod takes a number such as 755."))
            return
        *sources, target = self._cut(one) or [""]
        if not sources:
            self.trouble(one.line, _("%(word)s names what is copied, and where to.") % {"word": one.word})
            return
        if len(sources) > 1 and not target.endswith("/"):
            self.trouble(one.line, _("Several things go into a folder."), _("Let the last word end with /."))
            return
        found = [self._source(one, source) for source in sources]
        if all(found):
            is_folder = "/" if target.endswith(("/", "/.")) or target in (".", "..") else ""
            place = posixpath.normpath(posixpath.join(self._cwd, target))
            self._step(one, "copy", (*found, place if place == "/" else f"{place}{is_folder}"), mode)

    def _source(self, one: Instruction, source: str) -> str:
        """A place below the context; "" with a trouble for any other."""
        if "://" in source or source.startswith("git@"):
            cause = _("%(source)s lies elsewhere.") % {"source": source[:80]}
            self.trouble(one.line, cause, _("Fetch it in a RUN, or put it into the context."))
            return ""
        if ".." in source.split("/"):
            cause = _("%(source)s leads out of the context.") % {"source": source[:80]}
            self.trouble(one.line, cause, _("Copy what lies in the folder that is sent along."))
            return ""
        if one.word == "ADD" and source.endswith(_ARCHIVES):
            cause = _("ADD unpacks no archives here.")
            self.trouble(one.line, cause, _("COPY it, and unpack it in a RUN: tar -xf."))
            return ""
        return posixpath.normpath(source.lstrip("/") or ".")

    def _variables(self, one: Instruction) -> None:
        first = one.rest.split(None, 1)
        if "=" not in first[0]:
            # The old form: one name, and all the rest is its value.
            pairs = [(first[0], first[1] if len(first) > 1 else "")]
            pairs = [
                (name, " ".join(self._cut(Instruction(one.line, "ENV", {}, value)))) for name, value in pairs
            ]
        else:
            pairs = [(name, value) for name, _sign, value in (word.partition("=") for word in self._cut(one))]
        for name, value in pairs:
            if self._is_name(one, name):
                self._env[name] = value

    def _is_name(self, one: Instruction, name: str) -> bool:
        if not name_is_sound(name):
            self.trouble(one.line, _("%(name)s is no name of a variable.") % {"name": name[:40]})
        return name_is_sound(name)

    def _arg(self, one: Instruction) -> None:
        for word in self._cut(one):
            name, sign, value = word.partition("=")
            if self._is_name(one, name):
                self.asked.add(name)
                value = self._given.get(name, value if sign else self._outer.get(name, ""))
                if value or sign:
                    self._args[name] = value

    def _workdir(self, one: Instruction) -> None:
        words = self._cut(one)
        if len(words) != 1:
            self.trouble(one.line, _("WORKDIR names one folder."))
            return
        self.plan.config["WorkingDir"] = posixpath.normpath(posixpath.join(self._cwd, words[0]))
        self._step(one, "folder", (self._cwd,))

    def _user(self, one: Instruction) -> None:
        words = self._cut(one)
        if len(words) == 1:
            if words[0] != (self.plan.config.get("User") or "root"):
                self._user_line = one.line
            self.plan.config["User"] = words[0]

    def _cmd(self, one: Instruction) -> None:
        self.plan.config["Cmd"] = self._program(one)

    def _entrypoint(self, one: Instruction) -> None:
        self.plan.config["Entrypoint"] = self._program(one)
        # What the image below says was meant for its own.
        self.plan.config["Cmd"] = None

    def _program(self, one: Instruction) -> list[str] | None:
        if one.words is not None:
            return list(one.words)
        return [*self._shell, one.rest] if one.rest else None

    def _label(self, one: Instruction) -> None:
        labels = dict(self.plan.config.get("Labels") or {})
        for word in self._cut(one):
            name, sign, value = word.partition("=")
            if not sign or not name:
                self.trouble(one.line, _("LABEL takes name=value."))
            labels[name] = value
        self.plan.config["Labels"] = labels

    def _maintainer(self, one: Instruction) -> None:
        self.plan.config["Labels"] = dict(self.plan.config.get("Labels") or {}) | {"maintainer": one.rest}

    def _expose(self, one: Instruction) -> None:
        ports = dict(self.plan.config.get("ExposedPorts") or {})
        for word in self._cut(one):
            number, _slash, kind = word.partition("/")
            if not (number.isdecimal() and 0 < int(number) < 65536) or kind not in ("", "tcp", "udp"):
                self.trouble(one.line, _("%(port)s is no port.") % {"port": word[:40]})
            ports[f"{number}/{kind or 'tcp'}"] = {}
        self.plan.config["ExposedPorts"] = ports

    def _shell_set(self, one: Instruction) -> None:
        if not one.words:
            self.trouble(one.line, _('SHELL takes a list: ["/bin/bash", "-c"].'))
            return
        self._shell = one.words
        self.plan.config["Shell"] = list(one.words)

    def _stopsignal(self, one: Instruction) -> None:
        self.plan.config["StopSignal"] = one.rest


_TAKEN: dict[str, Callable[[_Maker, Instruction], None]] = {
    "RUN": _Maker._run,
    "COPY": _Maker._copy,
    "ADD": _Maker._copy,
    "ENV": _Maker._variables,
    "ARG": _Maker._arg,
    "WORKDIR": _Maker._workdir,
    "USER": _Maker._user,
    "CMD": _Maker._cmd,
    "ENTRYPOINT": _Maker._entrypoint,
    "LABEL": _Maker._label,
    "EXPOSE": _Maker._expose,
    "SHELL": _Maker._shell_set,
    "STOPSIGNAL": _Maker._stopsignal,
    "MAINTAINER": _Maker._maintainer,
}
