"""ZWR text by M's rules: as caret.str2zwr(), but canonical numbers are bare, and the reader is as generous as M's."""

from __future__ import annotations

import re

import caret

from . import _locals

_LONGEST_NUMBER = 60  # bytes: longer ones are not canonical
_QUOTED = re.compile(rb'((?:[^"]*"")*)([^"]*)("?)')
_CODES = re.compile(rb"\$(ZCH|C)\(", re.I)
_CODE = re.compile(rb"[0-9]+")
_NUMBER = re.compile(rb"-?[0-9]*(?:\.[0-9]*)?\Z")


def _is_number(value: bytes) -> bool:
    """Is it canonical?  Then it stands bare in the text of a node, too."""
    if not 0 < len(value) <= _LONGEST_NUMBER:
        return False
    return str(_locals.store["x"][value]) == "x(%s)" % value.decode("latin-1")


def written(value: bytes, utf8: bool) -> bytes:
    """The text of a string."""
    if _is_number(value):
        return value
    if utf8:
        return caret.str2zwr(value.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    return caret.str2zwr(value)


class _Reader:
    def __init__(self, text: bytes, utf8: bool) -> None:
        self.text, self.utf8, self.at, self.made = text, utf8, 0, b""

    def skip(self, mark: bytes) -> bool:
        found = self.text.startswith(mark, self.at)
        self.at += len(mark) * found
        return found

    def quoted(self) -> bool:
        found = _QUOTED.match(self.text, self.at)
        assert found
        whole = bool(found.group(3))  # else what is after the last quote is lost
        self.made += (found.group(1) + (found.group(2) if whole else b"")).replace(b'""', b'"')
        self.at = found.end() if whole else len(self.text)
        return True

    def code(self, byte: bool) -> bool:
        found = _CODE.match(self.text, self.at)
        digits = found.group().lstrip(b"0") or b"0" if found else b""
        number = int(digits) if 0 < len(digits) < 8 else -1
        if found is None or not 0 <= number <= (255 if byte else 0x10FFFF):
            return False
        if not byte and (0xD800 <= number <= 0xDFFF or number & 0xFFFE == 0xFFFE or 0xFDD0 <= number <= 0xFDEF):
            return False
        self.made += bytes([number]) if byte else chr(number).encode()
        self.at = found.end()
        return True

    def codes(self, byte: bool) -> bool:
        while self.at < len(self.text):  # M does not mind an end without the bracket
            if not self.code(byte):
                return False
            if not self.skip(b","):
                return self.skip(b")")
        return True

    def part(self) -> bool:
        if self.skip(b'"'):
            return self.quoted()
        codes = _CODES.match(self.text, self.at)
        if codes:
            self.at = codes.end()
            return self.codes(len(codes.group(1)) > 1 or not self.utf8)
        number = _NUMBER.match(self.text, self.at)  # whatever may look like one, up to the end: nothing at all, too
        if number:
            self.made += number.group()
            self.at = number.end()
        return number is not None

    def read(self) -> bytes:
        while self.part():
            if self.at == len(self.text):
                return self.made
            if not self.skip(b"_"):
                break
        return b""


def read(text: bytes, utf8: bool) -> bytes:
    """The string of a text; empty: it is none."""
    return _Reader(text, utf8).read()
