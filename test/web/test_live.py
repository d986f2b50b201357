"""Streams: live figures, locks, the log, find; what they cost, and what browsers that leave or stall cost."""
import os
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from client import Server, cpu, memory, run  # noqa: E402

CARET = os.environ["CARET"]
FOLDER = os.environ["TMPDIR"]

HOLDER = """
local db = require("caret").open("%s")
assert(db:lock({{"^jobs", %s}}, 60))
io.write("held\\n") io.flush() io.read()
"""


OTHER = """local db = require("caret").open("%s") while true do db:set("^hit", "<b>", 1) end"""

READER = """local db = require("caret").open("%s") while true do for i = 1, 3 do db:get("^n", i) end db:get("^other") end"""

COLLIDER = """
local db = require("caret").open("%s")
while true do
    local tries = 0
    db:tp(function()
        tries = tries + 1
        db:get("^hit", "<b>")
        if tries == 1 then os.execute "sleep 0.01" end
        db:set("^hit", "<b>", 2)
    end)
end
"""


class Live(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = os.path.join(FOLDER, "live.caret")
        program = os.path.join(FOLDER, "live.lua")
        with open(program, "w", encoding="ascii") as f:
            f.write('local db = require("caret").open("%s") db:tp(function() for i = 1, 20000 do '
                    'db:set("^n", i, "Value " .. i) end end)' % cls.path)
        run(CARET, "run", program)
        cls.server = Server(CARET, cls.path, "--write")
        cls.server.sign_in()

    @classmethod
    def tearDownClass(cls):
        errors = cls.server.stop()
        assert errors == "", errors

    def set(self, node, text):
        status, _ = self.server.post("commit", {"changes": [{"op": "set", "node": node, "value": {"text": text}}]})
        self.assertEqual(status, 200)

    def holder(self, subscript):
        program = os.path.join(FOLDER, f"hold{subscript}.lua")
        with open(program, "w", encoding="ascii") as f:
            f.write(HOLDER % (self.path, subscript))
        return subprocess.Popen([CARET, "run", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def test_figures(self):
        events = self.server.events("live")
        next(events)
        sets = 0
        for name, data in events:
            self.assertEqual(name, "live")
            for i in range(50):  # a session tells its counts some dozens at a time
                self.set("^hot(1)", str(i))
            sets += data["rates"]["sets"] * data["seconds"]
            if sets >= 50 and any(h["node"] == "^hot(1)" for h in data["hot"]):
                break
        self.assertEqual([p["self"] for p in data["processes"]], [True])
        events.close()

    def test_hot_nodes_are_rates(self):
        """Also of a node that changes more often than is looked at."""
        program = os.path.join(FOLDER, "hot.lua")
        with open(program, "w", encoding="ascii") as f:
            f.write(OTHER % self.path)
        child = subprocess.Popen([CARET, "run", program])
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        events = self.server.events("live", every=2)
        for _, data in events:
            hot, sets = data["hot"], data["rates"]["sets"]
            if hot and sets > 10000:  # some others may be of another test
                self.assertGreater(hot[0]["changes"], sets / 2)
                self.assertLess(sum(h["changes"] for h in hot), sets * 1.01)
                break
        events.close()
        child.kill()
        child.wait()

    def test_gets_by_global(self):
        """What is read in turns is told, and only as long as it is read."""
        program = os.path.join(FOLDER, "reader.lua")
        with open(program, "w", encoding="ascii") as f:
            f.write(READER % self.path)
        child = subprocess.Popen([CARET, "run", program])
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        events = self.server.events("live", every=0.5)
        for _, data in events:
            gets = {g["name"]: g["gets"] for g in data["globals"]}
            if gets.get("^n") and gets.get("^other"):
                break
        self.assertGreater(sum(p["gets"] for p in data["processes"]), 0)
        child.kill()
        child.wait()
        for _, data in events:  # what is not read any more is told for some seconds
            if not any(g["gets"] for g in data["globals"]):
                break
        events.close()

    def test_where_transactions_collide(self):
        children = []
        for text in (OTHER, COLLIDER):
            program = os.path.join(FOLDER, f"collide{len(children)}.lua")
            with open(program, "w", encoding="ascii") as f:
                f.write(text % self.path)
            child = subprocess.Popen([CARET, "run", program])
            children.append(child)
            self.addCleanup(child.wait)
            self.addCleanup(child.kill)
        events = self.server.events("live", every=0.5)
        before = 0
        for _, data in events:
            if data["collisions"]:
                (c,) = data["collisions"]
                self.assertEqual((c["name"], c["above"], c["pid"]), ('^hit("<b>")', False, children[1].pid))
                self.assertGreater(c["restarts"], 0)
                self.assertGreater(c["count"], before)
                if before:
                    break
                before = c["count"]
        for child in children:
            child.kill()
            child.wait()
        for _, data in events:  # those of the past are not told
            if not data["collisions"]:
                break
        events.close()

    def test_locks_as_a_graph(self):
        holder = self.holder(1)
        self.assertEqual(holder.stdout.readline(), "held\n")
        waiter = self.holder("1,'below'")
        events = self.server.events("live", locks=1, every=0.5)
        for _, data in events:
            if data["edges"]:
                break
        (edge,) = data["edges"]
        sessions = data["sessions"]
        self.assertEqual((sessions[edge["from"]]["pid"], sessions[edge["to"]]["pid"]), (waiter.pid, holder.pid))
        self.assertEqual(data["rings"], [])
        for p in (holder, waiter):
            p.communicate("\n")
            self.assertEqual(p.returncode, 0)
        for _, data in events:
            if not data["locks"]:
                break
        events.close()

    def test_of_many_locks_those_that_matter(self):
        """More than are told: what somebody waits for comes first, whatever its place in the list is."""
        program = os.path.join(FOLDER, "many_locks.lua")
        with open(program, "w", encoding="ascii") as f:
            f.write('local db = require("caret").open("%s") for i = 1, 700 do assert(db.node("^many", i):grab(60)) end '
                    'io.write("held\\n") io.flush() io.read()' % self.path)
        holder = subprocess.Popen([CARET, "run", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.assertEqual(holder.stdout.readline(), "held\n")
        waiters = []
        for i in (1, 350, 700):
            text = 'local db = require("caret").open("%s") assert(db.node("^many", %d):grab(200))' % (self.path, i)
            waiter = os.path.join(FOLDER, f"many{i}.lua")
            with open(waiter, "w", encoding="ascii") as f:
                f.write(text)
            waiters.append(subprocess.Popen([CARET, "run", waiter]))
        events = self.server.events("live", locks=1, every=0.5)
        for _, data in events:
            if len(data["edges"]) == 3:
                break
        self.assertEqual((len(data["locks"]), data["locks_in_all"]), (500, 703))
        self.assertEqual({lock["name"] for lock in data["locks"][:6]}, {"^many(1)", "^many(350)", "^many(700)"})
        events.close()
        holder.communicate("\n")
        for waiter in waiters:
            self.assertEqual(waiter.wait(), 0)

    def test_the_log(self):
        events = self.server.events("log", node="^seen")
        _, listens = next(events)
        self.assertEqual(listens["list"], [])
        self.set("^other", "1")
        self.set("^seen(1)", "<b>1</b>")
        _, data = next(events)
        (change,) = data["list"]
        self.assertEqual((change["node"], change["kind"], change["value"]["text"]), ("^seen(1)", "set", "<b>1</b>"))
        events.close()
        self.set("^seen(2)", "unheard")
        for place, told in ((listens["place"], ["^seen(1)", "^seen(2)"]), (data["place"], ["^seen(2)"])):
            again = self.server.events("log", node="^seen", from_=place)
            self.assertEqual(next(again)[1]["list"], [])
            self.assertEqual([c["node"] for c in next(again)[1]["list"]], told)
            again.close()

    def test_the_log_jumps(self):
        """Of a transaction that changes more than is told, the first ones; and then what comes after it."""
        program = os.path.join(FOLDER, "burst.lua")
        with open(program, "w", encoding="ascii") as f:
            f.write('local db = require("caret").open("%s") db:tp(function() for i = 1, 9000 do '
                    'db:set("^burst", i, i) end end)' % self.path)
        events = self.server.events("log", node="^burst")
        next(events)  # it listens
        self.assertEqual(run(CARET, "run", program).stderr, "")
        _, data = next(events)
        told = [change["node"] for change in data["list"]]
        self.assertEqual((data["lost"], told), (True, [f"^burst({i})" for i in range(1, 201)]))
        self.assertGreater(data["skipped"], 0)
        self.set("^burst(\"now\")", "told")
        _, data = next(events)
        self.assertEqual(([c["node"] for c in data["list"]], data["lost"]), (['^burst("now")'], False))
        events.close()

    def test_find(self):
        hits = [d for n, d in self.server.events("find", text="value 1999", in_="values") if n == "hit"]
        self.assertEqual([h["zwr"] for h in hits], ["^n(1999)"] + [f"^n({i})" for i in range(19990, 20000)])
        events = list(self.server.events("find", text="Value 7", in_="values", case=1, limit=3))
        self.assertEqual((events[-1][0], events[-1][1]["hits"], events[-1][1]["complete"]), ("done", 3, False))
        keys = [d["zwr"] for n, d in self.server.events("find", text="^N(777", in_="keys") if n == "hit"]
        self.assertEqual(keys[0], "^n(777)")
        self.assertEqual(self.server.request("GET", "/api/find?text=")[0], 400)

    def test_channels_of_a_line(self):
        """One stream for all that goes on in a window."""
        line = self.server.events("line")
        name, data = next(line)
        self.assertEqual(name, "line")
        mine = data["id"]
        self.assertEqual(self.server.get("log", node="^by", line=mine, channel=1), {"channel": 1})
        self.assertEqual(next(line)[1]["d"]["list"], [])
        self.set("^by(1)", "first")
        name, data = next(line)
        self.assertEqual((name, data["c"], data["n"], data["d"]["list"][0]["node"]), ("to", 1, "changes", "^by(1)"))
        self.assertEqual(self.server.request("GET", f"/api/log?line={mine}&channel=1")[0], 503)
        self.assertEqual(self.server.request("GET", f"/api/log?line={mine}")[0], 400)
        self.assertEqual(self.server.post(f"line/{mine}/leave", {"channel": 1}), (200, {}))
        self.set("^by(2)", "nobody hears it")
        self.server.get("find", text="value 777", in_="values", line=mine, channel=2)
        told = []
        for name, data in line:
            self.assertEqual((name, data["c"]), ("to", 2))
            if "n" not in data:
                break
            if data["n"] != "progress":  # which comes by time
                told.append((data["n"], data["d"].get("zwr")))
        self.assertEqual(told[0], ("hit", "^n(777)"))
        self.assertEqual(told[-1][0], "done")
        self.server.get("log", node="^by", line=mine, channel=1)
        line.close()
        while self.server.request("GET", f"/api/live?line={mine}&channel=9")[0] != 404:
            self.server.request("POST", f"/api/line/{mine}/leave", '{"channel": 9}')
            self.set("^by(3)", "is anybody there")

    def test_what_is_found_waits_for_the_browser(self):
        """More than a stream holds is found at once: a browser that is slow gets all of it."""
        program = os.path.join(FOLDER, "many.lua")
        with open(program, "w", encoding="ascii") as f:
            f.write('local db = require("caret").open("%s") db:tp(function() for i = 1, 3000 do '
                    'db:set("^much", i, ("<\\1>"):rep(100)) end end)' % self.path)
        self.assertEqual(run(CARET, "run", program).stderr, "")
        events = self.server.events("find", text="<", in_="values", node="^much", limit=9999)
        next(events)
        time.sleep(1)  # as a browser that does other things
        self.assertEqual(sum(name == "hit" for name, _ in events), 2999)

    def test_browsers_that_leave_are_forgotten(self):
        for path in ("live", "log", "find?text=xyzzy"):
            for _ in range(40):  # more than there may be streams at once
                s = self.server.raw(f"GET /api/{path} HTTP/1.1\r\nHost: 127.0.0.1:{self.server.port}\r\n"
                                    f"Cookie: {self.server.cookie}\r\n\r\n", wait=False)
                s.recv(10)
                s.close()
            self.server.events(path.split("?")[0], text="xyzzy").close()

    def test_a_stalled_browser_has_little_memory(self):
        stalled = self.server.raw(f"GET /api/log?from=-1 HTTP/1.1\r\nHost: 127.0.0.1:{self.server.port}\r\n"
                                  f"Cookie: {self.server.cookie}\r\n\r\n", wait=False)
        before = memory(self.server.process.pid)
        for i in range(40):
            self.set("^wide(%d)" % (i % 4), "x" * 200000)
        self.assertLess(memory(self.server.process.pid) - before, 100 << 10)
        stalled.close()

    def test_nothing_is_done_while_nobody_looks(self):
        server = Server(CARET, self.path)
        server.sign_in()
        while True:  # what the request left is swept, and the walk of ranks is over
            before = cpu(server.process.pid)
            time.sleep(2)
            if cpu(server.process.pid) == before:
                break
        self.assertEqual(server.stop(), "")

    def test_thousands_of_refreshes_keep_no_memory(self):
        server = Server(CARET, self.path)
        server.sign_in()
        n, sizes = int(os.environ.get("CARET_REFRESHES", "1500")), []
        for i in range(n):
            server.get("children", node="^n", index=i * 13 % 20000, limit=50)
            if i % (n // 3) == n // 3 - 1:
                sizes.append(memory(server.process.pid))
        self.assertLess(sizes[-1] - sizes[0], 4096, sizes)
        self.assertEqual(server.stop(), "")


if __name__ == "__main__":
    unittest.main()
