"""A browser's part of the interface of `caret web`, for tests: one server, requests, streams, raw bytes."""
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import urllib.parse

# A shell ignores it for what runs in the background, and so would the servers, which are to end by it.
signal.signal(signal.SIGINT, signal.default_int_handler)


class Server:
    """`caret web` over a database, until it is stopped."""

    def __init__(self, caret, path, *options, port=0):
        self.process = subprocess.Popen([caret, "web", path, "--port", str(port), *options],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise RuntimeError(self.process.stderr.read())
        self.port = int(re.search(r":(\d+)/", self.url).group(1))
        self.cookie = None

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait()
        errors = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()
        return errors

    def sign_in(self):
        status, headers, _ = self.request("GET", self.url[self.url.index("/", 8):])
        self.cookie = headers.get("Set-Cookie", "").split(";")[0] or None
        return status

    def request(self, method, path, body=None, headers=None):
        """Status, headers, bytes."""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        h = {"Accept-Encoding": "gzip"}
        if self.cookie:
            h["Cookie"] = self.cookie
        if body is not None:
            h["Content-Type"] = "application/json"
        h.update(headers or {})
        c.request(method, path, body, {k: v for k, v in h.items() if v is not None})
        r = c.getresponse()
        data = r.read()
        c.close()
        return r.status, r.headers, data

    def get(self, path, **query):
        """The JSON of an answer that must be right."""
        query = {k.rstrip("_"): v for k, v in query.items()}
        status, _, data = self.request("GET", "/api/" + path + "?" + urllib.parse.urlencode(query))
        assert status == 200, (path, status, data)
        return json.loads(data)

    def post(self, path, value=None):
        """Status and JSON."""
        status, _, data = self.request("POST", "/api/" + path, json.dumps(value or {}))
        return status, json.loads(data) if data else None

    def raw(self, text, wait=True):
        """Bytes as they are, and what comes back until the server closes."""
        s = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        s.sendall(text if isinstance(text, bytes) else text.encode())
        if not wait:
            return s
        answer = b""
        while True:
            try:
                piece = s.recv(65536)
            except ConnectionResetError:
                piece = b""
            if not piece:
                s.close()
                return answer
            answer += piece

    def events(self, path, **query):
        """Events of a stream that is open now: (name, data), until it ends or the generator is closed."""
        query = {k.rstrip("_"): v for k, v in query.items()}
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        c.request("GET", "/api/" + path + "?" + urllib.parse.urlencode(query), headers={"Cookie": self.cookie})
        r = c.getresponse()
        assert r.status == 200, (path, r.status, r.read())
        r.readline()  # a comment, when it is open
        return self.read_events(c, r)

    @staticmethod
    def read_events(c, r):
        try:
            name = None
            for line in r:
                line = line.decode().rstrip("\n")
                if line.startswith("event: "):
                    name = line[7:]
                elif line.startswith("data: "):
                    yield name, json.loads(line[6:])
        finally:
            r.close()
            c.close()


def run(caret, *arguments, text=None):
    return subprocess.run([caret, *arguments], input=text, capture_output=True, text=True, check=False)


def memory(pid):
    """KiB of a process that no other has."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
        fields = dict(re.findall(r"(\w+): +(\d+) kB", f.read()))
    return int(fields["Private_Dirty"])


def cpu(pid):
    """Seconds of a processor that a process took."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
