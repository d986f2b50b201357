"""TLS of the server: tls.py FOLDER PORT PLAIN_PORT SERVER_PID WORKERS.  The folder has ca.pem, server.pem, second.pem,
client.pem and stranger.pem (with their keys as .key); test/run/server_tls.sh makes them and starts the server."""
import os
import random
import select
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import traceback

folder, port, plain_port, server, workers = sys.argv[1], *map(int, sys.argv[2:6])
random.seed(16)


def path(name):
    return os.path.join(folder, name)


def context(cert=None, least=None, most=None):
    c = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    c.load_verify_locations(path("ca.pem"))
    if cert:
        c.load_cert_chain(path(cert + ".pem"), path(cert + ".key"))
    if least:
        c.minimum_version = least
    if most:
        c.maximum_version = most
    return c


def tcp(to=port):
    s = socket.create_connection(("127.0.0.1", to))
    s.settimeout(120)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


class Client:
    """A client of RESP2 on any socket."""

    def __init__(self, s):
        self.s, self.f = s, s.makefile("rb")

    def send(self, *words):
        self.s.sendall(encode(*words))

    def read(self):
        line = self.f.readline()
        if not line.endswith(b"\r\n"):
            raise EOFError(line)
        kind, rest = line[:1], line[1:-2]
        if kind == b"$":
            return None if rest == b"-1" else self.f.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self.read() for _ in range(int(rest))]
        return int(rest) if kind == b":" else line[:-2]

    def __call__(self, *words):
        self.send(*words)
        return self.read()

    def close(self):
        self.f.close()
        self.s.close()


def encode(*words):
    out = [b"*%d\r\n" % len(words)]
    for w in words:
        w = w if isinstance(w, bytes) else str(w).encode()
        out.append(b"$%d\r\n%s\r\n" % (len(w), w))
    return b"".join(out)


def connect(c=None, session=None):
    return Client((c or context()).wrap_socket(tcp(), server_hostname="localhost", session=session))


def plain():
    return Client(tcp(plain_port))


def is_closed(s):
    """Wait for the end of a connection, whatever comes before it."""
    try:
        while s.recv(65536):
            pass
    except (ConnectionError, ssl.SSLError):
        pass
    return True


def refused(c):
    """Is a client with that context turned away?  With TLS 1.3 it learns that when it reads."""
    try:
        return connect(c)("PING") != b"+PONG"
    except (ssl.SSLError, ConnectionError, EOFError):
        return True


def serial(s):
    return s.getpeercert()["subject"][0][0][1]


def pids():
    return [int(p) for p in subprocess.run(["pgrep", "-P", str(server)], capture_output=True).stdout.split()]


def wait(f):
    """For an event; what never happens is ended by the test's limit."""
    while not f():
        threading.Event().wait(0.02)


# ---------------------------------------------------------------------- cases


def ordinary():
    c = connect()
    assert c("SET", "a", "1") == b"+OK" and c("GET", "a") == b"1"
    c.close()


def large_values():
    c, value = connect(), random.randbytes(9_000_000)
    assert c("SET", "large", value) == b"+OK"
    assert c("GET", "large") == value and plain()("GET", "large") == value
    c.close()


def pipelines():
    """Many replies at once, of sizes around that of a record, while requests are still being sent."""
    c, p = connect(), plain()
    values = [bytes([i % 256]) * n for i, n in enumerate([0, 1, 100, 16383, 16384, 16385, 40000])]
    for i, v in enumerate(values):
        p("SET", "v%d" % i, v)
    picks = [random.randrange(len(values)) for _ in range(4000)]
    requests = b"".join(encode("GET", "v%d" % i) for i in picks)
    assert exchange(c.s, requests, b"".join(b"$%d\r\n%s\r\n" % (len(values[i]), values[i]) for i in picks))
    c.close()


def exchange(s, requests, replies):
    """Both ways at once, in one thread: two must not use a TLS socket of Python's at a time (before 3.13.4).  Did these
    replies come?"""
    sent, got = 0, bytearray()
    s.setblocking(False)
    while len(got) < len(replies):
        moved = 0
        for step in (lambda: s.send(requests[sent:sent + 65536]) if sent < len(requests) else 0, lambda: s.recv(1 << 20)):
            try:
                done = step()
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                continue
            if isinstance(done, bytes):
                if not done:
                    return False
                got += done
            else:
                sent += done
            moved += 1 if done else 0
        if not moved:
            select.select([s], [s] if sent < len(requests) else [], [], 120)
    s.settimeout(120)
    return got == replies


