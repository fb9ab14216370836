"""A plan as the script that carries it out, by the shell of the image that it begins with, within the walls of work.

It says step by step what it does. At its end, or where a step fails, it writes a figure (`DONE`, `FAILED`) with those
that work writes of itself, by which the portal knows; then it waits to be saved.
"""

from __future__ import annotations

import shlex

from apps.images.containerfile.plan import Plan, Step

# Figures, as programs write them: 1 when all is done; the line of the step that failed.
DONE, FAILED = "build_done", "build_failed_line"
# Where a volume with the files to copy is mounted.
CONTEXT = "/weir-context"
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-*?[]")
# `give` copies as COPY does: what is in a folder, and not the folder; without what the node has put beside the files.
_BEGIN = r"""set -u
umask 022
set +f
told() { printf '{"%s": %s}\n' "$1" "$2" >> "${WEIR_METRICS_DIR}/build.jsonl"; }
failed() { code=$?; echo "weir: line $weir_line failed with exit status $code"; told FAILED "$weir_line"; exit 1; }
one() {
  if [ -L "$1" ]; then cp -P "$1" "$2"; elif [ -d "$1" ]; then mkdir -p "$2" && cp -R -P -p "$1/." "$2/"
  else cp -P -p "$1" "$2"; fi && { [ -z "$weir_mode" ] || chmod -R "$weir_mode" "$2"; }
}
give() {
  for place do :; done
  target=$place
  while [ $# -gt 1 ]; do
    from="$weir_context/$1"
    if [ ! -e "$from" ] && [ ! -L "$from" ]; then
      echo "weir: the files that came along have no $1 (.weirignore and .gitignore leave files out)"; return 1
    elif [ -L "$from" ]; then echo "weir: $1 is a link: name what it leads to"; return 1
    elif [ -d "$from" ]; then
      mkdir -p "$target" || return 1
      for each in "$from"/* "$from"/.[!.]* "$from"/..?*; do
        case "$each" in
          "$weir_context"/./weir-metrics|"$weir_context"/./weir-size.*) continue;;
        esac
        [ -e "$each" ] || [ -L "$each" ] || continue
        one "$each" "$target/${each##*/}" || return 1
      done
    else
      case "$target" in */) to="$target${1##*/}";; *) to="$target"; [ ! -d "$to" ] || to="$to/${1##*/}";; esac
      mkdir -p "${to%/*}/" && one "$from" "$to" || return 1
    fi
    shift
  done
}
"""
_END = """
PATH=$weir_path
told DONE 1
echo "weir: all steps are done; the image is saved"
while :; do sleep 1 || exit 1; done
"""


def script_of(plan: Plan, *, done: int, context: str) -> str:
    """What is to run, but for the first `done` steps, which the image that it begins with has; `context`: the folder
    with the files to copy, "" where they lie where the script begins."""
    parts = [_BEGIN.replace("FAILED", FAILED)]
    parts.append(f"weir_context={shlex.quote(context)}" if context else "weir_context=$PWD")
    parts.append("weir_path=$PATH; [ ! -w /root ] || HOME=/root; export HOME")
    if done:
        parts.append(f"echo 'weir: the first {done} of {len(plan.steps)} steps are in an image of before'")
    env: dict[str, str] = {}
    for number, step in enumerate(plan.steps[done:], done + 1):
        parts.append(f"weir_line={step.line}; echo {shlex.quote(_said(step, number, plan))}")
        parts += [
            f"export {name}={shlex.quote(value)}"
            for name, value in step.env.items()
            if env.get(name) != value
        ]
        env = dict(step.env)
        parts.append(_command(step))
    return "\n".join(parts) + _END.replace("DONE", DONE)


def _said(step: Step, number: int, plan: Plan) -> str:
    return f"weir: step {number} of {len(plan.steps)}, line {step.line}: {step.text}"


def _command(step: Step) -> str:
    if step.kind == "folder":
        return f"( PATH=$weir_path; mkdir -p {shlex.quote(step.words[0])} ) || failed"
    if step.kind == "copy":
        *sources, target = step.words
        words = " ".join(_pattern(source) for source in sources)
        # Patterns are of the context's files.
        put = f'weir_mode={shlex.quote(step.mode)}; cd "$weir_context" && give {words} {shlex.quote(target)}'
        return f"( PATH=$weir_path; {put} ) || failed"
    words = " ".join(shlex.quote(word) for word in step.words)
    cwd = shlex.quote(step.cwd)
    return f"[ -d {cwd} ] || mkdir -p {cwd}; cd {cwd} || failed\n( exec {words} ) < /dev/null || failed"


def _pattern(source: str) -> str:
    """A path for the shell, which takes nothing of it for its own but a pattern's letters."""
    return "".join(letter if letter in _PLAIN else shlex.quote(letter) for letter in source)
