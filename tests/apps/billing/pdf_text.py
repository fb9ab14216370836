"""What a PDF of ours says, page by page: its streams unpacked and the texts that they draw put one after the other."""

import base64
import re
import zlib

_STREAM = re.compile(rb"/Filter \[ /ASCII85Decode /FlateDecode \].*?stream\r?\n(.*?)endstream", re.DOTALL)
_CHINESE = re.compile(rb"/BaseFont /STSong-Light.*?/Name /(F\d+)", re.DOTALL)
_DRAWN = re.compile(rb"/(F\d+) [\d.]+ Tf|\(((?:[^\\()]|\\.)*)\) Tj", re.DOTALL)
_ESCAPED = re.compile(rb"\\(?:([0-7]{3})|(.))", re.DOTALL)
_SIGNS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}


def pages_of(data: bytes) -> list[str]:
    """The texts of each page, with a line break behind each that is drawn."""
    chinese = set(_CHINESE.findall(data))
    packed = [base64.a85decode(b"<~" + one.strip(), adobe=True) for one in _STREAM.findall(data)]
    return [_text(zlib.decompress(one), chinese) for one in packed]


def _text(stream: bytes, chinese: set[bytes]) -> str:
    font, texts = b"", []
    for named, drawn in _DRAWN.findall(stream):
        if named:
            font = named
            continue
        raw = _ESCAPED.sub(_unescaped, drawn)
        texts.append(raw.decode("utf-16-be" if font in chinese else "cp1252"))
    return "\n".join(texts)


def _unescaped(found: re.Match[bytes]) -> bytes:
    return bytes([int(found[1], 8)]) if found[1] else _SIGNS.get(found[2], found[2])