def never_reads():
    """A client that does not read gets nothing more after a while, keeps nobody waiting, and misses nothing."""
    c, p = connect(), plain()
    p("SET", "v", b"x" * 100_000)
    c.s.sendall(encode("GET", "v") * 300 + encode("ECHO", "end"))
    for _ in range(100):
        assert p("PING") == b"+PONG"
    for _ in range(300):
        assert c.read() == b"x" * 100_000
    assert c.read() == b"end"
    c.close()


def single_bytes():
    """Records of one byte each."""
    c = connect()
    for byte in encode("SET", "b", "2") + encode("GET", "b"):
        c.s.sendall(bytes([byte]))
    assert c.read() == b"+OK" and c.read() == b"2"
    c.close()


def split_handshake():
    """Handshake and request in segments of one byte."""
    s, into, out = tcp(), ssl.MemoryBIO(), ssl.MemoryBIO()
    t = context().wrap_bio(into, out, server_hostname="localhost")

    def flush():
        for byte in out.read():
            s.sendall(bytes([byte]))

    def do(f):
        while True:
            try:
                result = f()
                flush()
                return result
            except ssl.SSLWantReadError:
                flush()
                into.write(s.recv(65536))

    do(t.do_handshake)
    do(lambda: t.write(encode("ECHO", "hello")))
    got = b""
    while got != b"$5\r\nhello\r\n":
        got += do(lambda: t.read(100))
    s.close()


def garbage():
    """What is not TLS ends its connection, and no other."""
    c = connect()
    hello = context().wrap_bio(ssl.MemoryBIO(), out := ssl.MemoryBIO(), server_hostname="localhost")
    try:
        hello.do_handshake()
    except ssl.SSLWantReadError:
        pass
    first = out.read()
    texts = [b"PING\r\n" * 10, b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\xff\xff" + b"x" * 70000, b"\0" * 100,
             encode("SET", "stolen", "1")]
    texts += [random.randbytes(random.randrange(6, 2000)) for _ in range(20)]
    for _ in range(60):  # a good first message with one bad byte
        at = random.randrange(len(first))
        texts.append(first[:at] + bytes([first[at] ^ 1 << random.randrange(8)]) + first[at + 1:] + b"\x17" * 50)
    for text in texts:
        s = tcp()
        try:
            s.sendall(text)
            s.shutdown(socket.SHUT_WR)
        except OSError:  # it was ended already
            pass
        assert is_closed(s)
        s.close()
    assert c("PING") == b"+PONG" and c("EXISTS", "stolen") == 0
    c.close()


def garbage_later():
    """The same within a connection: what was said before counts, what came after the bad record does not."""
    c, p = connect(), plain()
    assert c("SET", "g", "1") == b"+OK"
    os.write(c.s.fileno(), b"\x17\x03\x03\x00\x20" + b"y" * 32 + encode("SET", "g", "2"))
    assert is_closed(c.s) and p("GET", "g") == b"1"


def plain_port_speaks_plainly():
    try:
        context().wrap_socket(tcp(plain_port), server_hostname="localhost")
        raise AssertionError("a handshake with a plain port")
    except (ssl.SSLError, ConnectionError):
        pass


def last_words():
    """A request with the end of the connection right after it is done, as without TLS."""
    for i in range(20):
        c = connect()
        c.s.sendall(encode("SET", "last", i))
        c.s.settimeout(5)
        try:
            c.s.unwrap()
        except (ssl.SSLError, OSError):
            pass
        c.close()
        p = plain()
        wait(lambda: p("GET", "last") == b"%d" % i)
        p.close()


def slow_handshake():
    """A client that does not get on with the handshake is ended."""
    p, silent, begun, c = plain(), tcp(), tcp(), connect()
    assert p("CONFIG", "SET", "timeout", 1) == b"+OK"
    begun.sendall(b"\x16\x03\x01")
    assert is_closed(silent) and is_closed(begun)
    assert plain()("CONFIG", "SET", "timeout", 0) == b"+OK"
    c.close()


def client_certificates():
    p = plain()
    for said, without, with_, strange in (("no", False, False, False), ("optional", False, False, True),
                                         ("yes", True, False, True)):
        assert p("CONFIG", "SET", "tls-auth-clients", said) == b"+OK"
        wait(lambda: refused(None) == without and refused(None) == without)
        assert refused(context("client")) == with_, said
        assert refused(context("stranger")) == strange, said
    assert p("CONFIG", "SET", "tls-auth-clients", "no") == b"+OK"
    wait(lambda: not any(refused(None) for _ in range(4 * workers)))


