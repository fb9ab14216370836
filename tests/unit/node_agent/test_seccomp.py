"""The filter of the kernel's calls, put on a process of the test's own, and how the container runtime is told."""

import ctypes
import errno
import os
import platform
import subprocess
import sys

from node_agent.runtime.containers.available import containers_find
from node_agent.runtime.isolation import seccomp
from node_agent.runtime.isolation.levels import Isolation
from node_agent.runtime.isolation.syscalls import CLONE_NEWUSER

_COLUMN = {"x86_64": 0, "aarch64": 1}.get(platform.machine())
_CLONE = {"x86_64": 56, "aarch64": 220}.get(platform.machine(), 0)
_NO_NEW_PRIVS = 38


def _answers(*calls: tuple[int, ...]) -> list[int]:
    """What the kernel says to these calls in a process under the filter: the error, 0 where it takes one."""
    read_fd, write_fd = os.pipe()
    child = os.fork()
    if child == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
        seccomp.install(seccomp.program())
        for call in calls:
            ctypes.set_errno(0)
            done = libc.syscall(*map(ctypes.c_long, call))
            os.write(write_fd, bytes([ctypes.get_errno() if done < 0 else 0]))
        os._exit(0)
    os.close(write_fd)
    with open(read_fd, "rb") as answers:
        found = list(answers.read())
    assert os.waitpid(child, 0)[1] == 0
    return found


def test_each_call_of_the_list_is_refused_and_all_others_are_not():
    numbers = [numbers[_COLUMN] for numbers in seccomp.DENIED.values() if numbers[_COLUMN] is not None]
    assert _answers(*((number, 0, 0, 0, 0, 0) for number in numbers)) == [errno.EPERM] * len(numbers)
    plain = {"x86_64": (39, 102, 24), "aarch64": (172, 174, 124)}[platform.machine()]
    assert _answers(*((number,) for number in plain)) == [0, 0, 0]


def test_no_file_is_given_to_another_project_and_other_requests_pass():
    """By which work would leave the quota of a volume; the kernel reads the lower half of a request alone."""
    ioctl, wanted = {"x86_64": 16, "aarch64": 29}[platform.machine()], (0x401C5820, 0x40086602, 0x40046602)
    requests = [*wanted, *(one | 7 << 32 for one in wanted)]
    assert _answers(*((ioctl, -1, one, 0) for one in requests)) == [errno.EPERM] * len(requests)
    assert _answers((ioctl, -1, 0x801C581F, 0), (ioctl, -1, 0x5401, 0)) == [errno.EBADF, errno.EBADF]


def test_no_user_namespace_is_had_by_any_way_and_processes_still_start():
    clone3 = 435
    assert _answers((_CLONE, CLONE_NEWUSER | 17, 0, 0, 0, 0), (clone3, 0, 0)) == [errno.EPERM, errno.ENOSYS]
    code = (
        "import ctypes, subprocess, sys, threading\n"
        "from node_agent.runtime.isolation import seccomp\n"
        "ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)\n"
        "seccomp.install(seccomp.program())\n"
        "thread = threading.Thread(target=print, args=('thread',)); thread.start(); thread.join()\n"
        "print(subprocess.run([sys.executable, '-c', 'print(1)'], capture_output=True, text=True).stdout)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["thread", "1"]


def test_the_other_interface_of_the_machine_is_no_way_around():
    if platform.machine() == "x86_64":
        assert _answers((0x40000000 + 165, 0, 0, 0, 0, 0)) == [errno.ENOSYS]


def test_the_container_runtime_is_told_the_same_list():
    told = seccomp.oci_profile()
    assert told is not None
    refused = {name for row in told["syscalls"] for name in row["names"]}
    assert refused == {name for name, numbers in seccomp.DENIED.items() if numbers[_COLUMN] is not None} | {
        "clone", "clone3",
    }  # fmt: skip


def test_on_a_machine_whose_numbers_are_not_known_there_is_no_filter(monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert (seccomp.program(), seccomp.projects_program(), seccomp.oci_profile()) == (b"", b"", None)
    seccomp.install(b"")


def test_a_kernel_without_the_filter_is_said_and_runs_no_image(monkeypatch):
    assert seccomp.problem() == "", "this kernel has it"
    monkeypatch.setattr(seccomp, "_MODE_FILTER", 77)
    problem = seccomp.problem()
    assert "CONFIG_SECCOMP_FILTER" in problem
    found = Isolation("namespaces", has_user=True, filter_problem=problem)
    assert problem in found.sentence
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("node_agent.runtime.containers.available.shutil.which", lambda name: name)
    containers = containers_find(found)
    assert containers.architecture == ""
    assert problem in containers.problem
