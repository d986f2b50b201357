"""READ at a terminal in UTF-8 mode: what is typed, as fis-gtm has it.  Usage: typed.py CARET-M FOLDER"""
import os
import pty
import signal
import sys
import termios
import time

# Parameters of USE, what READ takes, what is typed; what is read, $X of the READ, $ZB.
CASES = [
    ("", "x", "äöü\r", '"äöü"', 4, "$C(13)"),
    ("", "x", "aäö\x7f\x7f\x7f\x7fb\r", '"b"', 2, "$C(13)"),
    ("", "x", "日本\x7fx\r", '"日x"', 4, "$C(13)"),
    ("", "x", "e\u0301\x7fx\r", '"ex"', 3, "$C(13)"),
    ("", "x#2", "äö", '"äö"', 3, '""'),
    ("", "*x", "日", "26085", 3, '""'),
    ("escape", "x", "ä\x1bOD", '"ä"', 2, '$C(27)_"OD"'),
    ("convert", "x", "aäß\r", '"AÄß"', 4, "$C(13)"),
    ('terminator="xä"', "x", "öäx", '"öä"', 3, '"x"'),
    ("pasthru", "x", "aä\x7fb\r", '"aä"_$C(127)_"b"', 4, "$C(13)"),
    ("editing", "x", "äö\x1bODX\r", '"äXö"', 4, "$C(13)"),
    ("width=10", "x", "ä" * 12 + "\x7f" * 5 + "\r", '"ääääääääa"'.replace("a", "ä"), 0, "$C(13)"),
]


def main(program, folder):
    signal.alarm(int(os.environ.get("CARET_PATIENCE", "60")))
    with open(os.path.join(folder, "TYPED.m"), "w", encoding="utf-8") as file:
        file.write("TYPED ;\n")
        for use, target, *_ in CASES:
            file.write(f' use $p:(nopasthru:noescape:noconvert:noediting:terminator="":width=80{use and ":" + use})\n'
                       f' write !,"p" read {target} set z=$x_" "_$zwrite($zb)\n'
                       ' use $p:width=80 write !,"<",$zwrite(x)," ",z,">"\n')
        file.write(" quit\n")
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execve(program, [program, "-run", "TYPED"],
                  dict(os.environ, CARET_ROUTINES=folder, CARET_DB="typed.caret", ydb_chset="UTF-8"))
    seen = b""
    for use, target, keys, text, column, ended in CASES:
        while not seen.rpartition(b"\n")[2].startswith(b"p") or termios.tcgetattr(fd)[3] & termios.ICANON:
            seen += os.read(fd, 1) if not seen.endswith(b"\np") else time.sleep(0.01) or b""
        os.write(fd, keys.encode())
        wanted = f"<{text} {column} {ended}>".encode()
        while b"<" not in seen or not seen.endswith(b">"):
            seen += os.read(fd, 1)
        told = seen.rpartition(b"<")[2]
        if b"<" + told != wanted:
            sys.exit(f"{use} {target} {keys!r}: {told.decode(errors='replace')} instead of {wanted.decode()}")
        seen = b""
    os.waitpid(pid, 0)


main(*sys.argv[1:])