def protocols():
    p, v = plain(), ssl.TLSVersion
    for said, two, three in (("TLSv1.2", False, True), ("TLSv1.3", True, False), ("", False, False)):
        assert p("CONFIG", "SET", "tls-protocols", said) == b"+OK"
        wait(lambda: all(refused(context(most=v.TLSv1_2)) == two for _ in range(4 * workers)))
        wait(lambda: all(refused(context(least=v.TLSv1_3)) == three for _ in range(4 * workers)))
    for name, value in (("tls-protocols", "TLSv9"), ("tls-ciphers", "nonsense"), ("tls-ciphersuites", "nonsense"),
                        ("tls-cert-file", "/nonexistent"), ("tls-key-file", path("client.key")),
                        ("tls-dh-params-file", path("server.pem")), ("tls-ca-cert-file", "/nonexistent")):
        assert p("CONFIG", "SET", name, value).startswith(
            b"-ERR CONFIG SET failed (possibly related to argument '%s') - Unable to update TLS" % name.encode())
        assert p("CONFIG", "GET", name)[1] != value.encode()
    assert p("CONFIG", "SET", "tls-ciphers", "ECDHE-ECDSA-AES128-GCM-SHA256") == b"+OK"
    wait(lambda: all(connect(context(most=v.TLSv1_2)).s.cipher()[0] == "ECDHE-ECDSA-AES128-GCM-SHA256"
                     for _ in range(4 * workers)))
    assert p("CONFIG", "SET", "tls-ciphers", "") == b"+OK"


def certificates_change():
    """New connections get the new certificate, of each worker; old ones go on."""
    old, p = connect(), plain()
    assert serial(old.s) == "first"
    for name in ("second", "server"):
        assert p("CONFIG", "SET", "tls-cert-file", path(name + ".pem"),
                 "tls-key-file", path(name + ".key")) == b"+OK"
        want = "second" if name == "second" else "first"
        wait(lambda: all(serial(connect().s) == want for _ in range(8 * workers)))
    assert old("PING") == b"+PONG"
    old.close()


def other_port():
    """The port is another one while the server runs: all workers speak TLS there, nobody listens at the old one."""
    p, old, at = plain(), connect(), port
    assert p("CONFIG", "SET", "tls-port", plain_port).startswith(
        b"-ERR CONFIG SET failed (possibly related to argument 'tls-port') - Unable to listen on this port.")
    assert connect()("PING") == b"+PONG"
    while p("CONFIG", "SET", "tls-port", at := at + 2) != b"+OK":
        pass
    seen = set()

    def all_seen():
        c = Client(context().wrap_socket(tcp(at), server_hostname="localhost"))
        seen.add(c("INFO", "server").split(b"\nworker:")[1].split(b"\r")[0])
        c.close()
        return len(seen) == workers
    wait(all_seen)
    try:
        tcp().close()
        raise AssertionError("the old port is served")
    except ConnectionRefusedError:
        pass
    assert old("PING") == b"+PONG"
    assert p("CONFIG", "SET", "tls-port", port) == b"+OK"
    assert connect()("PING") == b"+PONG"
    old.close()


def resumed(c, session):
    again = connect(c, session)
    was = again.s.session_reused
    again.close()
    return was


def sessions():
    """A session is resumed by whichever worker, also by the successor of one that was killed."""
    c = context(most=ssl.TLSVersion.TLSv1_2)
    one = connect(c)
    assert one("PING") == b"+PONG"
    session = one.s.session
    assert all(resumed(c, session) for _ in range(8 * workers))
    kill_one()
    assert all(resumed(c, session) for _ in range(8 * workers))


def kill_one():
    before = pids()
    os.kill(before[0], signal.SIGKILL)
    wait(lambda: before[0] not in pids() and len(pids()) == workers)

    def answers():
        try:
            return all(connect()("PING") == b"+PONG" for _ in range(4 * workers))
        except (OSError, EOFError):
            return False
    wait(answers)


def killed_worker():
    """What was acknowledged is there."""
    clients, acknowledged, open_ = [connect() for _ in range(2 * workers)], 0, 0
    plain()("DEL", "n")
    for c in clients:
        for _ in range(50):
            acknowledged += c("INCR", "n") > 0
        c.send("INCR", "n")
        open_ += 1
    kill_one()
    for c in clients:
        c.close()
    assert acknowledged <= int(plain()("GET", "n")) <= acknowledged + open_


def scripts_that_take_long():
    """Clients with TLS of the same worker are served meanwhile, and the script's own gets its answer."""
    busy, others, p = connect(), [connect() for _ in range(4 * workers)], plain()
    busy.send("EVAL", "redis.call('SET', 'began', 1) while redis.call('EXISTS', 'stop') == 0 do end return 'done'", 0)
    busy.send("ECHO", "after")
    for _ in range(50):
        for c in others:
            assert c("PING") == b"+PONG"
    assert p("SCRIPT", "KILL") == b"+OK"
    assert b"Script killed" in busy.read() and busy.read() == b"after"
    busy.send("EVAL", "local x = 0 for i = 1, 3e7 do x = (x + i) % 7 end return string.rep('x', 3000000)", 0)
    for c in others:
        assert c("PING") == b"+PONG"
    assert busy.read() == b"x" * 3000000 and busy("ECHO", "end") == b"end"
    for c in others + [busy]:
        c.close()


