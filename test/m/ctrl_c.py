"""Ctrl-C at a prompt of M on a terminal stops loops of every form, also those that are machine code, and ZCONTINUE goes
on with them.  Usage: ctrl_c.py CARET-M FOLDER, with a routine G in the folder."""
import os
import pty
import signal
import sys

LOOPS = ["for  set x=$get(x)+1", "for i=1:1 set x=i", "for i=1:1:1E15 set x=i", "for i=1,2:1 set x=i",
         "for  do sub^G", "do ^G", 'set a="G^G" goto @a']


class Terminal:
    def __init__(self, program):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execv(program, [program])
        self.seen = ""

    def sees(self, text):
        """Wait for it; what came before is passed over."""
        while text not in self.seen:
            self.seen += os.read(self.fd, 65536).decode("latin-1")
        self.seen = self.seen[self.seen.index(text) + len(text):]

    def types(self, text):
        os.write(self.fd, text.encode())


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
    os.kill(t.pid, signal.SIGKILL)
    os.close(t.fd)
    os.waitpid(t.pid, 0)


signal.alarm(int(os.environ.get("CARET_PATIENCE", "60")))
os.chdir(sys.argv[2])
for each in LOOPS:
    stops(sys.argv[1], each)
