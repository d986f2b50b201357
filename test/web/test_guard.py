"""What `caret web` refuses: hostile requests, one by one."""
import gzip
import http.client
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import time
import unittest
import urllib.request

sys.path.insert(0, os.path.dirname(__file__))
from client import Server, run  # noqa: E402

CARET = os.environ["CARET"]
FOLDER = os.environ["TMPDIR"]


class Guard(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.environ["XDG_STATE_HOME"] = os.path.join(FOLDER, "state")
        cls.path = os.path.join(FOLDER, "guard.caret")
        run(CARET, "set", "--db", cls.path, "^a(1)", "one")
        cls.server = Server(CARET, cls.path)
        assert cls.server.sign_in() == 200

    @classmethod
    def tearDownClass(cls):
        errors = cls.server.stop()
        assert errors == "", errors

    def status(self, method, path, headers=None, body=None):
        return self.server.request(method, path, body, headers)[0]

    def test_a_token_works_once(self):
        path = self.server.url[self.server.url.index("/", 8):]
        _, headers, _ = self.server.request("GET", path, headers={"Cookie": None})
        self.assertIsNone(headers.get("Set-Cookie"))
        _, answer = self.server.post("token")
        path = answer["url"][answer["url"].index("/", 8):]
        _, headers, _ = self.server.request("GET", path, headers={"Cookie": None})
        cookie = headers["Set-Cookie"]
        for word in ("HttpOnly", "SameSite=Strict", "Path=/"):
            self.assertIn(word, cookie)

    def test_without_the_cookie(self):
        self.assertEqual(self.status("GET", "/api/info", {"Cookie": None}), 401)
        self.assertEqual(self.status("GET", "/api/info", {"Cookie": "caret-%d=%s" % (self.server.port, "0" * 64)}), 401)
        self.assertEqual(self.status("GET", "/", {"Cookie": None}), 200)

    def test_files_are_kept_by_their_version_alone(self):
        def kept(path):
            status, headers, body = self.server.request("GET", path, headers={"Accept-Encoding": "gzip"})
            self.assertEqual(status, 200, path)
            return "immutable" in headers["Cache-Control"], body
        now, page = kept("/")
        self.assertFalse(now)
        names = re.findall(r'(?:href|src)="(v-[0-9a-f]{16}/[^"]+)"', gzip.decompress(page).decode())
        self.assertGreater(len(names), 10)
        for name in names:
            again, body = kept("/" + name)
            self.assertTrue(again, name)
            file = name[name.index("/"):]
            self.assertEqual(kept("/v-0123456789abcdef" + file), (False, body))  # a page of an older program asks
            self.assertEqual(kept(file), (False, body))
        for path in ("/version", "/v-0123456789abcdef/version", "/v-xyz/main.js", "/v-0/../main.js", "/v-0123//main.js",
                     "/" + names[0][:19] + "version"):
            self.assertEqual(self.status("GET", path), 404, path)

    def test_other_names_of_the_host(self):
        for name in ("evil.example", "evil.example:%d" % self.server.port, "127.0.0.1", "127.0.0.1:1", "",
                     "127.0.0.1:%d, evil.example" % self.server.port):
            self.assertEqual(self.status("GET", "/api/info", {"Host": name}), 421, name)
            self.assertEqual(self.status("GET", "/", {"Host": name}), 421, name)
        self.assertEqual(self.status("GET", "/api/info", {"Host": "LocalHost:%d" % self.server.port}), 200)

    def test_other_sites(self):
        for origin in ("http://evil.example", "null", "https://127.0.0.1:%d" % self.server.port, "http://127.0.0.1"):
            self.assertEqual(self.status("GET", "/api/info", {"Origin": origin}), 403, origin)
        self.assertEqual(self.status("GET", "/api/info", {"Origin": "http://127.0.0.1:%d" % self.server.port}), 200)
        self.assertEqual(self.status("GET", "/api/info", {"Sec-Fetch-Site": "cross-site"}), 403)
        self.assertEqual(self.status("GET", "/api/info", {"Sec-Fetch-Site": "same-site"}), 403)
        link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
        self.assertEqual(self.status("GET", "/", link), 200)
        self.assertEqual(self.status("GET", "/api/info", link), 403)

    def test_methods_and_types(self):
        self.assertEqual(self.status("POST", "/api/info", {"Content-Type": "application/json"}, "{}"), 405)
        self.assertEqual(self.status("DELETE", "/api/info"), 405)
        self.assertEqual(self.status("PUT", "/"), 405)
        self.assertEqual(self.status("GET", "/api/token"), 405)
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
            self.assertEqual(self.status("POST", "/api/token", {"Content-Type": kind}, "{}"), 415, kind)
        self.assertEqual(self.status("POST", "/api/token", None, "{"), 400)
        self.assertEqual(self.status("POST", "/api/token", None, "[" * 100000), 400)
        self.assertEqual(self.status("POST", "/api/token", None, b"\xff"), 400)

    def test_paths_out_of_the_page(self):
        for path in ("/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/page/index.html", "//etc/passwd",
                     "/index.html/..", "/api", "/api/", "/api/none", "/tool/lib/command.lua"):
            self.assertEqual(self.status("GET", path), 404, path)

    def test_sizes(self):
        port = self.server.port
        head = f"POST /api/token HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n" \
               f"Cookie: {self.server.cookie}\r\nConnection: close\r\n"
        self.assertIn(b" 413 ", self.server.raw(head + "Content-Length: 99999999999\r\n\r\n")[:40])
        self.assertIn(b" 4", self.server.raw("GET /" + "a" * 60000 + " HTTP/1.1\r\n\r\n")[:20] or b" 4")
        self.assertIn(b" 4", self.server.raw(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n" +
                                             "X: y\r\n" * 20000 + "\r\n")[:20] or b" 4")
        # nobody signed in: the body is not read at all
        head = f"POST /api/token HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        self.assertIn(b" 401 ", self.server.raw(head + "Content-Length: 20000000\r\n\r\n")[:40])
        self.server.get("info")

    def test_two_meanings(self):
        """Heads that a proxy might read otherwise than this server."""
        head = f"POST /api/token HTTP/1.1\r\nHost: 127.0.0.1:{self.server.port}\r\nCookie: {self.server.cookie}\r\n" \
               "Content-Type: application/json\r\nConnection: close\r\n"
        for lines, body in (("Transfer-Encoding: chunked\r\nContent-Length: 4", "2\r\n{}\r\n0\r\n\r\n"),
                            ("Content-Length: 2\r\nContent-Length: 40", "{}"), ("Content-Length: +2", "{}"),
                            ("Host: evil.example\r\nContent-Length: 2", "{}")):
            self.assertIn(b" 4", self.server.raw(f"{head}{lines}\r\n\r\n{body}")[:14], lines)

    def test_zero_bytes(self):
        """They neither cut a key nor a text that is looked for."""
        for query in ("raw?node=^a(1)%00", "value?node=^a%00(1)", "children?node=^a%00", "children?node=^a&from=1%00"):
            status, _, data = self.server.request("GET", "/api/" + query)
            self.assertEqual((status, b"SYNTAX" in data), (400, True), (query, data))
        self.assertEqual(self.server.request("GET", "/api/value?node%00x=^a(1)")[0], 400)
        self.assertEqual([n for n, _ in self.server.events("find", text="one\0", in_="values")], ["done"])

    def test_garbage(self):
        for text in (b"\0\0\0\0", b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/9.9\r\n\r\n", b"\r\n" * 100):
            self.server.raw(text + b"\r\n\r\n", wait=False).close()
        self.server.get("info")

    def test_slow_ones_leave_room_for_others(self):
        slow = [self.server.raw("GET / HT", wait=False) for _ in range(40)]
        for s in slow:
            s.sendall(b"T")
        self.server.get("info")
        for s in slow:
            s.close()

    def test_slow_ones_are_ended(self):
        """More than there may be at once, each with a byte now and then: all are shut down, in their heads or bodies."""
        server = Server(CARET, self.path, "--patience", "1")
        server.sign_in()
        body = f"POST /api/token HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nCookie: {server.cookie}\r\n" \
               "Content-Type: application/json\r\nContent-Length: 999999\r\n\r\n"
        slow = [server.raw("GET / HTTP/1.1\r\nX: " if i % 2 else body, wait=False) for i in range(80)]
        events = server.process
        left = list(slow)
        while left:
            self.assertIsNone(events.poll())
            for s in list(left):
                try:
                    s.sendall(b" ")
                except OSError:  # it was shut down
                    left.remove(s)
            time.sleep(0.1)
        server.get("info")
        for s in slow:
            s.close()
        self.assertEqual(server.stop(), "")

    def test_slow_ones_do_not_keep_others_out(self):
        """More than there may be at once, and nobody's patience is at its end: those who say what they want come in."""
        server = Server(CARET, self.path, "--patience", "3600")
        server.sign_in()
        slow = [server.raw("GET / HTTP/1.1\r\nX: ", wait=False) for _ in range(100)]
        server.get("info")
        for s in slow:
            s.close()
        self.assertEqual(server.stop(), "")

    def test_sessions_outlive_the_server(self):
        server = Server(CARET, self.path)
        server.sign_in()
        boot, port, cookie = server.get("info")["boot"], server.port, server.cookie
        server.stop(9)
        server = Server(CARET, self.path, port=port)
        server.cookie = cookie
        self.assertNotEqual(server.get("info")["boot"], boot)
        self.assertEqual(server.request("POST", "/api/logout", "{}")[0], 204)
        self.assertEqual(server.request("GET", "/api/info")[0], 401)
        server.stop()
        mode = os.stat(os.path.join(FOLDER, "state/caret/web")).st_mode & 0o777
        self.assertEqual(mode, 0o600)

    def test_guessing_is_slowed(self):
        server = Server(CARET, self.path)
        statuses = [server.post("login", {"token": "0" * 32})[0] for _ in range(7)]
        self.assertEqual(statuses, [403] * 5 + [429] * 2)
        server.stop()

    def test_the_address_is_the_one_it_listens_at(self):
        """As it was printed, and as it is told to one more browser."""
        for address in ("127.0.0.1", "localhost", "::1"):
            try:
                socket.getaddrinfo(address, None)
                socket.create_server((address, 0), family=socket.AF_INET6 if ":" in address else socket.AF_INET).close()
            except OSError:
                continue  # no IPv6 here
            server = Server(CARET, self.path, "--bind", address)
            for _ in range(2):
                url = urllib.request.Request(server.url, headers={"Accept-Encoding": "gzip"})
                with urllib.request.urlopen(url, timeout=60) as answer:
                    cookie = answer.headers["Set-Cookie"].split(";")[0]
                more = urllib.request.Request(server.url.split("?")[0] + "api/token", b"{}",
                                              {"Cookie": cookie, "Content-Type": "application/json"})
                with urllib.request.urlopen(more, timeout=60) as answer:
                    server.url = json.load(answer)["url"]
            self.assertEqual(server.stop(), "")

    def test_elsewhere_needs_tls_and_a_password(self):
        answer = run(CARET, "web", "--db", self.path, "--port", "0", "--bind", "0.0.0.0")
        self.assertEqual((answer.returncode, "TLS" in answer.stderr or "--cert" in answer.stderr), (2, True))

    def test_tls_and_a_password(self):
        """Only by TLS, only with the password, and the cookie never goes by anything else."""
        if not shutil.which("openssl"):
            self.skipTest("openssl is not installed")
        pem, key, secret = (os.path.join(FOLDER, name) for name in ("web.pem", "web.key", "secret"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                        "-subj", "/CN=localhost", "-keyout", key, "-out", pem], check=True, capture_output=True)
        with open(secret, "w", encoding="ascii") as f:
            f.write("correct horse battery\n")
        server = Server(CARET, self.path, "--bind", "0.0.0.0", "--host", "localhost", "--cert", pem, "--key", key, "--password", secret)
        self.assertTrue(server.url.startswith("https://localhost:"), server.url)
        trust = ssl.create_default_context()
        trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE

        def ask(method, path, body=None, **headers):
            c = http.client.HTTPSConnection("127.0.0.1", server.port, context=trust, timeout=60)
            c.request(method, path, body, {"Host": f"localhost:{server.port}", "Content-Type": "application/json", **headers})
            r = c.getresponse()
            r.read()
            c.close()
            return r.status, r.headers.get("Set-Cookie", "")
        self.assertEqual(ask("GET", "/api/info")[0], 401)
        self.assertEqual(ask("GET", "/api/info", Host=f"127.0.0.1:{server.port}")[0], 421)
        self.assertEqual(ask("POST", "/api/login", '{"password": "correct horse batterx"}')[0], 403)
        status, cookie = ask("POST", "/api/login", '{"password": "correct horse battery"}')
        self.assertEqual((status, "Secure" in cookie), (204, True))
        self.assertEqual(ask("GET", "/api/info", Cookie=cookie.split(";")[0])[0], 200)
        self.assertNotIn(b"HTTP/1.1 200", server.raw("GET / HTTP/1.1\r\n\r\n"))
        self.assertEqual(server.stop(), "")

    def test_stalled_browsers_do_not_hold_its_end(self):
        """One in the middle of a head, one in a body, one that takes no events."""
        server = Server(CARET, self.path)
        server.sign_in()
        head = f"Host: 127.0.0.1:{server.port}\r\nCookie: {server.cookie}\r\n"
        stalled = [server.raw("GET / HT", wait=False),
                   server.raw(f"POST /api/token HTTP/1.1\r\n{head}Content-Type: application/json\r\nContent-Length: 99\r\n\r\n{{", wait=False),
                   server.raw(f"GET /api/live HTTP/1.1\r\n{head}\r\n", wait=False)]
        server.get("info")
        self.assertEqual(server.stop(), "")
        for s in stalled:
            s.close()

    def test_a_signal_ends_it_at_once(self):
        for signal in (2, 15):
            server = Server(CARET, self.path)
            server.sign_in()
            began = time.monotonic()
            self.assertEqual(server.stop(signal), "")
            self.assertLess(time.monotonic() - began, 60)


if __name__ == "__main__":
    unittest.main()
