"""The calls of the kernel that no work needs: refused to it in both runtimes, from one list.

They mount, load into the kernel, look into other processes' namespaces and keys, or have been ways out of one. A user
namespace of its own, in which work would be allowed to mount, it cannot make.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
from typing import Any

from node_agent.runtime.isolation.syscalls import CLONE_NEWUSER

# By name: the number on x86_64 and on aarch64 (None: it is not there).
DENIED: dict[str, tuple[int | None, int | None]] = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "delete_module": (176, 106),
    "file_setattr": (469, 469),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pivot_root": (155, 41),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "vhangup": (153, 58),
}
# Requests of `ioctl` that give a file another project, by which it would leave the quota of its volume: FSSETXATTR, and
# SETFLAGS, which takes from a folder that what is made in it has the folder's.
_IOCTL = (16, 29)
_REQUESTS = (0x401C5820, 0x40086602, 0x40046602)
_CLONE = {"clone": (56, 220), "clone3": (435, 435)}
_ARCHITECTURES = {
    "x86_64": (0, 0xC000003E, "SCMP_ARCH_X86_64"),
    "aarch64": (1, 0xC00000B7, "SCMP_ARCH_AARCH64"),
}
# Numbers from here on are the calls of another binary interface on x86_64.
_OTHER_INTERFACE = 0x40000000
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_AT_NUMBER, _AT_ARCHITECTURE, _AT_FIRST_ARGUMENT, _AT_SECOND_ARGUMENT = 0, 4, 16, 24


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def program() -> bytes:
    """The filter as the kernel reads it; b"" on a machine whose numbers are not known here."""
    found = _ARCHITECTURES.get(platform.machine())
    if found is None:
        return b""
    column, architecture, _name = found
    refused = sorted(number for numbers in DENIED.values() if (number := numbers[column]) is not None)
    clone, clone3 = (numbers[column] for numbers in _CLONE.values())
    lines = [
        _line(_LOAD, _AT_ARCHITECTURE),
        _line(_EQUAL, architecture, 1, 0),
        _line(_RETURN, _KILL),
        _line(_LOAD, _AT_NUMBER),
        _line(_AT_LEAST, _OTHER_INTERFACE, 0, 1),
        _line(_RETURN, _ERRNO | errno.ENOSYS),
        # Its flags lie in memory, which a filter cannot read: C libraries fall back to `clone`.
        _line(_EQUAL, clone3, 0, 1),
        _line(_RETURN, _ERRNO | errno.ENOSYS),
        _line(_EQUAL, clone, 0, 4),
        _line(_LOAD, _AT_FIRST_ARGUMENT),
        _line(_ANY_BIT, CLONE_NEWUSER, 0, 1),
        _line(_RETURN, _ERRNO | errno.EPERM),
        _line(_RETURN, _ALLOW),
    ]
    lines += _projects_kept(column)
    for number in refused:
        lines += [_line(_EQUAL, number, 0, 1), _line(_RETURN, _ERRNO | errno.EPERM)]
    return b"".join([*lines, _line(_RETURN, _ALLOW)])


def projects_program() -> bytes:
    """The part of the filter that keeps files in the projects of their volumes: put on a container runtime beside the
    list that it is told, as its library may not know the newest of these calls. b"" as for `program`."""
    found = _ARCHITECTURES.get(platform.machine())
    if found is None:
        return b""
    column, architecture, _name = found
    call = DENIED["file_setattr"][column] or 0
    lines = [
        _line(_LOAD, _AT_ARCHITECTURE),
        _line(_EQUAL, architecture, 1, 0),
        _line(_RETURN, _ALLOW),
        _line(_LOAD, _AT_NUMBER),
        _line(_EQUAL, call, 0, 1),
        _line(_RETURN, _ERRNO | errno.EPERM),
        *_projects_kept(column),
    ]
    return b"".join([*lines, _line(_RETURN, _ALLOW)])


def _projects_kept(column: int) -> list[bytes]:
    """With the number of the call at hand. Of its argument the kernel reads the lower half, and so does this."""
    lines = [_line(_EQUAL, _IOCTL[column], 0, 2 * len(_REQUESTS) + 2), _line(_LOAD, _AT_SECOND_ARGUMENT)]
    for request in _REQUESTS:
        lines += [_line(_EQUAL, request, 0, 1), _line(_RETURN, _ERRNO | errno.EPERM)]
    return [*lines, _line(_RETURN, _ALLOW)]


def problem() -> str:
    """Why no filter can be put on work here; "" where one is."""
    if not program():
        return f"the calls of a kernel on {platform.machine()} are not known to the agent"
    # It reads the filter before it looks at anything else, and there is none to read.
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_SECCOMP, _MODE_FILTER, None, 0, 0)
    if ctypes.get_errno() == errno.EFAULT:
        return ""
    return "the kernel has no filter of its calls (CONFIG_SECCOMP_FILTER)"


def install(filter_: bytes) -> None:
    """Of this process and all that it starts, for good; it has given up new privileges before. Raises OSError."""
    if not filter_:
        return
    kept = _Program(len(filter_) // 8, filter_)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(kept), 0, 0):
        number = ctypes.get_errno()
        # A kernel without filters runs work as it did; its node says so (`problem`).
        if number != errno.EINVAL:
            raise OSError(number, "the filter of the kernel's calls cannot be put on")


def oci_profile() -> dict[str, Any] | None:
    """The list as a container runtime reads it; None where the numbers of this machine are not known."""
    found = _ARCHITECTURES.get(platform.machine())
    if found is None:
        return None
    column, _number, name = found
    names = sorted(call for call, numbers in DENIED.items() if numbers[column] is not None)
    new_user = {"index": 0, "value": CLONE_NEWUSER, "valueTwo": CLONE_NEWUSER, "op": "SCMP_CMP_MASKED_EQ"}
    return {
        "defaultAction": "SCMP_ACT_ALLOW",
        "architectures": [name],
        "syscalls": [
            {"names": names, "action": "SCMP_ACT_ERRNO", "errnoRet": errno.EPERM},
            {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": errno.ENOSYS},
            {"names": ["clone"], "action": "SCMP_ACT_ERRNO", "errnoRet": errno.EPERM, "args": [new_user]},
        ],
    }


def _line(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
