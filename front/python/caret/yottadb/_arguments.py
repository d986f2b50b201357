"""What arguments may be: str or bytes, and how long; the words are those that programs know."""

from __future__ import annotations

from typing import Any, Sequence

from ._errors import YDB_MAX_IDENT, YDB_MAX_NAMES, YDB_MAX_STR, YDB_MAX_SUBS, YDB_MAX_TIME_NSEC, error

NOT_TEXT = "argument is not a bytes-like object (bytes or str)"


def text(value: Any, longest: int = YDB_MAX_STR) -> bytes:
    """One argument, as bytes."""
    if not isinstance(value, (str, bytes)):
        raise TypeError(NOT_TEXT)
    data = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
    if len(data) > longest:
        raise ValueError("invalid bytes length %d: max %d" % (len(data), longest))
    return data


def name(value: Any) -> str:
    """The name of a variable.  What is not ASCII stays, to be refused later."""
    data = text(value, 1 << 62)
    length = len(data) - data.startswith(b"^")
    if length > YDB_MAX_IDENT:
        raise ValueError("invalid varname length %d: max %d" % (len(data), YDB_MAX_IDENT))
    return data.decode("utf-8", "surrogateescape")


def texts(values: Any, what: str, most: int, longest: int) -> tuple[bytes, ...]:
    """A list or tuple of them."""
    if values is None:
        return ()
    if not isinstance(values, (list, tuple)):
        raise TypeError(what + "node must be list or tuple.")
    if len(values) > most:
        raise ValueError("%sinvalid sequence length %d: max %d" % (what, len(values), most))
    made = []
    for i, value in enumerate(values):
        if not isinstance(value, (str, bytes)):
            raise TypeError("%sitem %d is not a bytes-like object (bytes or str)" % (what, i))
        try:
            made.append(text(value, longest))
        except ValueError as e:
            raise ValueError(what + str(e)) from None
    return tuple(made)


def subscripts(values: Any, what: str = "'subsarray' argument invalid: ") -> tuple[bytes, ...]:
    return texts(values, what, YDB_MAX_SUBS, YDB_MAX_STR)


def names(values: Any) -> list[str]:
    """Names of variables, with or without ^."""
    made = texts(values, "'varnames' argument invalid: ", YDB_MAX_NAMES, YDB_MAX_IDENT)
    return [value.decode("utf-8", "surrogateescape") for value in made]


def seconds(nanoseconds: int) -> float:
    """A time to wait."""
    if not isinstance(nanoseconds, int):
        raise TypeError("'%s' object cannot be interpreted as an integer" % type(nanoseconds).__name__)
    if not 0 <= nanoseconds <= YDB_MAX_TIME_NSEC:
        raise error("TIME2LONG", YDB_MAX_TIME_NSEC)
    return nanoseconds / 1e9


def nodes(values: Any, most: int) -> list[tuple[str, tuple[bytes, ...]]]:
    """What is to be locked: each a name, with or without subscripts."""
    what = "'nodes' argument invalid: "
    if values is None:
        return []
    if not isinstance(values, (list, tuple)):
        raise TypeError(what + "node must be list or tuple.")
    if len(values) > most:
        raise ValueError("%sinvalid sequence length %d: max %d" % (what, len(values), most))
    return [_node(value, i, what) for i, value in enumerate(values)]


def _node(value: Sequence[Any], i: int, what: str) -> tuple[str, tuple[bytes, ...]]:
    if not isinstance(value, (list, tuple)):
        raise TypeError(what + "node must be list or tuple.")
    if not 1 <= len(value) <= 2:
        raise ValueError("%sitem %d must be length 1 or 2." % (what, i))
    if not isinstance(value[0], (str, bytes)):
        raise TypeError(what + "varname argument is not a bytes-like object (bytes or str)")
    subs = subscripts(value[1] if len(value) == 2 else (),
                      "%sitem %d in node sequence has invalid subsarray: " % (what, i))
    return text(value[0]).decode("utf-8", "surrogateescape"), subs
