"""Containerfiles read, planned, and carried out by a real shell."""

import shutil
import subprocess
from pathlib import Path

import pytest

from apps.images.containerfile.plan import base_of, plan_make
from apps.images.containerfile.reading import TEXT_MAX_BYTES
from apps.images.containerfile.script import script_of

pytestmark = pytest.mark.req("PLAT-ASSET-4", "POOL-8.2c")

WHOLE = r"""
# syntax=docker/dockerfile:1
ARG BASE=box:1
FROM $BASE AS only
LABEL a=b "c d"="e f"
ENV A=1 B="two words" PATH=/x:$PATH
ENV OLD the old form
ARG V=3
WORKDIR /srv
WORKDIR sub
COPY . here/
COPY --chmod=755 *.txt /opt/
RUN echo hi && \
  # a comment in between
  echo there $V
RUN ["/bin/echo", "a b"]
ENTRYPOINT ["/bin/sh"]
CMD ["-c", "ls"]
EXPOSE 80 53/udp
STOPSIGNAL SIGINT
USER app
"""


def test_each_instruction_becomes_a_step_or_a_word_of_the_image():
    plan, troubles = plan_make(WHOLE, {"Env": ["PATH=/bin"], "Cmd": ["old"]}, {"V": "4"})
    assert troubles == []
    assert (plan.base, base_of(WHOLE, {"BASE": "other:2"})[0]) == ("box:1", "other:2")
    assert plan.config == {
        "Env": ["PATH=/x:/bin", "A=1", "B=two words", "OLD=the old form"],
        "Labels": {"a": "b", "c d": "e f"},
        "WorkingDir": "/srv/sub",
        "Entrypoint": ["/bin/sh"],
        "Cmd": ["-c", "ls"],
        "ExposedPorts": {"80/tcp": {}, "53/udp": {}},
        "StopSignal": "SIGINT",
        "User": "app",
    }
    assert plan.entry_point == ["/bin/sh", "-c", "ls"]
    assert [(step.line, step.kind, step.words) for step in plan.steps] == [
        (9, "folder", ("/srv",)),
        (10, "folder", ("/srv/sub",)),
        (11, "copy", (".", "/srv/sub/here/")),
        (12, "copy", ("*.txt", "/opt/")),
        (13, "run", ("/bin/sh", "-c", "echo hi && echo there $V")),
        (16, "run", ("/bin/echo", "a b")),
    ]
    assert plan.steps[4].env["V"] == "4"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("RUN --mount=type=secret,id=x cat /run/secrets/x", "RUN --mount is not taken"),
        ("ADD http://example.org/x /y", "http://example.org/x lies elsewhere"),
        ("ADD x.tar.gz /y", "unpacks no archives"),
        ("COPY ../../etc/passwd /b", "leads out of the context"),
        ("COPY --from=build /a /b", "Only one stage"),
        ("COPY --chown=app a b", "--chown is not taken"),
        ("COPY a b c", "Let the last word end with /"),
        ("FROM other:1", "Only one stage is built"),
        ("FROB x", "FROB is not taken"),
        ("RUN cat <<EOF > /x", "Put it into a file"),
        ("VOLUME /x", "Mount volumes where work is submitted"),
        ("ENV 1a=b", "1a is no name"),
        ("ENV a='b", "has no end"),
        ("ENV a=${b:?c}", "are known"),
        ("EXPOSE 99999", "is no port"),
        ("USER app\nRUN true", "Line 3: RUN behind USER"),
        ("SHELL bash", "takes a list"),
        ("RUN", "RUN says nothing"),
    ],
)
def test_what_is_not_taken_is_named_by_its_line(line, said):
    _plan, troubles = plan_make(f"FROM box:1\n{line}\n", {}, {})
    assert said in "\n".join(map(str, troubles))
    assert troubles[0].line in (2, 3)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "begins with FROM"),
        ("RUN true", "begins with FROM"),
        ("FROM scratch", "cannot begin with nothing"),
        ("FROM --platform=linux/arm64 box", "--platform is not taken"),
        ("FROM a b", "names one image"),
        ("# escape=`\nFROM a", "continued by"),
        ("FROM a\n" + "#" * TEXT_MAX_BYTES * 700, "at most 16 KiB"),
        ("FROM a\0", "no text"),
    ],
)
def test_a_text_that_is_no_containerfile_is_refused(text, said):
    assert said in "\n".join(map(str, plan_make(text, {}, {})[1]))


