"""What the server tells a manager of services: manager.py SERVER FOLDER CERTIFICATE KEY.  The manager is this program."""
import os
import signal
import socket
import subprocess
import sys

program, folder, cert, key = sys.argv[1:5]
failed = passed = 0


def note(fine, what):
    global failed, passed
    passed += bool(fine)
    failed += not fine
    if not fine:
        print("FAILED:", what)


class Server:
    """A server with a manager that listens, and sockets that the manager opened."""

    def __init__(self, name, *arguments, sockets=(), names="", **more):
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.manager.bind(name.replace("@", "\0"))
        self.manager.settimeout(120)
        env = dict(os.environ, NOTIFY_SOCKET=name, **more)
        if sockets:
            env.update(LISTEN_FDS=str(len(sockets)), LISTEN_FDNAMES=names)
        script = 'LISTEN_PID=$$; export LISTEN_PID; exec "$@"' if sockets else 'exec "$@"'
        numbers = [s.fileno() for s in sockets]
        assert numbers == list(range(3, 3 + len(sockets))) or not sockets
        self.process = subprocess.Popen(
            ["sh", "-c", script, "sh", program, folder + "/m.caret", "--shm-dir", folder, "--workers", "2", *arguments],
            pass_fds=numbers, env=env, stderr=subprocess.DEVNULL)

    def heard(self, word):
        """Wait until that is told."""
        while True:
            text = self.manager.recv(4096).decode()
            if word in text.split("\n"):
                return text

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        note("STOPPING=1" in self.heard("STOPPING=1"), "the end is told")
        note(self.process.wait() == 0, "it ends in order")
        self.manager.close()


def ask(kind, address, text):
    with socket.socket(kind) as s:
        s.settimeout(120)
        s.connect(address)
        s.sendall(text)
        return s.recv(1000)


# Descriptors from 3 on, as systemd numbers them.
os.closerange(3, 20)
tcp, unix, third = socket.socket(), socket.socket(socket.AF_UNIX), socket.socket()
tcp.bind(("127.0.0.1", 0))
unix.bind(folder + "/given")
third.bind(("127.0.0.1", 0))
for s in (tcp, unix, third):
    s.listen(10)

s = Server(folder + "/notify", "--port", "6379", "--tls-port", "1", "--tls-cert-file", cert, "--tls-key-file", key,
           "--tls-auth-clients", "no", sockets=(tcp, unix, third), names="plain:unix:tls")
note("STATUS=2 workers" in s.heard("READY=1"), "it tells that it is ready")
note(ask(socket.AF_INET, tcp.getsockname(), b"PING\r\n") == b"+PONG\r\n", "a TCP socket that was handed over")
note(ask(socket.AF_UNIX, folder + "/given", b"PING\r\n") == b"+PONG\r\n", "a unix socket that was handed over")
note(ask(socket.AF_INET, third.getsockname(), b"PING\r\nPING\r\n")[:1] in (b"\x15", b""), "one that speaks TLS")
answer = ask(socket.AF_INET, tcp.getsockname(), b"CONFIG SET port 0\r\n")
note(b"Unable to listen on this port" in answer, "what the manager opened does not change")
note(ask(socket.AF_INET, tcp.getsockname(), b"PING\r\n") == b"+PONG\r\n", "and goes on")
s.process.send_signal(signal.SIGHUP)
note("MONOTONIC_USEC=" in s.heard("RELOADING=1"), "SIGHUP is told")
s.heard("READY=1")
s.end()
note(os.path.exists(folder + "/given"), "sockets of the manager stay")

# A watchdog is answered while workers get to their turns, and not while one is stopped.
s = Server("@caret-test-%d" % os.getpid(), "--port", "0", "--unix", folder + "/s", WATCHDOG_USEC="1000000")
s.heard("READY=1")
note("WATCHDOG=1" in s.heard("WATCHDOG=1"), "the watchdog is told")
worker = int(subprocess.run(["pgrep", "-P", str(s.process.pid)], capture_output=True).stdout.split()[0])
os.kill(worker, signal.SIGSTOP)
s.manager.settimeout(4)
try:
    for _ in range(8):
        s.manager.recv(4096)
    told = True
except socket.timeout:
    told = False
note(not told, "the watchdog is not told of a server with a worker that is stopped")
os.kill(worker, signal.SIGCONT)
s.manager.settimeout(120)
note("WATCHDOG=1" in s.heard("WATCHDOG=1"), "and again after it goes on")
s.end()

print("%d passed, %d failed" % (passed, failed))
sys.exit(failed > 0)
