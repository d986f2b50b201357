"""What takes long: jobs with progress and an end, consoles that can be stopped, and what they may not do."""
import os
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from client import Server, run  # noqa: E402

CARET = os.environ["CARET"]
FOLDER = os.environ["TMPDIR"]
BESIDE = os.path.dirname(CARET)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def children(pid):
    """Processes that it started and that are there."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return [int(word) for word in f.read().split()]


def descendants(pid):
    """The same, and those that these started."""
    return children(pid) + [below for child in children(pid) for below in descendants(child)]


class Served(unittest.TestCase):
    """A database and a server of its own for each class."""

    @classmethod
    def setUpClass(cls):
        cls.path = os.path.join(FOLDER, cls.__name__ + ".caret")
        program = os.path.join(FOLDER, "jobs.lua")
        with open(program, "w", encoding="ascii") as f:
            f.write('local db = require("caret").open("%s") db:tp(function() for i = 1, 9000 do db:set("^n", i, i %% '
                    '10, "value " .. i) end db:set("^few", 1, 1) end)' % cls.path)
        run(CARET, "run", program)
        cls.server = Server(CARET, cls.path, "--write", "--console")
        cls.server.sign_in()

    @classmethod
    def tearDownClass(cls):
        errors = cls.server.stop()
        assert errors == "", errors


class Jobs(Served):
    def job(self, **what):
        """All events of a job."""
        status, answer = self.server.post("jobs", what)
        self.assertEqual(status, 200, answer)
        return list(self.server.events("jobs/" + answer["id"]))

    def end(self, **what):
        name, data = self.job(**what)[-1]
        self.assertEqual(name, "done", data)
        return data

    def test_check(self):
        self.assertEqual(self.end(kind="check")["ok"], True)

    def test_usage_and_count(self):
        usage = self.end(kind="usage")
        self.assertEqual([(g["name"], g["nodes"]) for g in usage["globals"]], [("^few", 1), ("^n", 9000)])
        self.assertEqual(self.end(kind="count", node="^n")["nodes"], 9000)

    def test_space(self):
        tree = self.end(kind="space", depth=2)["tree"]
        self.assertEqual([c["name"] for c in tree["children"]], ["^n", "^few"])
        self.assertEqual(sum(c["bytes"] for c in tree["children"]), tree["bytes"])
        below = tree["children"][0]["children"]
        self.assertLessEqual(len(below), 51)
        self.assertTrue(tree["children"][0]["sampled"])
        self.assertEqual(sum(c["nodes"] for c in below), 9000)
        self.assertNotIn("count", below[-1])  # they were drawn by chance: nobody knows how many are left
        tree = self.end(kind="space", node="^n(7)", depth=1)["tree"]
        self.assertEqual([(c["sub"], c["nodes"]) for c in tree["children"]], [("7", 1)])

    def test_space_of_long_names(self):
        """The answer has megabytes, and comes whole."""
        program = os.path.join(FOLDER, "wide.lua")
        with open(program, "w", encoding="ascii") as f:
            f.write('local db = require("caret").open("%s") db:tp(function() for i = 1, 150 do for j = 1, 40 do '
                    'db:set("^wide", i .. ("k"):rep(300), j .. ("\\1"):rep(200), 1) end end end)' % self.path)
        self.assertEqual(run(CARET, "run", program).stderr, "")
        tree = self.end(kind="space", node="^wide", depth=2)["tree"]
        self.assertEqual((tree["nodes"], len(tree["children"])), (6000, 150))
        self.assertEqual(sum(len(c["children"]) for c in tree["children"]), 6000)
        self.assertEqual(run(CARET, "kill", "--db", self.path, "^wide").returncode, 0)

    def test_backup(self):
        to = os.path.join(FOLDER, "copy.caret")
        self.assertEqual(self.end(kind="backup", to=to)["path"], to)
        self.assertEqual(run(CARET, "get", "--db", to, "^few(1)").stdout, "1\n")
        name, data = self.job(kind="backup", to=to)[-1]
        self.assertEqual((name, data["name"]), ("failed", "EXISTS"))
        self.assertEqual(self.server.post("jobs", {"kind": "backup", "to": "relative"})[0], 400)

    def test_3n1(self):
        events = self.job(kind="3n1", n=30000, w=2)
        name, data = events[-1]
        self.assertEqual((name, data["longest"], data["n"]), ("done", 307, 30000))
        last = [d for n, d in events if n == "progress"][-1]
        self.assertEqual((last["blocks"], last["finished"], sum(s["done"] for s in last["steps"])), (20, 20, 20))
        self.assertEqual([s["worker"] for s in last["steps"]], [1, 2])

    def test_cancel(self):
        status, answer = self.server.post("jobs", {"kind": "3n1", "n": 10000000, "w": 1})
        events = self.server.events("jobs/" + answer["id"])
        next(events)
        self.assertEqual(self.server.post(f"jobs/{answer['id']}/cancel")[0], 200)
        for name, data in events:
            pass
        self.assertEqual((name, status), ("failed", 200), data)
        self.assertIn(("cancelled", answer["id"]), [(j["state"], j["id"]) for j in self.server.get("jobs")["jobs"]])
        self.assertEqual([f for f in os.listdir(FOLDER) if f.startswith("caret-")], [])

    def test_bad_jobs(self):
        for what in ({}, {"kind": "rm"}, {"kind": "3n1", "n": 10**12, "w": 1}, {"kind": "count", "node": "x("}):
            self.assertEqual(self.server.post("jobs", what)[0], 400, what)
        self.assertEqual(self.server.request("GET", "/api/jobs/999")[0], 404)


class Consoles(Served):
    def console(self, language):
        status, answer = self.server.post("console", {"language": language})
        self.assertEqual(status, 200, answer)
        return answer["id"], self.server.events("console/" + answer["id"])

    def say(self, console, text):
        """Printed text, and the end of a statement."""
        status, answer = self.server.post(f"console/{console[0]}/run", {"text": text})
        self.assertEqual(status, 200, answer)
        out = ""
        for name, data in console[1]:
            if name != "out":
                return out, name, data
            out += data["text"]
        return out, None, None

    def offers(self, console, text):
        status, answer = self.server.post(f"console/{console[0]}/complete", {"text": text})
        self.assertEqual(status, 200, answer)
        return answer["list"], answer["from"]

    def test_lua(self):
        console = self.console("lua")
        _, name, data = self.say(console, 'db:get("^n", 5, 5)')
        self.assertEqual((name, data["results"][0]["text"]), ("result", '"value 5"'))
        out, _, data = self.say(console, 'print("hello\\30") io.write("there") x = 7')
        self.assertEqual((out.replace("\x1e", ""), data["results"]), ("hello\nthere", []))
        self.assertEqual(self.say(console, "x")[2]["results"][0]["text"], "7")
        self.assertEqual(self.say(console, "for i = 1, 2 do")[1], "more")
        wrong = self.say(console, 'error("nothing")')[2]["text"]
        self.assertIn("nothing", wrong)
        self.assertNotIn("talker", wrong)
        result = self.say(console, '{{a = 1, b = "x"}, {a = 2}}')[2]["results"][0]
        self.assertEqual(result["table"], {"columns": ["a", "b"], "rows": [["1", "x"], ["2", ""]]})
        self.assertEqual(self.say(console, 'db.node("^few", 1)')[2]["results"][0]["zwr"], "^few(1)")
        status, answer = self.server.post(f"console/{console[0]}/complete", {"text": "db:trans"})
        self.assertEqual((status, answer), (200, {"list": ["transaction"], "from": 3}))
        self.server.post(f"console/{console[0]}/close")
        self.assertEqual([n for n, _ in console[1]], ["ended"])

    def test_what_is_no_statement(self):
        run = "console/" + self.console("lua")[0] + "/run"
        status, answer = self.server.post(run, {"text": "-- " + "x" * 59998})
        self.assertEqual((status, answer["error"]["text"]), (413, "a statement has 60000 bytes at most"))
        status, answer = self.server.post(run, {"text": 5})
        self.assertEqual((status, answer["error"]["text"]), (400, "a statement is a text"))
        self.assertEqual(self.server.post(run, {"text": "-- " + "x" * 59997})[0], 200)

    def test_results_as_trees(self):
        console = self.console("lua")
        result = self.say(console, '{b = {1, {x = true}}, ["5"] = "y", long = ("z"):rep(100)}')[2]["results"][0]
        self.assertEqual(result["tree"], [['"5"', "y"], ["b", [["1", 1], ["2", [["x", True]]]]], ["long", "z" * 100]])
        self.say(console, 'db:set("^t", 1, "one") db:set("^t", 1, "b c", "two") db:set("^t", "x", 5, 3)')
        result = self.say(console, 'db.node("^t")')[2]["results"][0]
        self.assertEqual(result["tree"], [["1", [["=", "one"], ["b c", "two"]]], ["x", [["5", "3"]]]])
        self.say(console, "t = {} t.t = t t.u = ('z'):rep(100)")
        self.assertEqual(self.say(console, "t")[2]["results"][0]["tree"][0], ["t", "..."])
        self.server.post(f"console/{console[0]}/close")

    def test_results_of_any_size_and_bytes(self):
        """None of them ends the console, or is more than a message has room for."""
        console = self.console("lua")
        for text, shown in ((r'"\xff\0\xfe"', '"\ufffd\\0\ufffd"'), ('("x"):rep(1e7)', "bytes in all"),
                            ('local t = {} for i = 1, 5000 do t[i] = {a = ("q"):rep(5000)} end return t', "bytes in all")):
            name, data = self.say(console, text)[1:]
            self.assertEqual(name, "result")
            self.assertIn(shown, data["results"][0]["text"])
        self.assertLess(len(self.say(console, "table.unpack({}, 1, 100000)")[2]["results"]), 10000)
        self.assertLess(len(self.say(console, 'error(("y"):rep(1e7))')[2]["text"]), 70000)
        self.assertEqual(self.say(console, 'setmetatable({}, {__tostring = function() error("no") end})')[1], "error")
        self.assertEqual(self.say(console, 'error(setmetatable({}, {__tostring = function() error("no") end}))')[1], "error")
        out, _, data = self.say(console, 'print(("\u00e4\u20ac"):rep(30000)) print("\\xff") print("\\30{}\\31")')
        self.assertEqual(out.replace("\x1e", "").replace("\x1f", ""), "\u00e4\u20ac" * 30000 + "\n\ufffd\n\n")
        out = self.say(console, 'for _ = 1, 1000 do io.write(("x"):rep(1e5)) end')[0]
        self.assertTrue(out.endswith("xx\n... the rest is not shown"), out[-100:])
        self.assertEqual(self.say(console, "#[[" + "\n" * 59000 + "]]")[2]["results"][0]["text"], "58999")
        self.assertEqual(self.say(console, "1 + 1")[2]["results"][0]["text"], "2")
        self.server.post(f"console/{console[0]}/close")

    def test_consoles_of_pages_that_died_make_room(self):
        """A window that is hidden does not listen; those that are listened to stay."""
        kept = [self.console("lua") for _ in range(8)]
        self.assertEqual(self.server.post("console", {"language": "lua"})[1]["error"]["name"], "LIMIT")
        kept[0][1].close()
        self.assertEqual(self.say((kept[0][0], self.server.events("console/" + kept[0][0])), "1 + 1")[1], "result")
        for console in kept:
            self.server.post(f"console/{console[0]}/close")
        for console in kept[1:]:
            self.assertEqual([n for n, _ in console[1]], ["ended"])

    def test_a_closed_console_makes_room_at_once(self):
        """Though it takes its time to end."""
        before = set(descendants(self.server.process.pid))
        slow = self.console("lua")
        self.say(slow, "1")
        pid, = set(descendants(self.server.process.pid)) - before
        os.kill(pid, signal.SIGSTOP)
        kept = [self.console("lua") for _ in range(7)]
        self.server.post(f"console/{slow[0]}/close")
        kept.append(self.console("lua"))
        os.kill(pid, signal.SIGCONT)
        for console in kept:
            self.server.post(f"console/{console[0]}/close")
        for console in kept + [slow]:
            self.assertEqual([n for n, _ in console[1]], ["ended"])

    def test_a_statement_is_stopped(self):
        console = self.console("lua")
        self.say(console, "y = 5")
        _, answer = self.server.post(f"console/{console[0]}/run", {"text": 'print("on") while true do end'})
        self.assertEqual(next(console[1])[1]["text"], "on\n")
        self.assertEqual(self.server.post(f"console/{console[0]}/run", {"text": "1"})[0], 503)
        self.server.post(f"console/{console[0]}/stop")
        name, data = next(console[1])
        self.assertEqual((name, data["n"], "interrupted" in data["text"]), ("error", answer["n"], True))
        self.assertEqual(self.say(console, "y")[2]["results"][0]["text"], "5")
        self.server.post(f"console/{console[0]}/close")

    def test_stop_ends_what_it_started(self):
        """A command of the system ends as by Ctrl-C at a terminal, and the console goes on."""
        console = self.console("lua")
        self.server.post(f"console/{console[0]}/run", {"text": 'print("on") os.execute("sleep 10000")'})
        self.assertEqual(next(console[1])[1]["text"], "on\n")
        while not children(console_pid := children(self.server.process.pid)[-1]):
            pass
        self.server.post(f"console/{console[0]}/stop")
        name, _ = next(console[1])
        self.assertIn(name, ("result", "error"))
        self.assertEqual(self.say(console, "6 * 7")[2]["results"][0]["text"], "42")
        self.assertEqual(children(console_pid), [])
        self.server.post(f"console/{console[0]}/close")

    def test_what_no_signal_ends_is_killed(self):
        """With all that it has started."""
        console = self.console("lua")
        self.server.post(f"console/{console[0]}/run", {"text": 'os.execute("trap \'\' INT; echo on; sleep 10000; true")'})
        self.assertEqual(next(console[1])[1]["text"], "on\n")
        self.server.post(f"console/{console[0]}/stop")
        self.assertEqual([(n, d["text"]) for n, d in console[1]], [("ended", "it was stopped")])

    def test_stop_of_a_command(self):
        """A script without an end, and a wait for a list: the console ends, and says so and nothing else."""
        if not os.path.exists(os.path.join(os.path.dirname(CARET), "caret-server")):
            self.skipTest("the server is not built")
        for text in ("EVAL 'while true do end' 0", "BLPOP nothing 0"):
            console = self.console("resp")
            self.assertEqual(self.say(console, "ECHO on")[2]["results"][0]["text"], '"on"')
            self.server.post(f"console/{console[0]}/run", {"text": text})
            self.server.post(f"console/{console[0]}/stop")
            self.assertEqual([(n, d["text"]) for n, d in console[1]], [("ended", "it was stopped")])

    def test_stop_ends_a_wait_for_a_lock(self):
        """The console stays, and what it waited for is not kept."""
        program = os.path.join(FOLDER, "hold.lua")
        with open(program, "w", encoding="ascii") as f:
            f.write('local db = require("caret").open("%s") db.node("^few"):grab() print("held") io.stdout:flush() '
                    'io.read()' % self.path)
        holder = subprocess.Popen([CARET, "run", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.assertEqual(holder.stdout.readline(), b"held\n")
        console = self.console("lua")
        self.server.post(f"console/{console[0]}/run", {"text": 'db.node("^few"):grab()'})
        while '"waits":true' not in run(CARET, "locks", "--json", "--db", self.path).stdout.replace(" ", ""):
            self.assertIsNone(holder.poll())
        self.server.post(f"console/{console[0]}/stop")
        name, data = next(console[1])
        self.assertEqual((name, "nterrupted" in data["text"] or "INTERRUPTED" in data["text"]), ("error", True))
        self.assertEqual(self.say(console, 'db.node("^other"):grab(30)')[2]["results"][0]["text"], "true")
        holder.communicate(b"\n")
        self.assertEqual(self.say(console, 'db.node("^few"):grab(30)')[2]["results"][0]["text"], "true")
        self.server.post(f"console/{console[0]}/close")

    @unittest.skipUnless(os.path.exists(BESIDE + "/caret-m"), "M is not built")
    def test_m(self):
        console = self.console("m")
        out, name, _ = self.say(console, "write ^few(1)+1,!")
        self.assertEqual((out.strip(), name), ("2", "result"))
        self.say(console, "set x=42")
        self.assertIn("42", self.say(console, "write x,!")[0])
        self.assertIn("UNDEF", self.say(console, "write nothing,!")[0])
        for text, answer in (("set x=^fe", (["^few"], 6)), ("write ^n(8999", (["^n(8999", "^n(9000"], 6)), ("write 1", ([], 7))):
            self.assertEqual(self.offers(console, text), answer)
        self.server.post(f"console/{console[0]}/close")

    @unittest.skipUnless(os.path.exists(BESIDE + "/caret-server"), "the server is not built")
    def test_resp(self):
        console = self.console("resp")
        self.assertEqual(self.say(console, 'RPUSH list a "b c"')[2]["results"][0]["text"], "(integer) 2")
        self.assertEqual(self.say(console, "LRANGE list 0 -1")[2]["results"][0]["text"], '1) "a"\n2) "b c"')
        self.assertIn("(error)", self.say(console, "NONSENSE")[2]["results"][0]["text"])
        for text, answer in ((r'SET "a\x00b" "q\"uo\nte"', "OK"), (r'GET "a\x00b"', r'"q\"uo\nte"'), (r"SET 'it\'s' ''", "OK"),
                             ('GET "it\'s"', '""'), ("SETRANGE big 9000000 y", "(integer) 9000001")):
            self.assertEqual(self.say(console, text)[2]["results"][0]["text"], answer)
        self.assertIn("bytes in all", self.say(console, "GET big")[2]["results"][0]["text"])
        for text, answer in (("rpu", (["RPUSH", "RPUSHX"], 0)), ("GET bi", (["big"], 4)), ("GET [", ([], 4)),
                             ("LRANGE ", (["big", "it's", "list"], 7))):
            self.assertEqual(self.offers(console, text), answer)
        for text in ('GET "x', "GET 'x", 'GET "a"b'):
            _, name, data = self.say(console, text)
            self.assertEqual((name, data["text"]), ("error", "a quote does not end"))
        self.server.post(f"console/{console[0]}/close")

    @unittest.skipUnless(os.path.exists(BESIDE + "/caret-server"), "the server is not built")
    def test_a_killed_server_takes_its_consoles(self):
        """Also in a statement, and with what they started; the database is right."""
        self.server, ours = Server(CARET, self.path, "--write", "--console"), self.server
        self.server.sign_in()
        self.say(self.console("resp"), "PING")
        console = self.console("lua")
        self.server.post(f"console/{console[0]}/run", {"text": 'print("on") while true do db:set("^few", 3, 1) end'})
        self.assertEqual(next(console[1])[1]["text"], "on\n")
        below = descendants(self.server.process.pid)
        self.assertGreaterEqual(len(below), 3)
        self.server.stop(9)
        while any(alive(pid) for pid in below):
            time.sleep(0.02)
        self.server = ours
        self.assertEqual(run(CARET, "check", "--db", self.path).returncode, 0)

    def test_rights(self):
        server = Server(CARET, self.path)
        server.sign_in()
        self.assertEqual(server.get("info")["languages"], [])
        self.assertEqual(server.post("console", {"language": "lua"})[1]["error"]["name"], "CONSOLE")
        self.assertEqual(server.post("jobs", {"kind": "backup", "to": "/tmp/x"})[1]["error"]["name"], "READONLY")
        server.stop()
        server = Server(CARET, self.path, "--console")
        server.sign_in()
        self.assertEqual(server.get("info")["languages"], ["lua"])
        self.assertEqual(server.post("console", {"language": "m"})[1]["error"]["name"], "READONLY")
        self.server, ours = server, self.server
        console = self.console("lua")
        self.assertIn("READONLY", self.say(console, 'db:set("^few", 1, 2)')[2]["text"])
        self.server = ours
        self.assertEqual(server.stop(), "")


if __name__ == "__main__":
    unittest.main()
