"""READ with EDITING at a terminal: what keys do to the text, as fis-gtm has it.  Usage: edit.py CARET-M FOLDER"""
import os
import pty
import signal
import sys
import termios
import time

LEFT, RIGHT, UP, DOWN, INSERT, DELETE = "\x1bOD", "\x1bOC", "\x1bOA", "\x1bOB", "\x1b[2~", "\x1b[3~"

# Parameters of USE, what READ takes, keys; the text that is read, $ZB.
CASES = [
    ("editing", "", "abc" + LEFT + LEFT + "X\r", '"aXbc"', "$C(13)"),
    ("editing", "", UP + "\r", '"aXbc"', "$C(13)"),
    ("editing", "", "qq" + DOWN + "Z\r", '"aXbcZ"', "$C(13)"),
    ("editing", "", UP + UP + LEFT + "Y\r", '"aXbcYZ"', "$C(13)"),
    ("editing", "", "abc" + LEFT + RIGHT + RIGHT + "X\r", '"abcX"', "$C(13)"),
    ("editing", "", "abc" + LEFT + INSERT + "XY" + LEFT + INSERT + "Z\r", '"abXZY"', "$C(13)"),
    ("editing", "", "abcdef\x01\x04\x06\x0bX\r", '"bX"', "$C(13)"),
    ("editing", "", "abcdef\x02\x02\x15X\x01Y\x05Z\r", '"YXZ"', "$C(13)"),
    ("editing", "", "abc\x02\x7fX\r", '"aXc"', "$C(13)"),
    ("editing", "", "abc" + LEFT + LEFT + DELETE + "X\r", '"aXc"', "$C(13)"),
    ("editing", "", "abc\x1b[15~\x1bxX\r", '"abcX"', "$C(13)"),
    ("editing:noinsert", "", "abc" + LEFT + LEFT + "XY\r", '"aXY"', "$C(13)"),
    ("editing:insert:convert", "", "abc" + LEFT + "x\r", '"ABXC"', "$C(13)"),
    ("noconvert", "#3", "abc", '"abc"', '""'),
    ("escape", "", "abc" + LEFT + "X\x1b[15~", '"abXc"', '$C(27)_"[15~"'),
    ('noescape:terminator="x"_$c(5)', "", "abc\x01X\x05\x06Zx", '"XabcZ"', '"x"'),
    ('terminator="":empterm', "", "ab\x7f\x7f\x7f", '""', "$C(127)"),
    ("noecho", "", "sec\r", '"sec"', "$C(13)"),
    ("echo", "", "\x04" + UP + "\r", '""', "$C(13)"),
    ("pasthru", "", "a\x01\r", '"a"_$C(1)', "$C(13)"),
    ("nopasthru", "", "x" * 100 + "\x01Y\r", '"Y' + "x" * 100 + '"', "$C(13)"),
    ("noediting", "", "a\x01\r", '"a"_$C(1)', "$C(13)"),
]


def wait_for_read(fd):
    """READ takes the terminal's own editing away."""
    while termios.tcgetattr(fd)[3] & termios.ICANON:
        time.sleep(0.01)


def main(program, folder):
    signal.alarm(int(os.environ.get("CARET_PATIENCE", "60")))
    with open(os.path.join(folder, "EDIT.m"), "w") as file:
        file.write("EDIT ;\n")
        for use, count, *_ in CASES:
            file.write(f' use $p:({use}) write "re","ady" read x{count}\n'
                       ' use $p:nowrap write !,"<",$zwrite(x)," ",$zwrite($zb),">" use $p:wrap\n')
        file.write(" quit\n")
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execve(program, [program, "-run", "EDIT"], dict(os.environ, CARET_ROUTINES=folder, CARET_DB="edit.caret"))
    seen = ""

    def until(text):
        nonlocal seen
        while text not in seen:
            seen += os.read(fd, 65536).decode("latin-1")
        before, _, seen = seen.partition(text)
        return before

    for use, _, keys, text, ended in CASES:
        until("ready")
        wait_for_read(fd)
        os.write(fd, keys.encode())
        until("\n<")
        got = until(">")
        assert got == f"{text} {ended}", f"{use} {keys!r}: {got}"
    assert os.waitpid(pid, 0)[1] == 0


main(*sys.argv[1:])