def messages():
    c, p = connect(), plain()
    assert c("SUBSCRIBE", "news") == [b"subscribe", b"news", 1]
    wait(lambda: p("PUBLISH", "news", "0") == 1)
    for i in range(1000):
        p("PUBLISH", "news", b"%d" % i * 100)
    assert c.read() == [b"message", b"news", b"0"]
    for i in range(1000):
        assert c.read() == [b"message", b"news", b"%d" % i * 100]
    c.close()


def too_many():
    p = plain()
    assert p("CONFIG", "SET", "maxclients", 1) == b"+OK"
    wait(lambda: refused(None) and refused(None))
    assert p("CONFIG", "SET", "maxclients", 10000) == b"+OK"
    wait(lambda: not refused(None))


def nothing_is_left():
    """All connections of the cases are gone."""
    p = plain()
    wait(lambda: b"connected_clients:1\r\n" in p("INFO", "clients"))


def process_of(c):
    return int(c("INFO", "server").split(b"process_id:")[1].split(b"\r")[0])


def is_there(pid):
    """Also one that nobody has waited for is gone."""
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def load(number, stop, wrong):
    """Requests without a pause, by one connection that stays and by new ones."""
    try:
        c, n, key = connect(), 0, "load%d" % number
        while not stop.is_set():
            c.s.sendall(encode("INCR", key) * 5)
            for n in range(n + 1, n + 6):
                assert c.read() == n
            new = connect()
            assert new("GET", key) == b"%d" % n
            new.close()
        c.close()
    except Exception as e:
        wrong.append(repr(e))


def successor():
    with open(path("log")) as f:
        found = re.search(r"\[%d\]: process (\d+) has taken over" % server, f.read())
    return found and int(found[1])


def taken_over():
    """Another server takes over: connections with TLS stay with the old one until they end, new ones come to the new
    one, both see the same data, and no request fails."""
    old, stop, wrong = [connect() for _ in range(2 * workers)], threading.Event(), []
    threads = [threading.Thread(target=load, args=(i, stop, wrong)) for i in range(3)]
    waiting, multi, processes = connect(), connect(), {process_of(c) for c in old}
    plain()("DEL", "shared", "list", *("load%d" % i for i in range(3)))
    for t in threads:
        t.start()
    waiting.send("BLPOP", "list", 0)
    assert multi("MULTI") == b"+OK" and multi("INCR", "shared") == b"+QUEUED"
    p = plain()
    wait(lambda: int(p("GET", "load0") or 0) > 50)
    os.kill(server, signal.SIGUSR2)
    wait(successor)
    new = successor()
    wait(lambda: process_of(connect()) not in processes)
    at = int(p("GET", "load0"))
    wait(lambda: wrong or int(p("GET", "load0")) > at + 50)
    for c in old:
        assert process_of(c) in processes and c("INCR", "shared") > 0
        after = connect()
        assert process_of(after) not in processes and after("INCR", "shared") > 0
        after.close()
    assert multi("EXEC") == [4 * workers + 1]
    assert p("RPUSH", "list", "x") == 1 and waiting.read() == [b"list", b"x"]
    assert is_there(server)
    stop.set()
    for t in threads:
        t.join()
    assert not wrong, wrong
    for c in old + [waiting, multi]:
        c.close()
    wait(lambda: not is_there(server))
    assert p("GET", "shared") == b"%d" % (4 * workers + 1) and connect()("PING") == b"+PONG"
    os.kill(new, signal.SIGTERM)
    wait(lambda: not is_there(new))


def end_successor():
    if successor() and is_there(successor()):
        os.kill(successor(), signal.SIGKILL)


failed = 0
named = [taken_over]  # only if asked for: the server ends
cases = [ordinary, large_values, pipelines, never_reads, single_bytes, split_handshake, garbage, garbage_later,
         plain_port_speaks_plainly, last_words, slow_handshake, client_certificates, protocols, certificates_change, other_port,
         sessions, killed_worker, scripts_that_take_long, messages, too_many, nothing_is_left]
if len(sys.argv) > 6:
    cases = [case for case in cases + named if case.__name__ in sys.argv[6:]]
for case in cases:
    began = time.time()
    try:
        case()
        if os.environ.get("TLS_TIMES"):
            print(case.__name__, round(time.time() - began, 2))
    except Exception:
        failed += 1
        print("FAILED:", case.__name__)
        traceback.print_exc()
end_successor()
print("%d passed, %d failed" % (len(cases) - failed, failed))
sys.exit(failed > 0)
