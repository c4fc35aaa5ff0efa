"""A reader of pickles that can only make data.

Python's unpickler calls what a file names. This one knows no instruction that
names, imports, builds or calls anything: it reads numbers, texts, lists,
tuples, dicts and sets of plain values, and refuses the file at the first other
instruction. Depth, number of instructions and length of numbers are bounded,
and the memo is a dict, so that a file cannot ask for memory that it does not
fill. Instructions: `pickletools` of CPython; PyTorch's C++ pickler writes
protocol 2 (torch/csrc/jit/serialization/pickler.cpp).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

MAX_STEPS = 30_000_000
MAX_NUMBER = 64
"""Bytes of one whole number."""
_NAMED = {
    ord("c"): "GLOBAL", 0x93: "STACK_GLOBAL", ord("i"): "INST", ord("o"): "OBJ", 0x81: "NEWOBJ", 0x92: "NEWOBJ_EX",
    ord("R"): "REDUCE", ord("b"): "BUILD", 0x82: "EXT1", 0x83: "EXT2", 0x84: "EXT4", ord("P"): "PERSID", ord("Q"): "BINPERSID",
    0x97: "NEXT_BUFFER", 0x98: "READONLY_BUFFER", 0x96: "BYTEARRAY8",
}  # fmt: skip
"""Instructions that name, build or call something, by their names in CPython's pickle module."""


class NotPlainData(ValueError):
    """The pickle is damaged, too large, or holds something other than plain data."""


class _Mark:
    """Stands on the stack where a list, tuple or dict begins."""


_MARK = _Mark()
_Loader = Callable[["_Reader"], None]


def load_plain(data: bytes, *, max_steps: int = MAX_STEPS) -> Any:
    """The value in a pickle of plain data. Raises NotPlainData; calls and imports nothing."""
    reader = _Reader(data)
    try:
        return reader.run(max_steps)
    except (LookupError, struct.error, ValueError, TypeError, RecursionError, MemoryError) as error:
        if isinstance(error, NotPlainData):
            raise
        raise NotPlainData(f"is damaged: {error}") from None


