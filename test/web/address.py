"""`caret web` on a database on a server: what it shows there, and what it says of the rest. CARET_TEST_URL is its
address; test/with_postgres.sh makes one."""
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from client import Server  # noqa: E402

CARET, URL = os.environ["CARET"], os.environ["CARET_TEST_URL"]


def tool(*words):
    env = dict(os.environ, CARET_DB=URL)
    return subprocess.run([CARET, *words], env=env, check=True, capture_output=True, text=True).stdout.rstrip("\n")


class Address(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for i in range(3):
            tool("set", f"^oaks({i})", str(i))
        with_password = re.sub(r"^(\w+://[^:@/]+)@", r"\1:a-password@", URL)
        cls.server = Server(CARET, with_password, "--write", "--console")
        cls.server.sign_in()

    @classmethod
    def tearDownClass(cls):
        errors = cls.server.stop()
        assert errors == "", errors

    def refused(self, path, body=None):
        status, _, data = self.server.request("POST" if body else "GET", "/api/" + path, body)
        self.assertEqual(status, 501)
        self.assertIn(b"this one is on a server", data)

    def test_what_it_is(self):
        info = self.server.get("info")
        self.assertEqual((info["name"], info["write"]), ("caret", True))
        self.assertNotIn("a-password", info["file"])

    def test_look(self):
        rows = self.server.get("children", node="^oaks")["rows"]
        self.assertEqual([(r["sub"], r["value"]["text"]) for r in rows], [("0", "0"), ("1", "1"), ("2", "2")])
        events = self.server.events("find", text="2", node="")
        self.assertEqual([d["zwr"] for n, d in events if n == "hit"], ["^oaks(2)"])

    def test_change(self):
        seen = self.server.get("value", node="^oaks(1)")
        change = {"op": "set", "node": "^oaks(1)", "value": {"text": "changed"}, "was": seen["value"]["tag"],
                  "place": seen["place"]}
        status, done = self.server.post("commit", {"changes": [change]})
        self.assertEqual((status, tool("get", "^oaks(1)")), (200, "changed"))
        status, refused = self.server.post("commit", {"changes": [change]})
        self.assertEqual((status, refused["conflicts"][0]["now"]["text"]), (409, "changed"))
        status, _ = self.server.post("undo", {"undo": done["undo"]})
        self.assertEqual((status, tool("get", "^oaks(1)")), (200, "1"))

    def test_what_has_changed_is_asked_for(self):
        """Nobody tells of changes, so the place is another one after some seconds."""
        place = self.server.get("info")["place"]
        while self.server.get("info")["place"] == place:
            pass

    def test_what_is_for_files(self):
        self.refused("live")
        self.refused("log")
        self.refused("locks/clear", '{"pid": 0}')


if __name__ == "__main__":
    unittest.main()