def test_a_value_for_no_arg_is_named():
    assert "Z" in str(plan_make("FROM a", {}, {"Z": "1"})[1][0])


def test_what_is_done_already_is_known_by_all_before_it():
    def keys(text, base="sha256:1", context="c", config=None):
        return plan_make(text, config or {}, {})[0].keys(base, context)

    first = keys("FROM a\nRUN one\nRUN two")
    assert keys("FROM a\nRUN one\nRUN two\nCMD x\nRUN three")[:3] == first
    assert keys("FROM a\nRUN one\nRUN other")[1:] != first[1:]
    for other in (keys("FROM a\nENV A=1\nRUN one"), keys("FROM a\nRUN one", base="sha256:2")):
        assert first[1] not in other
    copied = "FROM a\nCOPY x /x\nRUN one"
    assert keys(copied)[1:] != keys(copied, context="d")[1:]
    assert keys(copied, context="")[1:] == ["", ""]


@pytest.fixture
def carried_out(tmp_path: Path):
    """Runs a Containerfile by busybox's shell, with everything below a folder; what it printed, and its figures."""
    if not shutil.which("busybox"):
        pytest.skip("busybox is not installed")

    def act(text: str, **files: str) -> tuple[str, str, Path]:
        context, out = tmp_path / "context", tmp_path / "out"
        (context / "weir-metrics").mkdir(parents=True, exist_ok=True)
        out.mkdir(exist_ok=True)
        for name, content in files.items():
            path = context / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        plan, troubles = plan_make(text.replace("OUT", str(out)), {}, {})
        assert troubles == []
        script = script_of(plan, done=0, context="").replace("while :;", "exit 0; while :;")
        env = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(tmp_path),
            "WEIR_METRICS_DIR": str(context / "weir-metrics"),
        }
        done = subprocess.run(
            ["busybox", "sh", "-c", script], cwd=context, env=env, capture_output=True, text=True, timeout=60
        )
        return done.stdout + done.stderr, (context / "weir-metrics" / "build.jsonl").read_text(), out

    return act


def test_the_script_copies_as_copy_does_and_runs_each_step_where_and_how_it_says(carried_out):
    text = """FROM a
ENV name="it's" target=t
WORKDIR OUT/srv
COPY . all
COPY --chmod=750 a.txt b.txt many/
COPY deep deep
COPY a.txt renamed
COPY *.txt globbed/
RUN echo "$name $target in $(pwd)" > said; umask > mask
RUN ["touch", "a $(b)"]
"""
    files = {"a.txt": "A", "b.txt": "B", "deep__er__c": "C", ".hidden": "H", "sp ace": "S"}
    printed, figures, out = carried_out(text, **files)
    assert figures == '{"build_done": 1}\n', printed
    found = {str(path.relative_to(out / "srv")) for path in (out / "srv").rglob("*") if path.is_file()}
    copied = {f"all/{name}" for name in ("a.txt", "b.txt", "deep/er/c", ".hidden", "sp ace")}
    more = {
        "many/a.txt",
        "many/b.txt",
        "deep/er/c",
        "renamed",
        "globbed/a.txt",
        "globbed/b.txt",
        "said",
        "mask",
    }
    assert found == copied | more | {"a $(b)"}
    assert (out / "srv/said").read_text() == f"it's t in {out}/srv\n"
    assert (out / "srv/many/a.txt").stat().st_mode & 0o777 == 0o750
    assert "weir: step 3 of 8, line 5: COPY --chmod=750 a.txt b.txt many/" in printed


def test_a_step_that_fails_ends_it_and_its_line_is_known(carried_out):
    printed, figures, out = carried_out("FROM a\nRUN echo before\nRUN exit 7\nRUN touch OUT/never")
    assert figures == '{"build_failed_line": 3}\n'
    assert "line 3 failed with exit status 7" in printed
    assert not (out / "never").exists()


def test_files_that_are_not_there_and_links_are_not_copied(carried_out, tmp_path):
    printed, figures, _out = carried_out("FROM a\nCOPY missing OUT/x")
    assert ("have no missing" in printed, figures) == (True, '{"build_failed_line": 2}\n')
    (tmp_path / "context" / "link").symlink_to("/etc/passwd")
    printed, _figures, out = carried_out("FROM a\nCOPY link OUT/x")
    assert "is a link" in printed
    assert not (out / "x").exists()
    _printed, _figures, out = carried_out("FROM a\nCOPY . OUT/all")
    assert (out / "all/link").is_symlink(), "a link stays one, and leads where the image has something"