class _Reader:
    """The stack machine."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def run(self, max_steps: int) -> Any:
        data, loaders, stack, memo = self.data, _LOADERS, self.stack, self.memo
        for _ in range(max_steps):
            code = data[self.at]
            self.at += 1
            # The five instructions that nearly all of a dump consists of come first.
            if code == 0x68:  # BINGET
                stack.append(memo[data[self.at]])
                self.at += 1
                continue
            if code == 0x6A:  # LONG_BINGET
                stack.append(memo[int.from_bytes(data[self.at : self.at + 4], "little")])
                self.at += 4
                continue
            if code == 0x4B:  # BININT1
                stack.append(data[self.at])
                self.at += 1
                continue
            if code == 0x71:  # BINPUT
                memo[data[self.at]] = stack[-1]
                self.at += 1
                continue
            if code == 0x72:  # LONG_BINPUT
                memo[int.from_bytes(data[self.at : self.at + 4], "little")] = stack[-1]
                self.at += 4
                continue
            if code == 0x2E:  # STOP
                return stack.pop()
            loader = loaders.get(code)
            if loader is None:
                what = _NAMED.get(code)
                raise NotPlainData(
                    f"names code to be run ({what})" if what else f"has an unknown instruction {code:#x}"
                )
            loader(self)
        raise NotPlainData(f"has more than {max_steps:,} instructions")

    def take(self, size: int) -> bytes:
        """The next bytes. Raises IndexError at the end of the data."""
        end = self.at + size
        if size < 0 or end > len(self.data):
            raise IndexError("it ends early")
        part = self.data[self.at : end]
        self.at = end
        return part

    def line(self) -> bytes:
        end = self.data.index(b"\n", self.at)
        part = self.data[self.at : end]
        self.at = end + 1
        return part

    def since_mark(self) -> list[Any]:
        position = len(self.stack) - 1
        while self.stack[position] is not _MARK:
            position -= 1
            if position < 0:
                raise IndexError("a mark is missing")
        items = self.stack[position + 1 :]
        del self.stack[position:]
        return items


def _push(value: Any) -> _Loader:
    def load(reader: _Reader) -> None:
        reader.stack.append(value)

    return load


def _new(kind: type) -> _Loader:
    def load(reader: _Reader) -> None:
        reader.stack.append(kind())

    return load


def _packed(form: str) -> _Loader:
    unpack, size = struct.Struct(form).unpack_from, struct.calcsize(form)

    def load(reader: _Reader) -> None:
        reader.stack.append(unpack(reader.data, reader.at)[0])
        reader.at += size

    return load


def _sized(form: str, convert: Callable[[bytes], Any]) -> _Loader:
    unpack, size = struct.Struct(form).unpack_from, struct.calcsize(form)

    def load(reader: _Reader) -> None:
        length = unpack(reader.data, reader.at)[0]
        reader.at += size
        reader.stack.append(convert(reader.take(length)))

    return load


def _skip(size: int) -> _Loader:
    def load(reader: _Reader) -> None:
        reader.at += size

    return load


def _whole(data: bytes) -> int:
    if len(data) > MAX_NUMBER:
        raise NotPlainData("holds a number that is too long")
    return int.from_bytes(data, "little", signed=True)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _number_line(reader: _Reader) -> None:
    text = reader.line()
    if len(text) > MAX_NUMBER * 2:
        raise NotPlainData("holds a number that is too long")
    reader.stack.append({b"00": False, b"01": True}.get(text) if text in {b"00", b"01"} else int(text.rstrip(b"L")))


def _float_line(reader: _Reader) -> None:
    reader.stack.append(float(reader.line()[:100]))


def _memoize(reader: _Reader) -> None:
    reader.memo[len(reader.memo)] = reader.stack[-1]


def _tuple_of(size: int) -> _Loader:
    def load(reader: _Reader) -> None:
        items = tuple(reader.stack[-size:])
        if len(items) != size:
            raise IndexError("a tuple is too short")
        reader.stack[-size:] = [items]

    return load


def _append(reader: _Reader) -> None:
    value = reader.stack.pop()
    _as_list(reader.stack[-1]).append(value)


def _appends(reader: _Reader) -> None:
    items = reader.since_mark()
    _as_list(reader.stack[-1]).extend(items)


def _as_list(value: Any) -> list[Any]:
    if type(value) is not list:
        raise NotPlainData("is damaged: it appends to something that is no list")
    return value


def _set(reader: _Reader) -> None:
    value, key = reader.stack.pop(), reader.stack.pop()
    _store(reader.stack[-1], [key, value])


def _sets(reader: _Reader) -> None:
    items = reader.since_mark()
    _store(reader.stack[-1], items)


def _store(target: Any, items: list[Any]) -> None:
    if type(target) is not dict or len(items) % 2:
        raise NotPlainData("is damaged: it sets keys of something that is no dict")
    for key in items[::2]:
        # Hashing a deeply nested tuple would recurse as deep as the file likes.
        if type(key) not in {str, int, bool, float, bytes, type(None)}:
            raise NotPlainData("has keys that are neither texts nor numbers")
    target.update(zip(items[::2], items[1::2], strict=True))


def _from_mark(make: Callable[[list[Any]], Any]) -> _Loader:
    def load(reader: _Reader) -> None:
        reader.stack.append(make(reader.since_mark()))

    return load


def _dict(items: list[Any]) -> dict[Any, Any]:
    made: dict[Any, Any] = {}
    _store(made, items)
    return made


def _pop(reader: _Reader) -> None:
    reader.stack.pop()


def _dup(reader: _Reader) -> None:
    reader.stack.append(reader.stack[-1])


_LOADERS: dict[int, _Loader] = {
    0x80: _skip(1), 0x95: _skip(8), ord("("): _push(_MARK), ord("N"): _push(None), 0x88: _push(True), 0x89: _push(False),
    ord("]"): _new(list), ord("}"): _new(dict), ord(")"): _push(()), ord("M"): _packed("<H"),
    ord("J"): _packed("<i"), ord("G"): _packed(">d"), ord("I"): _number_line, ord("L"): _number_line, ord("F"): _float_line,
    0x8A: _sized("<B", _whole), 0x8B: _sized("<i", _whole), ord("X"): _sized("<I", _text), 0x8C: _sized("<B", _text),
    0x8D: _sized("<Q", _text), ord("U"): _sized("<B", _text), ord("T"): _sized("<i", _text), ord("C"): _sized("<B", bytes),
    ord("B"): _sized("<I", bytes), 0x8E: _sized("<Q", bytes), 0x94: _memoize, 0x85: _tuple_of(1), 0x86: _tuple_of(2), 0x87: _tuple_of(3),
    ord("t"): _from_mark(tuple), ord("l"): _from_mark(list), ord("d"): _from_mark(_dict), ord("a"): _append,
    ord("e"): _appends, ord("s"): _set, ord("u"): _sets, ord("0"): _pop, ord("2"): _dup,
}  # fmt: skip
