"""Ctrl-C at a terminal stops loops of M of every form, also those that are machine code, HANG, READ and LOCK, and
ZCONTINUE goes on with them; CTRAP makes an error of it.  Usage: ctrl_c.py CARET-M FOLDER, with routines C, G and T in
the folder."""
import os
import pty
import signal
import sys

LOOPS = ["for  set x=$get(x)+1", "for i=1:1 set x=i", "for i=1:1:1E15 set x=i", "for i=1,2:1 set x=i",
         "for  do sub^G", "do ^G", 'set a="G^G" goto @a', "hang 1000", "read x"]


class Terminal:
    def __init__(self, *command):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execv(command[0], command)
        self.seen = ""

    def sees(self, text):
        """Wait for it; what came before is passed over."""
        while text not in self.seen:
            self.seen += os.read(self.fd, 65536).decode("latin-1")
        self.seen = self.seen[self.seen.index(text) + len(text):]

    def types(self, text):
        os.write(self.fd, text.encode())

    def status(self):
        status = os.waitpid(self.pid, 0)[1]
        os.close(self.fd)
        return status

    def ends(self):
        self.types("halt\r")
        assert self.status() == 0


def stops(program, loop):
    t = Terminal(program)
    t.sees("YDB>")
    t.types(f'write "o","n",! {loop}\r')
    t.sees("on\r\n")
    for _ in range(3):
        t.types("\x03")
        t.sees("CTRLC")
        t.sees("YDB>")
        t.types('write "ag","ain",! zcontinue\r')
        t.sees("again\r\n")
    t.types("\x03")
    t.sees("YDB>")
    t.ends()


def locked(program):
    """LOCK of what another program has: stopped, and had when that one is over."""
    other = Terminal(program)
    other.sees("YDB>")
    other.types('lock ^a write "ta","ken",!\r')
    other.sees("taken\r\n")
    stops(program, "lock ^a")
    other.ends()


def runs(program, entry, *talk):
    """After `-run`: what is seen and typed in turns, and the exit status."""
    t = Terminal(program, "-run", entry)
    for i, text in enumerate(talk):
        if i % 2 == 0:
            t.sees(text)
        else:
            t.types(text)
    assert t.status() == 0, entry


signal.alarm(int(os.environ.get("CARET_PATIENCE", "60")))
os.chdir(sys.argv[2])
for each in LOOPS:
    stops(sys.argv[1], each)
locked(sys.argv[1])
runs(sys.argv[1], "read^C", "on\r\n", "ab\x03", "CTRLC", 'write "mi","d",!\r', "mid\r\n", "zcontinue\r",
     "zcontinue", "cd\r", "got cd.")
for each in "hang", "read", "loop":
    runs(sys.argv[1], each + "^T", "on\r\n", "\x03", "trapped CTRAP")
runs(sys.argv[1], "deaf^C", "on\r\n", "\x03ab\r", "got ab.")
