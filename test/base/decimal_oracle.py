#!/usr/bin/env python3
"""Check calculations of test_base_decimal by Python's decimal: `decimal_oracle.py RULES OP` reads `a|b|result` lines.

The rules are said once more here, from the documents and not from decimal.c: exact numbers of 38 digits or an
error; or M's 18 digits, cut off. Prints what differs, then how many were checked; exit status 1 if any did.
"""
import re
import sys
from decimal import (MAX_EMAX, MIN_EMIN, ROUND_DOWN, ROUND_HALF_EVEN, Context, Decimal,
                     setcontext)

RULES, OP = sys.argv[1:]
EXACT = RULES == "exact"
DIGITS = 38 if EXACT else 18
FULL = Context(prec=4000, rounding=ROUND_DOWN, Emax=MAX_EMAX, Emin=MIN_EMIN)  # exact for + - * and whole powers
SUMS = Context(prec=260, rounding=ROUND_DOWN, Emax=MAX_EMAX, Emin=MIN_EMIN)
CUT = Context(prec=DIGITS, rounding=ROUND_DOWN, Emax=MAX_EMAX, Emin=MIN_EMIN)
ROOTS = Context(prec=60, rounding=ROUND_HALF_EVEN, Emax=MAX_EMAX, Emin=MIN_EMIN)
NUMBER = re.compile(r"([-+]*)(\d*)(\.\d*)?(?:E([-+]?\d+))?")
setcontext(FULL)  # of - and abs()


class Refused(Exception):
    pass


def fit(x, goes_on=False):
    if not x:
        return Decimal(0)
    if x.adjusted() >= 47:
        raise Refused("NUMOFLOW")
    if x.adjusted() < -43:
        if EXACT:
            raise Refused("UNDERFLOW")
        return Decimal(0)
    y = CUT.plus(x)
    if EXACT and (goes_on or y != x):
        raise Refused("INEXACT")
    return y


def parse(text):
    signs, whole, fraction, exponent = NUMBER.match(text).groups()
    digits = whole + (fraction or "")
    if not any(c.isdigit() for c in digits):
        return Decimal(0)
    x = FULL.create_decimal(digits.rstrip(".") if digits != "." else "0")
    if exponent and x:
        x = x.scaleb(max(-10**6, min(10**6, int(exponent))), FULL)
    return fit(-x if signs.count("-") % 2 else x)


def cut_at(x, place):
    return x.quantize(Decimal(1).scaleb(place), ROUND_DOWN, SUMS)


def add(a, b):
    if a and b and not EXACT:
        place = max(a.adjusted(), b.adjusted()) - 17
        a, b = ((x if x.as_tuple().exponent >= place else cut_at(x, place)) for x in (a, b))
    return fit(SUMS.add(a, b))


def quotient(a, b):
    if not b:
        raise Refused("DIVZERO")
    q = SUMS.divide(a, b)
    return q, SUMS.multiply(q, b) != a


def divide(a, b):
    q, goes_on = quotient(a, b)
    return fit(q, goes_on)


def integer_divide(a, b):
    if not b:
        raise Refused("DIVZERO")
    return fit(SUMS.divide_int(a, b))


def modulo(a, b):
    if not b:
        raise Refused("DIVZERO")
    if EXACT:
        r = SUMS.remainder(a, b)
        return fit(SUMS.add(r, b) if r and (r < 0) != (b < 0) else r)
    q = divide(a, b)
    floor = q.to_integral_value(ROUND_DOWN)
    if floor != q and q < 0:
        floor -= 1
    return add(a, -fit(SUMS.multiply(floor, b)))


def power(a, b):
    if not b:
        return Decimal(1)
    if not a:
        if b < 0:
            raise Refused("DIVZERO")
        return Decimal(0)
    if b != b.to_integral_value():
        if a < 0:
            raise Refused("NEGFRACPWR")
        if EXACT:
            raise Refused("INEXACT")
        x = ROOTS.exp(ROOTS.multiply(b, ROOTS.ln(a)))
        return fit(Context(prec=34, rounding=ROUND_HALF_EVEN).plus(x))  # what is whole but for the last digits
    p = FULL.power(a, abs(b))
    return fit(p) if b > 0 else divide_full(p)


def divide_full(p):
    q = FULL.divide(Decimal(1), p)
    return fit(q, FULL.multiply(q, p) != 1)


def compare(a, b):
    return SUMS.compare(a, b)


RUN = {"+": add, "-": lambda a, b: add(a, -b), "*": lambda a, b: fit(SUMS.multiply(a, b)), "/": divide,
       "\\": integer_divide, "#": modulo, "**": power, "<": compare, "parse": lambda a, b: a}[OP]


def show(x):
    if not x:
        return "0"
    text = format(abs(x), "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return ("-" if x < 0 else "") + (text.lstrip("0") or "0")


def expected(a, b):
    try:
        return show(RUN(parse(a), parse(b)))
    except Refused as why:
        return str(why)


checked = wrong = 0
for line in sys.stdin:
    a, b, result = line.rstrip("\n").split("|")
    checked += 1
    want = expected(a, b)
    if want != result:
        wrong += 1
        if wrong <= 10:
            print(f"{a} {OP} {b} = {result}, not {want}")
print(f"{RULES} {OP}: {checked} checked, {wrong} wrong")
sys.exit(wrong > 0 or checked == 0)
