"""The server's side of SFTP, version 3, by standard input and output: what `sftp`, `scp` and editors speak to.

It is run beside the work as the work's user and within its walls: what it may read and write is what the work may. So
it asks for no rights, and follows links as any program of the work's does. Paths are bytes; relative ones begin in the
folder where it was started.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

PACKET_BYTES = 256 * 1024 + 1024
_READ_BYTES, _HANDLES = 256 * 1024, 256
_NAMES_AT_ONCE = 100
_VERSION = 3
(_INIT, _VERSIONED, _OPEN, _CLOSE, _READ, _WRITE, _LSTAT, _FSTAT, _SETSTAT, _FSETSTAT, _OPENDIR, _READDIR, _REMOVE,
 _MKDIR, _RMDIR, _REALPATH, _STAT, _RENAME, _READLINK, _SYMLINK) = range(1, 21)  # fmt: skip
_STATUS, _HANDLE, _DATA, _NAME, _ATTRS, _EXTENDED, _EXTENDED_REPLY = 101, 102, 103, 104, 105, 200, 201
_OK, _EOF, _NO_SUCH_FILE, _DENIED, _FAILURE, _BAD, _NOT_SUPPORTED = 0, 1, 2, 3, 4, 5, 8
_CODES = {
    errno.ENOENT: _NO_SUCH_FILE,
    errno.ENOTDIR: _NO_SUCH_FILE,
    errno.EACCES: _DENIED,
    errno.EPERM: _DENIED,
}
_HAS_SIZE, _HAS_OWNER, _HAS_MODE, _HAS_TIMES, _HAS_MORE = 1, 2, 4, 8, 0x80000000
_FOR_READING, _FOR_WRITING, _APPENDING, _CREATING, _EMPTYING, _NEW_ONLY = 1, 2, 4, 8, 16, 32
# What OpenSSH has besides, and how it calls it.
_MORE = (b"posix-rename@openssh.com", b"1"), (b"hardlink@openssh.com", b"1"), (b"fsync@openssh.com", b"1"), (
    b"limits@openssh.com", b"1"), (b"expand-path@openssh.com", b"1")  # fmt: skip


class _Broken(Exception):
    """What came is no packet: nothing can be made of what follows."""


class _NotSupported(Exception):
    """There is no such request here."""


@dataclass(slots=True)
class _Packet:
    """The rest of a packet that is being read."""

    data: bytes
    at: int = 0

    def number(self, kind: str = ">I") -> int:
        size = struct.calcsize(kind)
        if self.at + size > len(self.data):
            raise _Broken
        (found,) = struct.unpack_from(kind, self.data, self.at)
        self.at += size
        return int(found)

    def text(self) -> bytes:
        size = self.number()
        if self.at + size > len(self.data):
            raise _Broken
        self.at += size
        return self.data[self.at - size : self.at]

    def path(self) -> bytes:
        return self.text() or b"."


@dataclass(slots=True)
class _Wanted:
    """Attributes that somebody wants a file to have."""

    size: int | None = None
    owner: tuple[int, int] | None = None
    mode: int | None = None
    times: tuple[int, int] | None = None


@dataclass(slots=True)
class _Open:
    """A file, or a folder with what is not told of it yet."""

    fd: int = -1
    path: bytes = b""
    names: list[bytes] = field(default_factory=list)
    is_appending: bool = False


def _text(value: bytes) -> bytes:
    return struct.pack(">I", len(value)) + value


def _attributes(facts: os.stat_result) -> bytes:
    flags = _HAS_SIZE | _HAS_OWNER | _HAS_MODE | _HAS_TIMES
    times = (max(0, int(one)) & 0xFFFFFFFF for one in (facts.st_atime, facts.st_mtime))
    return struct.pack(">IQIIIII", flags, facts.st_size, facts.st_uid, facts.st_gid, facts.st_mode, *times)


def _line(name: bytes, facts: os.stat_result) -> bytes:
    """As `ls -l` shows it."""
    when = time.strftime("%b %d %H:%M", time.gmtime(facts.st_mtime))
    kind = stat.filemode(facts.st_mode)
    told = f"{kind} {facts.st_nlink:3} {facts.st_uid:<8} {facts.st_gid:<8} {facts.st_size:>8} {when} "
    return told.encode() + name


def _wanted(packet: _Packet) -> _Wanted:
    flags, found = packet.number(), _Wanted()
    if flags & _HAS_SIZE:
        found.size = packet.number(">Q")
    if flags & _HAS_OWNER:
        found.owner = packet.number(), packet.number()
    if flags & _HAS_MODE:
        found.mode = stat.S_IMODE(packet.number())
    if flags & _HAS_TIMES:
        found.times = packet.number(), packet.number()
    return found


def _grant(where: bytes | int, wanted: _Wanted) -> None:
    if wanted.size is not None:
        os.truncate(where, wanted.size)
    if wanted.mode is not None:
        os.chmod(where, wanted.mode)
    if wanted.times is not None:
        os.utime(where, wanted.times)
    if wanted.owner is not None:
        os.chown(where, *wanted.owner)


class SftpServer:
    """Answers one client, by two open files, until it goes. `serve` returns the exit status."""

    def __init__(self, stdin: int, stdout: int) -> None:
        self._in, self._out = stdin, stdout
        self._opened: dict[bytes, _Open] = {}
        self._count = 0
        self._acts: dict[int, Callable[[_Packet], tuple[int, bytes]]] = {
            _OPEN: self._open, _CLOSE: self._close, _READ: self._read, _WRITE: self._write, _LSTAT: self._lstat,
            _FSTAT: self._fstat, _SETSTAT: self._setstat, _FSETSTAT: self._fsetstat, _OPENDIR: self._opendir,
            _READDIR: self._readdir, _REMOVE: self._remove, _MKDIR: self._mkdir, _RMDIR: self._rmdir,
            _REALPATH: self._realpath, _STAT: self._stat, _RENAME: self._rename, _READLINK: self._readlink,
            _SYMLINK: self._symlink, _EXTENDED: self._extended,
        }  # fmt: skip

    def serve(self) -> int:
        """Until the client has gone: 0; 1 where it does not speak the protocol."""
        try:
            while (data := self._packet()) is not None:
                self._answer(_Packet(data, 1), data[0])
        except (_Broken, BrokenPipeError):
            return 1
        finally:
            for one in self._opened.values():
                if one.fd >= 0:
                    os.close(one.fd)
        return 0

    def _packet(self) -> bytes | None:
        head = self._bytes(4)
        if head is None:
            return None
        (size,) = struct.unpack(">I", head)
        if not 1 <= size <= PACKET_BYTES:
            raise _Broken
        return self._bytes(size)

    def _bytes(self, size: int) -> bytes | None:
        found = bytearray()
        while len(found) < size:
            piece = os.read(self._in, size - len(found))
            if not piece:
                return None
            found += piece
        return bytes(found)

    def _answer(self, packet: _Packet, kind: int) -> None:
        if kind == _INIT:
            more = b"".join(_text(name) + _text(value) for name, value in _MORE)
            self._send(_VERSIONED, struct.pack(">I", _VERSION) + more)
            return
        number = packet.number()
        try:
            act = self._acts.get(kind)
            if act is None:
                raise _NotSupported
            said, body = act(packet)
        except _NotSupported:
            said, body = _status(_NOT_SUPPORTED, "not supported")
        except EOFError:
            said, body = _status(_EOF, "end")
        except KeyError:
            said, body = _status(_BAD, "no such handle")
        except OSError as error:
            said, body = _status(_CODES.get(error.errno or 0, _FAILURE), error.strerror or "failed")
        except (ValueError, OverflowError):
            said, body = _status(_BAD, "no such value")
        self._send(said, struct.pack(">I", number) + body)

    def _send(self, kind: int, body: bytes) -> None:
        data = struct.pack(">IB", len(body) + 1, kind) + body
        while data:
            data = data[os.write(self._out, data) :]

    # --- files ---

    def _keep(self, one: _Open) -> tuple[int, bytes]:
        self._count += 1
        name = str(self._count).encode()
        self._opened[name] = one
        return _HANDLE, _text(name)

    def _room_check(self) -> None:
        if len(self._opened) >= _HANDLES:
            raise OSError(errno.EMFILE, f"{_HANDLES} files are open already")

    def _open(self, packet: _Packet) -> tuple[int, bytes]:
        path, asked, wanted = packet.path(), packet.number(), _wanted(packet)
        self._room_check()
        flags = os.O_CLOEXEC
        flags |= os.O_RDWR if asked & 3 == 3 else os.O_WRONLY if asked & _FOR_WRITING else os.O_RDONLY
        for bit, flag in ((_APPENDING, os.O_APPEND), (_CREATING, os.O_CREAT), (_EMPTYING, os.O_TRUNC)):
            flags |= flag if asked & bit else 0
        flags |= os.O_EXCL if asked & _NEW_ONLY else 0
        # A pipe without another end would be waited for without end.
        fd = os.open(path, flags | os.O_NONBLOCK, 0o666 if wanted.mode is None else wanted.mode)
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            os.close(fd)
            raise OSError(errno.EISDIR, "it is a folder")
        return self._keep(_Open(fd, path, is_appending=bool(asked & _APPENDING)))

    def _close(self, packet: _Packet) -> tuple[int, bytes]:
        one = self._opened.pop(packet.text())
        if one.fd >= 0:
            os.close(one.fd)
        return _status(_OK)

    def _file(self, packet: _Packet) -> int:
        fd = self._opened[packet.text()].fd
        if fd < 0:
            raise KeyError
        return fd

    def _read(self, packet: _Packet) -> tuple[int, bytes]:
        fd, at, size = self._file(packet), packet.number(">Q"), packet.number()
        data = os.pread(fd, min(size, _READ_BYTES), at)
        if not data and size:
            raise EOFError
        return _DATA, _text(data)

    def _write(self, packet: _Packet) -> tuple[int, bytes]:
        one = self._opened[packet.text()]
        at, data = packet.number(">Q"), packet.text()
        if one.fd < 0:
            raise KeyError
        while data:
            done = os.write(one.fd, data) if one.is_appending else os.pwrite(one.fd, data, at)
            data, at = data[done:], at + done
        return _status(_OK)

    # --- what is said of them ---

    def _lstat(self, packet: _Packet) -> tuple[int, bytes]:
        return _ATTRS, _attributes(os.lstat(packet.path()))

    def _stat(self, packet: _Packet) -> tuple[int, bytes]:
        return _ATTRS, _attributes(os.stat(packet.path()))

    def _fstat(self, packet: _Packet) -> tuple[int, bytes]:
        return _ATTRS, _attributes(os.fstat(self._file(packet)))

    def _setstat(self, packet: _Packet) -> tuple[int, bytes]:
        path = packet.path()
        _grant(path, _wanted(packet))
        return _status(_OK)

    def _fsetstat(self, packet: _Packet) -> tuple[int, bytes]:
        fd = self._file(packet)
        _grant(fd, _wanted(packet))
        return _status(_OK)

    # --- folders and names ---

    def _opendir(self, packet: _Packet) -> tuple[int, bytes]:
        path = packet.path()
        self._room_check()
        return self._keep(_Open(-1, path, sorted([b".", b"..", *os.listdir(path)], reverse=True)))

    def _readdir(self, packet: _Packet) -> tuple[int, bytes]:
        one = self._opened[packet.text()]
        found: list[bytes] = []
        while one.names and len(found) < _NAMES_AT_ONCE:
            name = one.names.pop()
            with suppress(FileNotFoundError):
                facts = os.lstat(os.path.join(one.path, name))
                found.append(_text(name) + _text(_line(name, facts)) + _attributes(facts))
        if not found:
            raise EOFError
        return _NAME, struct.pack(">I", len(found)) + b"".join(found)

    def _remove(self, packet: _Packet) -> tuple[int, bytes]:
        os.unlink(packet.path())
        return _status(_OK)

    def _mkdir(self, packet: _Packet) -> tuple[int, bytes]:
        path = packet.path()
        wanted = _wanted(packet)
        os.mkdir(path, 0o777 if wanted.mode is None else wanted.mode)
        return _status(_OK)

    def _rmdir(self, packet: _Packet) -> tuple[int, bytes]:
        os.rmdir(packet.path())
        return _status(_OK)

    def _realpath(self, packet: _Packet) -> tuple[int, bytes]:
        return _one_name(os.path.realpath(packet.path()))

    def _readlink(self, packet: _Packet) -> tuple[int, bytes]:
        return _one_name(os.readlink(packet.path()))

    def _rename(self, packet: _Packet) -> tuple[int, bytes]:
        old, new = packet.path(), packet.path()
        if os.path.lexists(new):
            raise OSError(errno.EEXIST, "it is there already")
        os.rename(old, new)
        return _status(_OK)

    def _symlink(self, packet: _Packet) -> tuple[int, bytes]:
        # OpenSSH sends the two the other way round than the standard has them, and so does everybody by now.
        target, link = packet.path(), packet.path()
        os.symlink(target, link)
        return _status(_OK)

    def _extended(self, packet: _Packet) -> tuple[int, bytes]:
        name = packet.text()
        if name == b"limits@openssh.com":
            return _EXTENDED_REPLY, struct.pack(">QQQQ", PACKET_BYTES, _READ_BYTES, _READ_BYTES, _HANDLES)
        if name == b"expand-path@openssh.com":
            path = packet.path()
            home = os.environb.get(b"HOME", b".")
            path = home + path[1:] if path == b"~" or path.startswith(b"~/") else path
            return _one_name(os.path.realpath(path))
        if name == b"posix-rename@openssh.com":
            old, new = packet.path(), packet.path()
            os.rename(old, new)
        elif name == b"hardlink@openssh.com":
            old, new = packet.path(), packet.path()
            os.link(old, new)
        elif name == b"fsync@openssh.com":
            os.fsync(self._file(packet))
        else:
            raise _NotSupported
        return _status(_OK)


def _status(code: int, text: str = "") -> tuple[int, bytes]:
    return _STATUS, struct.pack(">I", code) + _text(text.encode()) + _text(b"")


def _one_name(path: bytes) -> tuple[int, bytes]:
    return _NAME, struct.pack(">I", 1) + _text(path) + _text(path) + struct.pack(">I", 0)


def main() -> int:
    """Serve whoever is at the standard input. Ends with 1 where that speaks no SFTP."""
    return SftpServer(0, 1).serve()


if __name__ == "__main__":
    raise SystemExit(main())
