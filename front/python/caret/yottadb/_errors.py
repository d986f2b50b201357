"""Constants, errors and their texts.  The table is front/m/errors.def, which the build puts beside this file."""

from __future__ import annotations

import os
import re
import threading

YDB_RELEASE = 206
YDB_OK, YDB_INT_MAX, YDB_NOTTP = 0, 0x7FFFFFFF, 0
YDB_TP_RESTART, YDB_TP_ROLLBACK, YDB_NOTOK, YDB_LOCK_TIMEOUT, YDB_DEFER_HANDLER = (YDB_INT_MAX - i for i in range(1, 6))
YDB_MAX_IDENT, YDB_MAX_NAMES, YDB_MAX_STR, YDB_MAX_SUBS, YDB_MAX_PARMS = 31, 35, 1 << 20, 31, 32
YDB_MAX_TIME_NSEC, YDB_MAX_YDBERR, YDB_MIN_YDBERR = 2147483647000000, 1 << 30, 1 << 27
YDB_MAX_ERRORMSG, YDB_MAX_M_LINE_LEN, YDB_LOCK_MAX_NODES = 1024, 8192, 11
DEFAULT_DATA_SIZE, DEFAULT_SUBSCR_CNT, DEFAULT_SUBSCR_SIZE = 32, 2, 16
YDB_DEL_TREE, YDB_DEL_NODE = 1, 2
YDB_DATA_UNDEF, YDB_DATA_VALUE_NODESC, YDB_DATA_NOVALUE_DESC, YDB_DATA_VALUE_DESC = 0, 1, 10, 11
YDB_DATA_ERROR = 0x7FFFFF00
YDB_SEVERITY_WARNING, YDB_SEVERITY_SUCCESS, YDB_SEVERITY_ERROR = 0, 1, 2
YDB_SEVERITY_INFORMATIONAL, YDB_SEVERITY_FATAL = 3, 4
YDB_MAIN_LANG_C, YDB_MAIN_LANG_GO = 0, 1

TEXT: dict[int, tuple[str, str]] = {}  # by the magnitude of a number: name and text
NUMBER: dict[str, int] = {}  # by name: the number, negative


def _read() -> None:
    row = re.compile(r'M_ERROR\(\d, (\w+), (-\d+), "(.*)"\)$', re.M)
    with open(os.path.join(os.path.dirname(__file__), "errors.def"), encoding="utf-8") as table:
        for name, number, text in row.findall(table.read()):
            NUMBER[name] = int(number)
            TEXT[-int(number)] = name, text.replace('\\"', '"').replace("\\t", "\t").replace("\\\\", "\\")


_read()
CONSTANTS: dict[str, int] = {name: value for name, value in globals().items()
                             if isinstance(value, int) and name.startswith(("YDB_", "DEFAULT_"))}
CONSTANTS.update(("YDB_ERR_" + name, number) for name, number in NUMBER.items())


class YDBException(Exception):
    """Whatever this module raises, but for TypeErrors and ValueErrors."""


class YDBError(YDBException):
    """An error of the database: its text begins with its number."""

    def code(self) -> int:
        """The number, one of YDB_ERR_..."""
        found = re.match(r"-?(\d+)", str(self))
        return -int(found.group(1)) if found else 0


class YDBPythonError(YDBException):
    pass


class YDBNodeEnd(YDBException):
    pass


class YDBLockTimeoutError(YDBException):
    pass


class YDBTPException(YDBException):
    pass


class YDBTPRestart(YDBTPException):
    pass


class YDBTPRollback(YDBTPException):
    pass


class YDBTPTimeoutError(YDBException):
    pass


class YDBNotOk(YDBException):
    pass


class YDBDeferHandler(YDBException):
    pass


def letter(number: int) -> str:
    return "WSEIF"[number & 7] if number & 7 < 5 else "E"


def message(number: int) -> str:
    """The text of an error, with !AD and the like where operands belong."""
    if not isinstance(number, int):
        raise TypeError("'%s' object cannot be interpreted as an integer" % type(number).__name__)
    if number == YDB_TP_RESTART:
        return "%YDB-I-TPRESTART, The transaction is to begin again"
    if number == YDB_TP_ROLLBACK:
        return "%YDB-I-TPROLLBACK, The transaction is to be rolled back"
    if number == YDB_LOCK_TIMEOUT:
        return "%YDB-I-LOCKTIMEOUT, The lock was not obtained in time"
    if number > 0x7FFFFFFF:
        raise OverflowError("signed integer is greater than maximum")
    found = TEXT.get(abs(number))
    if found is None and 0 < number < min(TEXT):
        return "%%SYSTEM-E-ENO%d, %s" % (number, os.strerror(number))
    if found is None:
        raise error("UNKNOWNSYSERR", number)
    return "%%YDB-%s-%s, %s" % (letter(abs(number)), *found)


_last = threading.local()  # .text is $ZSTATUS


def zstatus() -> str:
    """The text of the thread's last error, or what was set instead."""
    text: str = getattr(_last, "text", "")
    return text


def set_zstatus(text: str) -> None:
    _last.text = text


def error(name: str, *operands: object, also: str = "") -> YDBError:
    """A YDBError of this name, for $ZSTATUS too; operands stand where !AD and the like do."""
    number = -NUMBER[name]
    rest = iter(operands)
    text = re.sub(r"!(AD|AZ|UL|UJ|SL|SJ|@UQ|XL|XJ)", lambda m: str(next(rest, "")), message(number))
    set_zstatus("%d,(SimpleAPI),%s%s" % (number, text, also))
    return YDBError(zstatus())


def node_end() -> YDBNodeEnd:
    return YDBNodeEnd("%d, %%YDB-E-NODEEND, End of list of nodes/subscripts" % NUMBER["NODEEND"])


def timed_out() -> YDBLockTimeoutError:
    return YDBLockTimeoutError("%d, %s" % (YDB_LOCK_TIMEOUT, message(YDB_LOCK_TIMEOUT)))


def of_status(status: int) -> YDBException:
    """What a function that a transaction calls asked for by its number."""
    if status == YDB_TP_RESTART:
        return YDBTPRestart("%d, %%YDB-TP-RESTART: Restarting transaction." % status)
    if status == YDB_TP_ROLLBACK:
        return YDBTPRollback("%d, %%YDB-TP-ROLLBACK: Transaction not committed." % status)
    if status == YDB_LOCK_TIMEOUT:
        return timed_out()
    if status == NUMBER["TPTIMEOUT"]:
        return YDBTPTimeoutError("%d, %%YDB-E-TPTIMEOUT, Transaction timeout" % status)
    if status in (YDB_NOTOK, YDB_DEFER_HANDLER):
        return (YDBNotOk if status == YDB_NOTOK else YDBDeferHandler)(str(status))
    if abs(status) in TEXT:
        return YDBError("%d,(SimpleAPI),%s" % (abs(status), message(status)))
    return error("UNKNOWNSYSERR", status)
