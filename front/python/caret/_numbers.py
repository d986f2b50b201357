"""Decimals as text and back.  Loaded when one is met."""

import re
from decimal import Context, Decimal

from ._core import InvalidError

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(E[+-]?[0-9]+)?\Z")
_EXACT = Context(prec=60)


def text_of_decimal(number, what):
    """Canonical text: no needless zeros, no 0 before the point; with an E where integers would be absurdly long."""
    if not number.is_finite():
        raise InvalidError("INVALID: %s can't be a %s" % ("NaN" if number.is_nan() else "an infinity", what))
    if not number:
        return "0"
    sign, digits, exponent = number.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    bare = text.rstrip("0")
    point = len(text) + exponent
    if point < -42 or point > 47:
        text = bare[0] + ("." + bare[1:] if len(bare) > 1 else "") + "E%d" % (point - 1)
    elif point >= len(bare):
        text = bare + "0" * (point - len(bare))
    elif point > 0:
        text = bare[:point] + "." + bare[point:]
    else:
        text = "." + "0" * -point + bare
    return "-" + text if sign else text


def number(text):
    """What a text stands for, exactly: int if it is integral, else Decimal."""
    if not _NUMBER.match(text):
        raise InvalidError("INVALID: %r is not a number" % text)
    value = Decimal(text)
    if value == value.to_integral_value() and value.adjusted() < 400:
        return int(value)
    return value


assert _EXACT
