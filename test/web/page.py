"""The page of `caret web` in a real browser, as a user would use it."""

import gzip
import os
import signal
import unittest

from selenium.webdriver import ActionChains

from support import AXE, LONG, SCROLL, Case, Keys, Server, colours, connect, main, resize, shared, until

BESIDE = os.path.dirname(os.environ["CARET"])
PAGE = os.path.join(os.environ["CARET_SOURCE"], "front", "web", "page")
SIZES = [(360, 740), (1200, 800), (2560, 1440), (3840, 2160)]
VIEWS = ["tree", "live", "locks", "space", "log", "console", "3n1"]
MANY = 1000000
when_long = unittest.skipUnless(LONG, "takes long: make torture")
TWIGS = 1257  # of the sequences of the numbers up to 600, each number once, without 1

# In a row they are one line, and what turns the direction of text turns nothing.
UNSEEN = "line one\nline two\r\n\tthree \u202e four"

FOREST = ["^count=\"1234567.5\"", "^json=\"{\"\"oak\"\":[1,2,{\"\"old\"\":true}],\"\"name\"\":\"\"x\"\"}\"",
          "^long=\"" + "many words " * 20000 + "\"", "^bytes=$ZCH(255,254,0,1)"]
FOREST += [line for i in range(1, 200) for line in
           (f"^oaks({i})=\"{7 * i}\"", f"^oaks({i},\"angle\")=\"30\"", f"^oaks({i},\"shadow\")=\"{i}.5\"")]


# Buttons, fields and links that are not wholly inside of the window, nor in a part that is scrolled.
OUTSIDE = """
    const scrolls = (e) => e && (/auto|scroll/.test(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
    return [...document.querySelectorAll("button, input, textarea, a[href]")].filter((e) => {
        const r = e.getBoundingClientRect();
        return r.width && !e.matches(".skip") && (r.left < 0 || r.right > innerWidth + 0.5) && !scrolls(e.parentElement);
    }).map((e) => e.outerHTML.slice(0, 80));"""

# Buttons and fields that lie over each other, but for the parts of a map.
OVERLAP = """
    const all = [...document.querySelectorAll("button, input, textarea, main h2")].filter((e) => e.checkVisibility() && !e.closest(".map, .skip, .toast"))
        .map((e) => [e, e.getBoundingClientRect()]).filter(([e, r]) => r.width && r.height), found = [];
    for (const [a, r] of all) for (const [b, q] of all) {
        if (a === b || a.contains(b) || b.contains(a)) continue;
        if (Math.min(r.right, q.right) - Math.max(r.left, q.left) > 2 && Math.min(r.bottom, q.bottom) - Math.max(r.top, q.top) > 2
            && a.closest(".scroll, .list, .columns, .body") === b.closest(".scroll, .list, .columns, .body")) found.push(`${a.textContent || a.outerHTML.slice(0, 60)} | ${b.textContent || b.outerHTML.slice(0, 60)}`);
    }
    return found;"""


def zwr(text):
    """A string of Unicode in ZWR."""
    return "\"" + text.replace("\"", "\"\"") + "\""


def source(name):
    """A file of the page."""
    with open(os.path.join(PAGE, name), "rb") as f:
        return f.read()


class Frame(unittest.TestCase):
    def test_all_files_are_small(self):
        """150 kB compressed are the most."""
        size = sum(len(gzip.compress(source(name), 9)) for name in os.listdir(PAGE))
        self.assertLess(size, 150000)
        print(f"all files of the page: {size} bytes compressed")

    def test_nothing_is_parsed_as_html(self):
        for name in os.listdir(PAGE):
            if name.endswith(".js"):
                text = source(name).decode()
                for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
                    self.assertNotIn(word, text, name)


class Looks(Case):
    """Every view at every size, light and dark: nothing overflows, axe finds nothing."""

    lines = FOREST

    def place(self, view):
        self.w.go(f"#{view}?at=^oaks(3)&open=1" if view == "tree" else f"#{view}")
        self.settled(view)

    def test_views(self):
        for view in VIEWS:
            self.place(view)
            for width, height in SIZES if LONG else SIZES[::-1]:
                with self.subTest(view=view, width=width):
                    resize(self.w.driver, width, height)
                    self.assertLessEqual(self.w.js("return document.documentElement.scrollWidth"), width)
                    self.assertEqual(self.w.js(OUTSIDE), [])
                    self.assertEqual(self.w.js(OVERLAP), [])
                    if LONG or width < 2000:
                        self.w.picture(f"{view}-{width}")
        resize(self.w.driver, 1200, 800)

    def test_motion(self):
        """Nothing moves by itself for people that do not want it."""
        self.place("3n1")
        for motion, moves in (("reduce", False), ("no-preference", True)):
            colours(self.w.driver, "light", motion)
            found = self.w.js("""
                const lane = document.createElement("div"), toast = document.getElementById("toast");
                lane.className = "race";
                lane.append(document.createElement("div")); lane.firstChild.className = "lane";
                lane.firstChild.append(document.createElement("i"));
                document.querySelector("main").append(lane); toast.hidden = false;
                const styles = [...document.querySelectorAll("*")].map((e) => getComputedStyle(e));
                const n = styles.filter((s) => s.animationName !== "none" || parseFloat(s.transitionDuration) > 0).length;
                lane.remove(); toast.hidden = true; return n;""")
            self.assertEqual(found > 0, moves, motion)
        colours(self.w.driver, "light")

    def settled(self, view):
        title = {"3n1": "3n+1"}.get(view, view.capitalize())
        until(view, lambda: self.w.text("[aria-current=page]") == [title])
        shown = {"tree": "\"shadow\"", "live": "Processes", "locks": "Nobody holds", "space": "Check online", "log": "Nothing was changed",
                 "console": "Tab completes", "3n1": "Start"}
        self.w.sees(shown[view], "main")

    def test_small(self):
        """At 360 px all views can be chosen, and a form is seen as a whole."""
        w = self.w
        resize(w.driver, 360, 740)
        w.go("#3n1")
        self.settled("3n1")
        inside = """return [...document.querySelectorAll(arguments[0])].map((e) => e.getBoundingClientRect())
            .every((r) => r.width > 0 && r.left >= 0 && r.right <= innerWidth && r.top >= 0 && r.bottom <= innerHeight)"""
        self.assertTrue(w.js(inside, ".tabs a"))
        for name in ("Edit", "Add child", "Rename", "Merge", "Kill"):
            w.at("^oaks(9)")
            w.press(name)
            w.one(".form h2")
            until(name, lambda: w.js(inside, ".form h2, .form button, .form input, .form textarea"))
            w.press("Cancel")
        resize(w.driver, *self.size)

    @unittest.skipUnless(AXE, "axe-core could not be fetched")
    def test_axe(self):
        resize(self.w.driver, 1200, 800)
        for view in VIEWS:
            with self.subTest(view=view):
                self.place(view)
                self.fine(view, view=True)

    @when_long
    @unittest.skipUnless(AXE, "axe-core could not be fetched")
    def test_axe_of_the_tree(self):
        """Forms, ways to show a value, what is not there, what is searched and found, what another changed."""
        w = self.w
        for name in ("Edit", "Add child", "Rename", "Merge", "Kill"):
            w.at("^oaks(9)")
            w.press(name)
            w.one(".form h2")
            self.fine(name)
            w.press("Cancel")
        for node, view, shown in (("^count", "Number", "1,234,567.5"), ("^json", "JSON", "\"oak\""), ("^bytes", "Hex", "ff fe"), ("^bytes", "Text", "Not text"),
                                  ("^long", "Text", "The end"), ("^long", "Number", "not a number"), ("^count(1)", None, "not there")):
            w.at(node)
            if view:
                w.press(view)
            w.sees(shown, ".value")
            self.fine(f"{node} {view}")
        w.at("^oaks(9)")
        w.press("Add child")
        w.one(".form input").send_keys("a", Keys.TAB, "typed")
        self.server.tool("set", "^oaks(9)", "changed")
        w.sees("Changed by another", ".changed")
        w.press("Kill")
        w.sees("Keep or cancel", ".toast")
        self.fine("what is typed, changed, told")
        w.at("^oaks(8)", open=1)
        w.sees("^oaks(9)", ".value .note")
        w.css(".column header input")[-1].send_keys("q*", Keys.ENTER)
        w.sees("None of those", ".column .note")
        self.fine("what is typed elsewhere, none of a prefix")
        w.at("^oaks(9)")
        w.press("Cancel")
        w.press("Find")
        w.keys("77.5", Keys.ENTER)
        w.sees("found: all", ".find")
        self.fine("what is found")
        os.kill(self.server.process.pid, signal.SIGSTOP)
        try:
            w.one(".find input").send_keys(Keys.ENTER)
            w.sees("searching", ".find")
            self.fine("what is searched")
            w.press("Stop")
        finally:
            os.kill(self.server.process.pid, signal.SIGCONT)
        w.press("Close")

    @when_long
    @unittest.skipUnless(AXE, "axe-core could not be fetched")
    def test_axe_of_the_console(self):
        """Completions, a tree, a table, an error, half a statement, one that runs."""
        w = self.w
        w.go("#console")
        area = w.one(".prompt textarea")
        area.send_keys("db.", Keys.TAB)
        until("completions", lambda: len(w.css(".offers li")) > 3)
        self.fine("completions")
        area.send_keys(Keys.ESCAPE)
        area.clear()
        for text, shown in (("db.node('^oaks', 3)", "shadow"), ("{{a=1,b=2},{a=3}}", "Result"), ("error 'wrong'", "wrong")):
            area.send_keys(text, Keys.ENTER)
            w.sees(shown, ".said:last-child")
        self.assertNotIn("talker", "".join(w.text(".said")))
        self.fine("results")
        area.send_keys("while true do", Keys.ENTER)
        until("more", lambda: area.get_attribute("value") == "while true do\n")
        self.fine("half a statement")
        area.send_keys("end", Keys.ENTER)
        until("it runs", lambda: w.css(".prompt .danger:not(:disabled)"))
        self.fine("a statement that runs")
        w.press("Stop")
        until("it was stopped", lambda: w.js("return document.querySelector('.prompt .danger').disabled"))


class Hands(Case):
    """Every view without a mouse."""

    lines = FOREST

    def walk(self):
        """What gets the focus by Tab from the beginning of the page to its end: names, and what shows it."""
        w, seen = self.w, []
        w.js("""
            for (const e of document.querySelectorAll("[data-walked]")) delete e.dataset.walked;
            const e = document.getElementById('skip'); e.focus(); e.dataset.walked = 1""")
        for _ in range(80):
            w.keys(Keys.TAB)
            now = w.js("""
                const e = document.activeElement, s = getComputedStyle(e);
                if (e === document.body) return null;
                if (!e.dataset.walked) { e.dataset.walked = 1; return [true, e.tagName, e.id || e.textContent.slice(0, 30), s.outlineStyle]; }
                return [false];""")
            if now is None or not now[0]:
                break
            seen.append(now[1:])
        left = w.js("""
            const all = [...document.querySelectorAll("a[href], button:not(:disabled), input, textarea, select, [tabindex='0']")]
                .filter((e) => e.checkVisibility() && e.tabIndex >= 0 && !e.dataset.walked).map((e) => e.outerHTML.slice(0, 90));
            return all;""")
        return seen, left

    @when_long
    def test_every_view(self):
        """Each is opened by Enter on its name; Tab comes to all that can be pressed or typed in, and out of it."""
        w = self.w
        for view in VIEWS:
            with self.subTest(view=view):
                w.one(f".tabs a[href^='#{view}']").send_keys(Keys.ENTER)
                until(view, lambda v=view: w.css(f".tabs a[href^='#{v}'][aria-current=page]"))
                seen, left = self.walk()
                self.assertEqual(left, [])
                self.assertEqual([s for s in seen if s[2] != "solid"], [])

    def test_map(self):
        """The map of what takes the room is one stop; arrows go on in it, Enter goes in."""
        w = self.w
        w.go("#space")
        until("parts", lambda: len(w.css(".map button")) > 5)
        w.js("document.querySelector('.map button[tabindex=\"0\"]').focus()")
        w.keys(Keys.END)
        last = w.js("return document.activeElement.getAttribute('aria-label')")
        w.keys(Keys.ARROW_LEFT)
        self.assertNotEqual(w.js("return document.activeElement.getAttribute('aria-label')"), last)
        w.keys(Keys.HOME, Keys.ENTER)
        until("in it", lambda: "at=" in w.js("return location.hash"))

    def test_skip(self):
        w = self.w
        w.go("#tree")
        w.js("document.getElementById('skip').focus()")
        w.keys(Keys.ENTER)
        self.assertEqual(w.js("return document.activeElement.id"), "main")

    def test_change(self):
        """From the path bar to a committed change."""
        w = self.w
        w.go("#tree")
        until("the tree", lambda: w.css(".row"))
        w.js("document.querySelector('.list').focus()")
        w.keys("g")
        w.keys("^oaks(9)", Keys.ENTER)
        until("the node", lambda: w.text(".value header h2") == ["^oaks(9)"])
        self.tab_to("Edit")
        until("the form", lambda: w.js("return document.activeElement.tagName") == "TEXTAREA")
        w.keys(Keys.CONTROL + "a" + Keys.NULL + "by hand", Keys.CONTROL, Keys.ENTER)
        w.sees("1 change", ".pending")
        self.tab_to("Commit as one transaction")
        w.sees("Committed 1 change", ".pending")
        self.assertEqual(self.server.tool("get", "^oaks(9)"), "by hand")
        self.tab_to("Fine")

    def tab_to(self, text):
        for _ in range(80):
            self.w.keys(Keys.TAB)
            if self.w.js("return document.activeElement.textContent") == text:
                self.w.keys(Keys.ENTER)
                return
        self.fail(f"Tab does not come to {text}")


class SignIn(Case):
    lines = FOREST[:4]

    def test_form(self):
        """Nobody is signed in: a form, which takes the address or its token, and then shows the place asked for."""
        w, address = self.w, self.address()
        w.driver.delete_all_cookies()
        w.driver.get("about:blank")
        w.driver.get(self.server.page + "#tree?at=^count")
        w.sees("Open the address", "main")
        self.enter("0" * 32)
        w.sees("not right", "main [role=alert]")
        w.picture("sign-in")
        self.fine("sign in")
        self.enter(address)
        until("the place", lambda: w.text(".value header h2") == ["^count"])
        w.sees("connected", "#state")

    def enter(self, text):
        self.w.one("main input[type=password]").send_keys(text, Keys.ENTER)

    def test_session_ends_under_the_page(self):
        """It asks for a token, keeps what is typed while the window is hidden and shown, and goes on where it was."""
        w, address = self.w, self.address()
        w.at("^count")
        w.js("fetch('/api/logout', {method: 'POST', body: '{}', headers: {'Content-Type': 'application/json'}})")
        w.sees("Open the address", "main")
        field = w.one("main input[type=password]")
        field.send_keys(address[:-4])
        w.js("document.dispatchEvent(new Event('visibilitychange')); location.hash = '#live'")
        w.js("location.hash = '#tree?at=^json'")
        field.send_keys(address[-4:], Keys.ENTER)
        until("the place", lambda: w.text(".value header h2") == ["^json"])


class Tree(Case):
    lines = FOREST + ["^full=\"" + "\u65e5\u672c\u8a9e\U0001f333" * 9000 + "\"", "^mixed=$ZCH(255)_\"" + "x" * 90000 + "\"", "^ids=\"[12345678901234567890,1.10]\"", "^breaks=" + "_".join(["\"line one\"", "$C(10)", "\"line two\"", "$C(13,10,9)", zwr("three \u202e four")])]

    def test_keys_alone(self):
        """From the address to a value and back without a mouse, and one sees where one is."""
        w = self.w
        w.go("#tree")
        until("variables", lambda: ["^oaks", ""] in w.rows(0))
        w.js("document.activeElement.blur()")
        for _ in range(40):
            w.keys(Keys.TAB)
            if w.js("return document.activeElement.className") == "list":
                break
        self.assertEqual(w.js("return getComputedStyle(document.activeElement).outlineStyle"), "solid")
        w.keys(Keys.END)
        until("the last variable", lambda: w.text(".value header h2") == ["^oaks"])
        w.keys(Keys.ARROW_RIGHT)
        until("its children", lambda: w.text(".value header h2") == ["^oaks(1)"])
        w.keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
        until("a level more", lambda: w.text(".value header h2") == ["^oaks(3,\"angle\")"])
        w.sees("30", ".value pre")
        w.keys(Keys.ARROW_LEFT)
        until("back", lambda: w.text(".value header h2") == ["^oaks(3)"])
        active = w.js("return document.getElementById(document.activeElement.getAttribute('aria-activedescendant')).textContent")
        self.assertIn("3", active)

    def test_address_is_the_place(self):
        w = self.w
        w.at("^oaks(7)", open=1)
        until("children", lambda: w.rows() == [["\"angle\"", "30"], ["\"shadow\"", "7.5"]])
        w.picture("tree-open")
        w.driver.refresh()
        until("the same after a reload", lambda: w.rows() == [["\"angle\"", "30"], ["\"shadow\"", "7.5"]])
        w.at("^count")
        w.driver.back()
        until("back", lambda: w.text(".value header h2") == ["^oaks(7)"])

    def test_values(self):
        w = self.w
        w.at("^count")
        w.press("Number")
        w.sees("1,234,567.5", ".value dd")
        w.at("^json")
        w.press("JSON")
        w.sees("\"oak\"", ".json")
        w.at("^bytes")
        w.press("Hex")
        w.sees("ff fe 00 01", ".value pre")
        w.at("^long")
        w.press("Text")
        w.press("The end")
        until("the end", lambda: w.text(".value pre")[0].endswith("many words "))
        w.at("^bytes")
        w.sees("Not text", ".value")

    def test_pieces_have_whole_characters(self):
        """Each is where it belongs in the whole, forwards, from the end and back; what is not text is shown byte by byte."""
        w, whole = self.w, "\u65e5\u672c\u8a9e\U0001f333" * 9000
        def turn(word):
            before = w.text(".value .body")
            w.js("[...document.querySelectorAll('.value .body button')].find((b) => b.textContent.startsWith(arguments[0])).click()", word)
            until(word, lambda: w.text(".value .body") != before)
            return w.text(".value pre")[0]
        w.at("^full")
        w.sees("The end", ".value .body")
        read = w.text(".value pre")[0]
        while len(read) < len(whole):
            read += turn("Next")
        self.assertTrue(read == whole, f"{len(read)} of {len(whole)} characters")
        turn("Back to the start")
        self.assertTrue(whole.endswith(turn("The end")))
        w.at("^mixed")
        w.sees("Not text", ".value")
        w.sees("00000000  ff 78", ".value pre")

    def test_how_a_value_is_shown_is_in_the_address(self):
        w = self.w
        w.at("^bytes")
        w.press("Hex")
        w.sees("ff fe", ".value pre")
        w.driver.refresh()
        w.sees("ff fe", ".value pre")
        self.assertEqual(w.text(".value [aria-pressed=true]"), ["Hex"])
        w.at("^count")
        self.assertEqual(w.text(".value [aria-pressed=true]"), ["Text"])

    def test_numbers_are_not_changed(self):
        """As they are written in JSON, longer ones than a browser reckons with, too; what is not a number is said to be none."""
        w = self.w
        w.at("^ids", **{"as": "json"})
        w.sees("12345678901234567890", ".json")
        w.sees("1.10", ".json")
        w.at("^long", **{"as": "number"})
        w.sees("This value is not a number", ".value")

    def test_what_is_not_there(self):
        w = self.w
        w.at("^oaks(3,\"none\")")
        w.sees("This node is not there", ".value")
        self.assertEqual(w.text(".value > .tools button"), ["Set", "Add child"])

    def test_one_line_for_a_row(self):
        w = self.w
        w.go("#tree")
        until("the row", lambda: ["^breaks", UNSEEN] in w.rows(0))
        self.assertEqual(w.js("return [...document.querySelectorAll('.row .unseen')].map((e) => e.dataset.sign)"),
                         ["↵", "\\r", "↵", "⇥", "U+202E"])
        high = w.js("""const text = [...document.querySelectorAll('.row .text')].find((e) => e.textContent.startsWith('line one'));
            return [text.getBoundingClientRect().height, parseFloat(getComputedStyle(text.parentElement).height)];""")
        self.assertLess(high[0], high[1])

    def test_other_sizes(self):
        """The column of the chosen node stays in view, and rows as high as the window wants lie below each other."""
        w = self.w
        w.at("^oaks(90)", open=1)
        until("children", lambda: len(w.rows()) == 2)
        try:
            for width, height in ((360, 740), (3840, 2160), (1200, 800)):
                resize(w.driver, width, height)
                until("the last column", lambda: w.js("const r = [...document.querySelectorAll('.column')].at(-1).getBoundingClientRect(); return r.left < innerWidth && r.right > 100"))
                until("rows below each other", lambda: w.js("""
                    const list = document.querySelectorAll('.list')[1], rows = [...list.querySelectorAll('.row')].map((r) => r.getBoundingClientRect()).sort((a, b) => a.top - b.top);
                    return rows.length > 5 && rows.every((r, i) => !i || Math.abs(r.top - rows[i - 1].bottom) < 1);"""))
                self.assertIn("90", [sub for sub, _ in w.rows(1)])
        finally:
            resize(w.driver, *self.size)

    def test_path_bar(self):
        w = self.w
        bar = w.one("#path")
        bar.clear()
        bar.send_keys("^oaks(12,\"shadow\")", Keys.ENTER)
        w.sees("12.5", ".value pre")
        bar.clear()
        bar.send_keys("^oaks(12", Keys.ENTER)

    def test_copy(self):
        """The path is copied with one key."""
        w, done = self.w, "navigator.clipboard.readText().then(arguments[0])"
        w.driver.execute_cdp_cmd("Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
        w.at("^oaks(3,\"shadow\")")
        w.js("document.querySelector('.list').focus()")
        w.keys("y")
        w.sees("Path copied", "#said")
        self.assertEqual(w.driver.execute_async_script(done), "^oaks(3,\"shadow\")")

    def test_find(self):
        w = self.w
        w.go("#tree")
        w.press("Find")
        w.keys("77.5", Keys.ENTER)
        w.sees("^oaks(77,\"shadow\")", ".find li")
        w.sees("found: all", ".find")
        w.css(".find li button")[0].click()
        until("the node", lambda: w.text(".value header h2") == ["^oaks(77,\"shadow\")"])
        w.press("Close")

    def test_find_is_stopped(self):
        """Also one whose server does not answer: it is not asked for any more."""
        w = self.w
        asked = "return performance.getEntriesByType('resource').filter((e) => e.name.includes('/api/find')).length"
        w.go("#tree")
        w.driver.refresh()  # there is no stream yet, by which it could be asked at once
        until("the tree", w.rows)
        w.press("Find")
        os.kill(self.server.process.pid, signal.SIGSTOP)
        try:
            w.keys("77.5", Keys.ENTER)
            w.sees("searching", ".find")
            w.press("Stop")
            w.sees("0 found: stopped", ".find")
        finally:
            os.kill(self.server.process.pid, signal.SIGCONT)
        w.css(".find input")[0].click()
        w.keys(Keys.CONTROL + "a", Keys.NULL, "66.5", Keys.ENTER)
        w.sees("2 found: all", ".find")
        self.assertEqual(w.text(".find li button span:first-child"), ["^oaks(66,\"shadow\")", "^oaks(166,\"shadow\")"])
        self.assertEqual(w.js(asked), 1)
        w.press("Close")


class Names(Case):
    """More variables, and more children of each kind, than one answer has."""

    lines = [f"^g{i:03d}=\"{i}\"" for i in range(130)] + [f"^w(\"{a}{i:03d}\")=\"{i}\"" for a in "abc" for i in range(120)] + \
        ["^user(\"user:7\")=1", "^user(\"user:bob\")=2", "^user(\"user:zed\")=3", "^user(\"vera\")=4"]

    def jump(self, column, text):
        field = self.w.css(".column header input")[column]
        field.clear()
        field.send_keys(text, Keys.ENTER)

    def shown(self, column=-1):
        return [sub for sub, _ in self.w.rows(column)]

    def test_order_after_another_view(self):
        """Rows before those that were shown come in their order, also when they are fewer than were asked for."""
        w = self.w
        w.at("^w(\"a000\")")
        until("the last variable", lambda: self.shown(0)[-1:] == ["^w"])
        w.go("#3n1")
        w.sees("Start", "main")
        w.go("#tree")
        until("the tree", lambda: len(self.shown(0)) > 10)
        for part in (0, 0.2, 0.4, 0.6, 0.8, 1):
            w.js("const l = document.querySelector('.list'); l.scrollTop = arguments[0] * l.scrollHeight", part)
            until("rows", lambda: len(self.shown(0)) > 10)
            self.assertEqual(self.shown(0), sorted(self.shown(0)))
        self.assertEqual(self.shown(0)[-1], "^w")

    def test_only_a_prefix(self):
        """As far as one scrolls."""
        w = self.w
        w.at("^w", open=1)
        until("children", lambda: self.shown()[:1] == ["\"a000\""])
        self.jump(-1, "b*")
        until("the prefix", lambda: self.shown()[:1] == ["\"b000\""])
        w.js("const l = [...document.querySelectorAll('.list')].at(-1); l.scrollTop = l.scrollHeight")
        until("its last", lambda: self.shown()[-1:] == ["\"b119\""])
        until("how many", lambda: w.text(".column .count")[-1] == "120")
        w.js("const l = [...document.querySelectorAll('.list')].at(-1); l.scrollTop = 0")
        until("its first", lambda: self.shown()[:1] == ["\"b000\""])

    def test_jump_to_names_with_colons(self):
        """A prefix of such names, and one of them: as it is, or in quotes where it could be a range."""
        w = self.w
        w.at("^user", open=1)
        until("children", lambda: self.shown()[:1] == ["\"user:7\""])
        self.jump(-1, "user:*")
        until("the prefix", lambda: self.shown() == ["\"user:7\"", "\"user:bob\"", "\"user:zed\""])
        for text, first in (("user:bob", "user:bob"), ("\"user:zed\"", "user:zed"), ("user:7", "user:7"), ("user:bo", "user:bob")):
            self.jump(-1, text)
            until(text, lambda: w.js("return document.getElementById('said').textContent") == f"^user: at \"{first}\"")
        self.jump(-1, "user:v")
        until("a range", lambda: self.shown() == ["\"user:7\"", "\"user:bob\"", "\"user:zed\""])

    def test_jump_among_variables(self):
        """Without a ^, to a prefix, to a range; what comes after all leads to the end."""
        self.w.go("#tree")
        until("variables", lambda: self.shown(0))
        self.jump(0, "g07*")
        until("a prefix", lambda: self.shown(0) == [f"^g{i:03d}" for i in range(70, 80)])
        self.jump(0, "g010:^g012")
        until("a range", lambda: self.shown(0) == ["^g010", "^g011", "^g012"])
        self.jump(0, "q*")
        self.w.sees("None of those is here", ".column .note")
        self.jump(0, "zzz")
        until("the end", lambda: self.shown(0)[-1:] == ["^w"])


class Million(Case):
    """A level of a million nodes."""

    @classmethod
    def setUpClass(cls):
        cls.lines = (f"^big({i})=\"value {i}\"" for i in range(1, MANY + 1))
        super().setUpClass()

    def scroll(self, part):
        self.w.js("const l = [...document.querySelectorAll('.list')].at(-1); l.scrollTop = arguments[0] * l.scrollHeight", part)

    def first(self):
        rows = self.w.rows()
        return int(rows[0][0]) if rows else 0

    def jump(self, text):
        field = self.w.css(".column header input")[-1]
        field.clear()
        field.send_keys(text, Keys.ENTER)

    def consecutive(self):
        rows = [int(sub) for sub, _ in self.w.rows()]
        return len(rows) > 15 and rows == list(range(rows[0], rows[0] + len(rows)))

    def test_million(self):
        w = self.w
        w.at("^big", open=1)
        until("the first", lambda: self.first() == 1)
        until("their number", lambda: w.text(".column .count")[-1] == f"{MANY:,}")
        self.scroll(0.5)
        until("the middle", lambda: MANY * 0.45 < self.first() < MANY * 0.55 and self.consecutive())
        w.picture("million")
        self.scroll(1)
        until("the last", lambda: w.rows()[-1][0] == str(MANY) and self.consecutive())
        self.jump("700000")
        until("a subscript", lambda: self.first() == 700000)
        self.jump("25%")
        until("a part", lambda: MANY * 0.2 < self.first() < MANY * 0.3)
        self.jump("end")
        until("the end", lambda: w.rows()[-1][0] == str(MANY))
        self.jump("1000:1004")
        until("a range", lambda: [sub for sub, _ in w.rows()] == ["1000", "1001", "1002", "1003", "1004"])
        self.jump("start")
        until("the start", lambda: self.first() == 1)

    def test_scroll_is_smooth(self):
        """No frame over 50 ms while it is scrolled, by steps and by leaps; told, as the machine may be busy."""
        w = self.w
        w.at("^big", open=1)
        until("rows", self.consecutive)
        w.js("slow.length = 0")
        w.driver.set_script_timeout(300)
        frames = w.driver.execute_async_script(SCROLL, 2000 if LONG else 200)
        slow = w.js("return slow")
        print(f"scrolling: {len(frames)} frames, the longest {max(frames):.1f} ms, long animation frames: {slow}")
        until("rows after all that", self.consecutive)
        nodes = w.js("return document.querySelectorAll('.row').length")
        self.assertLess(nodes, 150)


HOSTILE = ["<img src=x onerror=hurt()>", "<script>hurt()</script>", "</pre><script>hurt()</script>", "\"><svg onload=hurt()>",
           "javascript:hurt()", "{{hurt()}}", "${hurt()}", "' onclick='hurt()", "&lt;b&gt;", "<!--", "]]>", "\u202egnirts", "a\u0000b",
           "\u2028line", "%00%3Cscript%3E", "<a href=javascript:hurt()>x</a>", "\ud7ff\ue000", "é" * 200, "--><style>*{display:none}</style>"]


def key_text(text):
    """ZWR with $C for control characters."""
    out, part = [], ""
    for c in text:
        if ord(c) < 32 or ord(c) == 127:
            out += [zwr(part)] * bool(part) + [f"$C({ord(c)})"]
            part = ""
        else:
            part += c
    return "_".join(out + [zwr(part)] * (bool(part) or not out))


class Hostile(Case):
    """Keys and values are shown as text, whatever they are."""

    lines = [f"^hostile({key_text(text)})={key_text(text)}" for text in HOSTILE]

    def test_hostile(self):
        w = self.w
        w.js("window.hurt = () => violations.push('ran')")
        w.at("^hostile", open=1)
        until("all rows", lambda: len(w.rows()) == len(HOSTILE))
        shown = {text for _, text in w.rows()}
        for text in HOSTILE:
            self.assertTrue(any(text[:80] in s for s in shown), text)
        for i, node in enumerate(self.subscripts()):
            w.at(node)
            for view in ("JSON", "Hex", "Number", "Text") if i % 6 == 0 else ():
                w.press(view)
        w.picture("hostile")
        w.go("#log")
        w.sees("Nothing was changed", ".log")
        self.server.load(self.lines)
        until("the log", lambda: len(w.css(".log tbody tr")) >= len(HOSTILE))
        self.nothing_ran()

    def nothing_ran(self):
        w = self.w
        self.assertEqual(w.js("return [...document.querySelectorAll('main img, main script, main style, main a[href^=javascript]')].length"), 0)
        self.assertEqual(w.js("return violations"), [])
        info = w.driver.execute_async_script("fetch('/api/info').then((a) => a.json()).then(arguments[0])")
        self.assertEqual(info["csp"], 0)

    def subscripts(self):
        rows = self.w.text(".list:last-child .row .key")[-len(HOSTILE):]
        return [f"^hostile({sub})" for sub in rows]

    def test_nothing_from_elsewhere(self):
        names = self.w.js("return performance.getEntriesByType('resource').map((e) => e.name)")
        self.assertEqual([n for n in names if not n.startswith(self.server.page)], [])
        self.assertGreater(len(names), 5)


class Change(Case):
    lines = FOREST

    def fill(self, text, field=".form textarea"):
        area = self.w.one(field)
        area.clear()
        area.send_keys(text)

    def edit(self, w, node, text):
        w.at(node)
        w.press("Edit")
        area = w.one(".form textarea")
        area.clear()
        area.send_keys(text)
        w.press("Keep this change")

    def carry(self, action, node, to):
        """Keep a Rename or Merge of the node to another place."""
        self.w.at(node)
        self.w.press(action)
        self.fill(to, ".form input")
        self.w.press("Keep this " + action.lower())
        self.w.gone(".form")

    def hold(self, part):
        """What is asked of an address with that part waits until release() is called in the page."""
        self.w.js("""
            const real = window.fetch, held = [];
            window.fetch = (to, how) => String(to).includes(arguments[0])
                ? new Promise((go) => { held.push(() => go(real(to, how))); }) : real(to, how);
            window.release = () => { window.fetch = real; held.forEach((go) => go()); };""", part)

    def test_several_at_once(self):
        w, tool = self.w, self.server.tool
        self.edit(w, "^oaks(1)", "one")
        w.at("^oaks(2)")
        w.press("Add child")
        self.fill("new", ".form input")
        self.fill("a value")
        w.press("Keep this change")
        w.gone(".form")
        w.at("^oaks(4)")
        w.press("Kill")
        w.sees("3 values", ".form")
        w.picture("kill")
        w.press("Keep this kill")
        w.sees("3 changes", ".pending")
        w.picture("changes")
        self.fine("what is kept")
        self.assertEqual(tool("get", "^oaks(1)"), "7")
        w.press("Commit as one transaction")
        w.sees("Committed 3 changes", ".pending")
        self.fine("committed")
        self.assertEqual(tool("get", "^oaks(1)"), "one")
        self.assertEqual(tool("get", "^oaks(2,\"new\")"), "a value")
        self.assertEqual(tool("data", "^oaks(4)"), "0")
        w.press("Undo")
        w.gone(".pending")
        self.assertEqual(tool("get", "^oaks(1)"), "7")
        self.assertEqual(tool("data", "^oaks(4)"), "11")

    def asks(self):
        """Would the browser ask before it leaves the page?"""
        return self.w.js("""const leave = new Event("beforeunload", {cancelable: true});
            dispatchEvent(leave); return leave.defaultPrevented;""")

    def test_nothing_typed_is_lost_without_a_question(self):
        w = self.w
        w.at("^oaks(7)")
        self.assertFalse(self.asks())
        w.press("Edit")
        w.one(".form textarea")
        self.assertFalse(self.asks())
        self.fill("typed")
        self.assertTrue(self.asks())
        w.press("Keep this change")
        w.sees("1 change", ".pending")
        self.assertTrue(self.asks())
        w.press("Drop all")
        w.gone(".pending")
        self.assertFalse(self.asks())

    def test_what_is_typed_stays_with_its_node(self):
        """Another row, another view, another way to show the value, a change by somebody else: none of them drops it."""
        w = self.w
        w.at("^oaks(50)")
        w.press("Edit")
        self.fill("half a sen")
        w.at("^oaks(51)")
        w.sees("^oaks(50)", ".value .note")
        self.assertEqual(w.css(".form"), [])
        w.go("#live")
        w.sees("Processes", "main")
        self.assertTrue(self.asks())
        w.at("^oaks(51)")
        w.press("^oaks(50)")
        until("it is back", lambda: w.one(".form textarea").get_attribute("value") == "half a sen")
        w.press("Hex")
        w.sees("33 35 30", ".value pre")
        w.press("Kill")
        w.sees("Keep or cancel", ".toast")
        self.server.tool("set", "^oaks(50)", "theirs")
        w.sees("Changed by another", ".changed")
        w.press("Show")
        w.sees("74 68 65 69 72 73", ".value pre")
        w.press("Text")
        w.one(".form textarea").send_keys("tence")
        w.press("Keep this change")
        w.sees("1 change", ".pending")
        w.press("Commit as one transaction")
        w.sees("somebody else changed", ".pending")
        self.assertEqual(w.text(".compare pre"), ["350", "theirs", "half a sentence"])
        w.press("Drop all")
        w.sees("theirs", ".value pre")
        self.assertFalse(self.asks())

    def test_what_comes_during_a_commit_waits_for_the_next(self):
        w, tool = self.w, self.server.tool
        self.edit(w, "^oaks(70)", "first")
        w.sees("1 change", ".pending")
        self.hold("commit")
        w.press("Commit as one transaction")
        self.edit(w, "^oaks(71)", "second")
        self.edit(w, "^oaks(70)", "once more")
        w.sees("3 changes", ".pending")
        self.assertFalse(w.one(".pending .main").is_enabled())
        w.js("release()")
        w.sees("2 changes, not committed yet", ".pending")
        self.assertEqual((tool("get", "^oaks(70)"), tool("get", "^oaks(71)")), ("first", "497"))
        w.css(".pending .quiet")[1].click()
        w.sees("1 change, not", ".pending")
        w.press("Commit as one transaction")
        w.sees("Committed 1 change", ".pending")
        self.assertEqual((tool("get", "^oaks(70)"), tool("get", "^oaks(71)")), ("first", "second"))
        w.press("Fine")

    def test_a_form_that_is_kept_closes_no_other(self):
        """The server is asked for a merge's target while another node is chosen, and something is typed there."""
        w = self.w
        w.at("^oaks(72)")
        w.press("Merge")
        self.fill("^elsewhere", ".form input")
        self.hold("count")
        w.press("Keep this merge")
        until("it is not pressed twice", lambda: w.js("return document.querySelector('.form').inert"))
        w.at("^oaks(73)")
        w.sees("^oaks(72)", ".value .note")
        w.press("Edit")
        self.fill("typed here")
        w.js("release()")
        w.sees("1 change, not", ".pending")
        self.assertEqual((w.one(".form textarea").get_attribute("value"), w.css(".value .note")), ("typed here", []))
        w.press("Keep this change")
        w.sees("2 changes", ".pending")
        w.press("Drop all")
        w.gone(".pending")

    def test_undo_is_refused_when_it_was_changed_since(self):
        w = self.w
        self.edit(w, "^oaks(10)", "mine")
        w.press("Commit as one transaction")
        w.sees("Committed 1 change", ".pending")
        self.server.tool("set", "^oaks(10)", "theirs")
        w.press("Undo")
        w.sees("", ".toast:not([hidden])")
        self.assertEqual(self.server.tool("get", "^oaks(10)"), "theirs")
        w.press("Fine")

    def test_rename_and_merge(self):
        w, tool = self.w, self.server.tool
        self.carry("Rename", "^oaks(20)", "^moved")
        self.carry("Merge", "^oaks(21)", "^copy(1)")
        w.press("Commit as one transaction")
        w.sees("Committed 2 changes", ".pending")
        self.assertEqual(tool("get", "^moved(\"shadow\")"), "20.5")
        self.assertEqual(tool("data", "^oaks(20)"), "0")
        self.assertEqual(tool("get", "^copy(1,\"shadow\")"), tool("get", "^oaks(21,\"shadow\")"))
        w.press("Fine")

    def test_rename_to_what_is_there_meanwhile(self):
        """It is compared with that place; whoever keeps the rename puts it there."""
        w, tool = self.w, self.server.tool
        self.carry("Rename", "^oaks(60)", "^taken")
        w.sees("1 change", ".pending")
        tool("set", "^taken", "in the way")
        w.press("Commit as one transaction")
        w.sees("somebody else changed", ".pending")
        self.assertEqual(w.text(".compare pre"), ["nothing at ^taken", "1 value at ^taken", "rename to ^taken, in place of what is there"])
        w.picture("conflict-rename")
        self.fine("a rename compared")
        w.press("Keep mine")
        w.press("Commit as one transaction")
        w.sees("Committed 1 change", ".pending")
        self.assertEqual((tool("get", "^taken"), tool("get", "^taken(\"shadow\")"), tool("data", "^oaks(60)")), ("420", "60.5", "0"))
        w.press("Undo")
        w.gone(".pending")
        self.assertEqual((tool("get", "^taken"), tool("get", "^oaks(60)")), ("in the way", "420"))

    def test_merge_over_what_is_there_meanwhile(self):
        """It is compared with what the place had; whoever keeps the merge has it over what is there now."""
        w, tool = self.w, self.server.tool
        tool("set", "^over(\"shadow\")", "old")
        self.carry("Merge", "^oaks(62)", "^over")
        w.sees("over 1 value", ".pending")
        tool("set", "^over(\"more\")", "in the way")
        w.press("Commit as one transaction")
        w.sees("somebody else changed", ".pending")
        self.assertEqual(w.text(".compare pre"), ["1 value at ^over", "2 values\nchanged meanwhile:\n^over(\"more\")", "merge to ^over, over what is there"])
        self.fine("a merge compared")
        self.assertEqual((tool("get", "^over(\"shadow\")"), tool("data", "^over(\"angle\")")), ("old", "0"))
        w.press("Keep mine")
        w.press("Commit as one transaction")
        w.sees("Committed 1 change", ".pending")
        self.assertEqual((tool("get", "^over(\"shadow\")"), tool("get", "^over(\"more\")")), ("62.5", "in the way"))
        w.press("Undo")
        w.gone(".pending")
        self.assertEqual((tool("get", "^over(\"shadow\")"), tool("data", "^over(\"angle\")")), ("old", "0"))

    def test_kill_of_what_has_other_values(self):
        """As many nodes as were counted, and one has another value: which is told."""
        w, tool = self.w, self.server.tool
        w.at("^oaks(61)")
        w.press("Kill")
        w.sees("3 values", ".form")
        w.press("Keep this kill")
        tool("set", "^oaks(61,\"shadow\")", "another")
        w.press("Commit as one transaction")
        w.sees("somebody else changed", ".pending")
        self.assertEqual(w.text(".compare pre"), ["3 values", "3 values\nchanged meanwhile:\n^oaks(61,\"shadow\")", "kill of 3 values"])
        w.picture("conflict-kill")
        self.fine("a kill compared")
        resize(w.driver, 360, 740)
        self.assertEqual((w.js(OVERLAP), w.js(OUTSIDE)), ([], []))
        w.picture("conflict-kill-360")
        resize(w.driver, *self.size)
        w.press("Keep mine")
        w.press("Commit as one transaction")
        w.sees("Committed 1 change", ".pending")
        self.assertEqual(tool("data", "^oaks(61)"), "0")
        w.press("Fine")

    def test_two_browsers(self):
        """Of two that edit one node the second is refused, sees both, and decides."""
        other = self.another(self.address())
        self.edit(self.w, "^oaks(30)", "of the first")
        self.edit(other, "^oaks(30)", "of the second")
        self.w.press("Commit as one transaction")
        self.w.sees("Committed", ".pending")
        other.press("Commit as one transaction")
        other.sees("somebody else changed", ".pending")
        self.assertEqual(other.text(".compare pre"), ["210", "of the first", "of the second"])
        other.picture("conflict")
        self.assertEqual(self.server.tool("get", "^oaks(30)"), "of the first")
        other.press("Keep mine")
        other.press("Commit as one transaction")
        other.sees("Committed", ".pending")
        self.assertEqual(self.server.tool("get", "^oaks(30)"), "of the second")
        self.w.press("Fine")
        self.w.at("^oaks(30)")
        self.w.sees("of the second", ".value pre")
        self.assertEqual(other.troubles(), [])

    def test_shown_follows(self):
        """What another process changes is seen without a reload."""
        self.w.at("^oaks(40)")
        self.w.sees("280", ".value pre")
        self.server.tool("set", "^oaks(40)", "changed")
        self.w.sees("changed", ".value pre")


class Readonly(Case):
    options = ()
    lines = FOREST[:4]

    def test_nothing_to_change(self):
        self.w.at("^count")
        self.w.sees("read-only", "#mode")
        self.assertEqual([b.text for b in self.w.css(".value .tools > button")], [])
        self.w.go("#console")
        self.w.sees("--console", "main")


@unittest.skipUnless(os.environ.get("CARET_TEST_URL"), "no PostgreSQL here")
class Address(unittest.TestCase):
    """A database on a server: the tree is there, and what is not to be had is said."""

    def test_views(self):
        server = Server("--write", file=os.environ["CARET_TEST_URL"], lines=["^oaks(1)=\"one\""])
        self.addCleanup(server.close)
        w = Case.look(shared(), server.address)
        w.at("^oaks(1)")
        w.sees("one", ".value pre")
        server.tool("set", "^oaks(1)", "another")
        w.sees("another", ".value pre")
        for view in ("live", "locks", "log"):
            w.go(f"#{view}")
            w.sees("this one is on a server", "main")
        w.go("#space")
        w.sees("is for a database in a file", "main")
        self.assertEqual(w.troubles(), [])


class Figures(Case):
    """Live, where nothing but these programs change something."""

    @when_long
    def test_focus(self):
        """Figures that come while a link has the focus leave it there, under the same node, wherever its row goes; when
        it goes, its table has the focus. A press that is under way comes to its end."""
        w = self.w
        w.go("#live")
        fed = self.server.program("while true do db:incr('^fed', 1) os.execute 'sleep 0.01' end")
        others = self.server.program("""
            local n = 0
            while true do
                n = n + 1
                for _ = 1, n % 97 do db:incr('^' .. ('abc'):sub(n % 3 + 1, n % 3 + 1), 1) end
                os.execute 'sleep 0.01'
            end""")
        table = "[aria-label='Table of globals']"
        w.sees("^fed", table)
        w.js("""
            window.fed = [...document.querySelectorAll(arguments[0] + " a")].find((a) => a.textContent === "^fed");
            window.fed.focus();
            window.turns = new Set(); window.lost = 0; window.clicks = 0;
            window.fed.addEventListener("click", (e) => { clicks++; e.preventDefault(); });
            new MutationObserver(() => {
                turns.add(document.querySelector(arguments[0]).innerText);
                if (document.activeElement !== fed || !fed.isConnected || fed.textContent !== "^fed") lost++;
            }).observe(document.querySelector(arguments[0]), {subtree: true, childList: true, characterData: true});""", table)
        until("other figures", lambda: w.js("return turns.size") > 2)
        self.assertEqual(w.js("return lost"), 0)
        others.kill()
        until("it is alone", lambda: w.text(f"{table} a") == ["^fed"])
        ActionChains(w.driver).click_and_hold(w.js("return fed")).perform()
        turns = w.js("return turns.size")
        until("figures while it is pressed", lambda: w.js("return turns.size") > turns)
        ActionChains(w.driver).release().perform()
        self.assertEqual(w.js("return clicks"), 1)
        w.js("fed.focus()")
        fed.kill()
        until("its row is gone", lambda: not w.js("return fed.isConnected"))
        self.assertTrue(w.js("return document.activeElement === document.querySelector(arguments[0])", table))


class Live(Case):
    lines = FOREST

    def test_live(self):
        w = self.w
        w.go("#live")
        self.server.program("""
            while true do
                db:incr("^hot", 1) for i = 1, 50 do local _ = db.node("^oaks", i).__ end
                local tries = 0
                db:tp(function()
                    tries = tries + 1
                    db:get("^hot")
                    if tries == 1 then os.execute "sleep 0.01" end
                    db:set("^hit", 2)
                end)
            end""")
        self.server.program("while true do for _ = 1, 50 do db:incr('^hot', 1) end os.execute 'sleep 0.001' end")
        self.server.program("while true do for _ = 1, 300 do db:get('^read') end os.execute 'sleep 0.001' end")
        w.sees("^hot", "[aria-label='Table of globals']")
        w.sees("^read", "[aria-label='Table of globals']")
        until("rates", lambda: w.text(".card .big span")[1] not in ("–", "0"))
        w.sees("caret", "[aria-label='Table of processes']")
        self.assertEqual([p.is_displayed() for p in w.css("[aria-label='Server: clients'], [aria-label='Server: slow commands']")], [False, False])
        w.sees("^hit", "[aria-label='Table of collisions']")
        until("a course", lambda: len(w.js("return document.querySelector('.spark').getAttribute('points')").split()) > 5)
        w.picture("live-busy")
        self.fine("live figures")

    def test_log(self):
        w = self.w
        w.go("#log?at=^told")
        w.sees("Nothing was changed", ".log")
        self.server.tool("set", "^told(1)", "heard")
        self.server.tool("set", "^other(1)", "not heard")
        self.server.tool("set", "^told(2)", "heard too")
        w.sees("heard too", ".log td")
        self.assertNotIn("not heard", w.text(".log td"))
        w.press("Hold")
        self.fine("the log, held")
        w.press("Go on")

    def test_log_jumps(self):
        """More at once than can be shown: the first ones, that there were more, and then what happens now."""
        w = self.w
        w.go("#log?at=^burst")
        w.sees("Nothing was changed", ".log")
        self.server.program("db:tp(function() for i = 1, 9000 do db:set('^burst', i, i) end end) io.read()")
        w.sees("More came than can be shown", ".tools")
        w.sees("^burst(1)", ".log td")
        shown = w.text(".log tbody td:nth-child(3)")
        self.assertEqual(shown, [f"^burst({i})" for i in range(1, len(shown) + 1)])
        self.assertLess(len(shown), 1000)
        self.server.tool("set", "^burst(\"now\")", "is told")
        w.sees("is told", ".log td")
        self.assertEqual(w.text(".log tbody td:nth-child(3)"), shown + ["^burst(\"now\")"])
        self.server.tool("kill", "^burst")

    def test_locks(self):
        w = self.w
        w.go("#locks")
        self.server.program("db.node('^lock', 'oak'):grab(); io.read()")
        w.sees("^lock(\"oak\")", ".graph")
        self.server.program("db.node('^lock', 'elm'):grab(); db.node('^lock', 'oak'):grab(60)")
        w.sees("^lock(\"elm\")", ".graph")
        until("one waits", lambda: any("held, 1 waits" in t for t in w.text("main [role=status]")))
        w.picture("locks-busy")
        self.fine("locks")

    def test_ring(self):
        """Sessions that wait for each other are red. The engine refuses the last wait of a ring, so one lasts only while
        a member has died: here it is told."""
        found = self.w.driver.execute_async_script("""
            const done = arguments[0], lock = (pid, name, waits) => ({pid, session: 1, command: "lua", alive: true, name, waits, age: 1, count: 1, waiting: 0});
            import("/locks.js").then(({Locks}) => {
                const view = new Locks(), sessions = [1, 2, 3].map((pid) => ({pid, session: 1, command: "lua", alive: true}));
                document.querySelector("main").replaceChildren(view.node);
                view.take({locks: [lock(1, "^a", false), lock(2, "^b", false), lock(1, "^b", true), lock(2, "^a", true), lock(3, "^c", false)],
                    sessions, edges: [], rings: [[0, 1]]});
                done([view.said.textContent, view.node.querySelectorAll("rect.ring").length, view.node.querySelectorAll("path.ring").length]);
            });""")
        self.assertIn("1 ring", found[0])
        self.assertEqual(found[1:], [2, 8])
        self.w.picture("locks-ring")
        self.fine("a ring")
        self.w.driver.refresh()
        self.w.sees("connected", "#state")

    @unittest.skipUnless(os.path.exists(BESIDE + "/caret-server"), "the server is not built")
    def test_server(self):
        """Clients and slow commands of a `caret serve` of the same database."""
        w, path = self.w, os.path.join(self.server.folder, "s")
        self.server.serve(path)
        client = until("a connection", lambda: connect(path))
        self.addCleanup(client.close)
        for words in (["CLIENT", "SETNAME", "<b>browser</b>"], ["CONFIG", "SET", "slowlog-log-slower-than", "0"], ["SET", "<i>slow</i>", "1"],
                      ["CONFIG", "SET", "slowlog-log-slower-than", "-1"]):
            client.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(x), x.encode()) for x in words))
            client.recv(100)
        w.go("#live")
        w.sees("<b>browser</b>", "[aria-label='Table of clients'] td")
        w.sees("SET <i>slow</i> 1", "[aria-label='Table of slow'] td")
        w.sees("info", "[aria-label='Table of server'] td")
        w.picture("live-server")
        self.fine("a server's clients")

    def test_space(self):
        w = self.w
        w.go("#space")
        w.sees("^oaks", ".map")
        w.sees("^oaks", "[aria-label='Globals'] td")
        self.assertEqual(w.js("""
            const map = document.querySelector(".map").getBoundingClientRect();
            return [...document.querySelectorAll(".map button")].map((b) => b.getBoundingClientRect())
                .filter((r) => r.left < map.left - 1 || r.right > map.right + 1 || r.top < map.top - 1 || r.bottom > map.bottom + 1).length"""), 0)
        w.go("#space?at=^nothing")  # what was asked for before is not drawn
        w.go("#space?at=^long")
        until("one part", lambda: [b.get_attribute("aria-label") for b in w.css(".map button")] == ["^long 215 KiB, 100.0 %"])
        w.press("All globals")
        w.sees("^oaks", ".map")
        w.press("Check online")
        w.sees("No findings", "main")
        w.picture("space-busy")
        to = os.path.join(self.server.folder, "copy.caret")
        w.one("[aria-label=Backup] input").send_keys(to)
        w.press("Back up")
        w.sees("in " + to, "[aria-label=Backup]")
        self.fine("room, checked and copied")
        self.assertGreater(os.path.getsize(to), 1000)

    def test_race(self):
        w = self.w
        w.go("#3n1")
        self.assertFalse(w.one(".grown").is_displayed())
        field = w.one("main input[type=number]")
        field.clear()
        field.send_keys("20000")
        w.press("Start")
        self.fine("a race")
        w.sees("3n+1 to 20,000", ".report")
        self.assertEqual(sum(int(n.split()[0]) for n in w.text(".race .num")), 20)
        self.fine("the end of a race")
        self.assertEqual(w.js("return document.querySelector('.grown path').getAttribute('d')").count("M"), TWIGS)
        w.picture("race")

    def test_console(self):
        w = self.w
        w.go("#console")
        w.sees("Lua", ".tools")
        area = w.one(".prompt textarea")
        area.send_keys("1 + 1", Keys.ENTER)
        w.sees("2", ".said pre")
        area.send_keys("while true do end", Keys.ENTER)
        w.press("Stop")
        until("it was stopped", lambda: w.js("return document.querySelector('.prompt .danger').disabled"))
        area.send_keys("db.node('^count').__", Keys.ENTER)
        w.sees("1234567.5", ".said pre")
        area.send_keys(Keys.ARROW_UP)
        self.assertEqual(area.get_attribute("value"), "db.node('^count').__")
        self.assertNotIn("lost", "".join(w.text(".console")))
        w.picture("console-busy")

    def language(self, name):
        """A console of another language."""
        w = self.w
        w.go("#console")
        w.press(name)
        until(name, lambda: w.text(".tools [aria-pressed=true]") == [name])
        area = w.one(".prompt textarea")
        area.clear()  # another test may have typed something
        return area

    def said(self):
        return self.w.js("return [...document.querySelectorAll('.said')].at(-1)?.innerText ?? ''")

    @unittest.skipUnless(os.path.exists(BESIDE + "/caret-server"), "the server is not built")
    def test_console_resp(self):
        area = self.language("RESP")
        for text, answer in (("RPUSH list a \"b c\" \"<b>\"", "(integer) 3"), ("LRANGE list 0 -1", "3) \"<b>\""),
                             ("NONSENSE <script>", "(error)")):
            area.send_keys(text, Keys.ENTER)
            until(answer, lambda a=answer: a in self.said())
        area.send_keys("BLPOP nothing 0", Keys.ENTER)
        self.w.press("Stop")
        until("it was stopped", lambda: self.w.js("return document.querySelector('.prompt .danger').disabled"))
        area.send_keys("PING", Keys.ENTER)
        until("it goes on", lambda: "PONG" in self.said())
        self.w.picture("console-resp")

    @unittest.skipUnless(os.path.exists(BESIDE + "/caret-m"), "M is not built")
    def test_console_m(self):
        area = self.language("M")
        for text, answer in (("write ^count+1,!", "1234568.5"), ("set x=\"<i>\" write x,!", "<i>"), ("write nothing", "UNDEF")):
            area.send_keys(text, Keys.ENTER)
            until(answer, lambda a=answer: a in self.said())
        self.assertEqual("".join(self.w.text(".said:nth-last-child(3) pre:not(.in)")), "1234568.5")
        area.send_keys("for  set y=1", Keys.ENTER)
        self.w.press("Stop")
        until("it is stopped", lambda: "CTRLC" in self.said())
        area.send_keys("write x,y,^count+2,!", Keys.ENTER)
        until("it goes on with its variables", lambda: "<i>11234569.5" in self.said())
        area.send_keys("write x hang 1000", Keys.ENTER)
        until("it waits", lambda: "<i>" in self.said())
        self.w.press("Stop")
        until("the wait is stopped", lambda: "CTRLC" in self.said())
        area.send_keys("write x,y,^count+3,!", Keys.ENTER)
        until("it goes on after a wait, too", lambda: "<i>11234570.5" in self.said())
        area.send_keys("zsystem \"trap '' INT; exec sleep 1000\"", Keys.ENTER)
        self.w.press("Stop")
        self.w.sees("The next statement starts a new one", ".console")
        area.send_keys("write ^count+4,!", Keys.ENTER)
        until("another goes on", lambda: "1234571.5" in self.said())
        self.w.picture("console-m")


@when_long
class Windows(Case):
    """A browser has six connections to a server for all of its windows."""

    lines = FOREST

    def all_at_once(self):
        """Everything that goes on for a while, in one window."""
        w = self.w
        w.go("#console")
        for name in self.server_languages():
            w.press(name)
            until(name, lambda n=name: w.text(".tools [aria-pressed=true]") == [n])
        area = w.one(".prompt textarea")
        area.clear()
        w.press("Lua")
        area.send_keys("20 + 22", Keys.ENTER)
        w.sees("42", ".said pre")
        w.go("#log")
        w.sees("Nothing was changed", ".log")
        w.go("#live")
        w.sees("caret", "[aria-label='Table of processes']")

    def server_languages(self):
        info = self.w.driver.execute_async_script("fetch('/api/info').then((a) => a.json()).then(arguments[0])")
        return [{"lua": "Lua", "m": "M", "resp": "RESP"}[name] for name in info["languages"]]

    def test_log_of_a_hidden_window(self):
        """It asks for nothing, and shows each change once when it is looked at again."""
        w = self.w
        hide = "Object.defineProperty(document, 'hidden', {value: arguments[0], configurable: true}); document.dispatchEvent(new Event('visibilitychange'))"
        w.go("#log?at=^seen")
        w.sees("Nothing was changed", ".log")
        w.js(hide, True)  # before it has seen a change
        self.server.tool("set", "^seen(0)", "value 0")
        w.js(hide, False)
        w.sees("value 0", ".log td")
        for i in range(1, 3):
            self.server.tool("set", f"^seen({i})", f"value {i}")
        w.sees("value 2", ".log td")
        w.js(hide, True)
        streams = "return performance.getEntriesByType('resource').filter((e) => e.name.includes('/api/log')).length"
        asked = w.js(streams)
        self.server.tool("set", "^seen(3)", "value 3")
        w.js(hide, False)
        w.sees("value 3", ".log td")
        self.server.tool("set", "^seen(4)", "value 4")
        w.sees("value 4", ".log td")
        self.assertEqual([t for t in w.text(".log td") if t.startswith("value")], [f"value {i}" for i in range(5)])
        self.assertEqual(w.js(streams), asked + 1)

    def test_three_windows(self):
        driver, address = self.w.driver, self.server.page
        first = driver.current_window_handle
        self.all_at_once()
        for _ in range(2):
            driver.switch_to.new_window("tab")
            driver.get(address)
            self.w.sees("connected", "#state")
            self.all_at_once()
        self.assertEqual(self.w.text("#lost"), [""])
        while len(driver.window_handles) > 1:
            driver.switch_to.window(driver.window_handles[-1])
            driver.close()
        driver.switch_to.window(first)
        self.w.go("#console")
        self.w.one(".prompt textarea").send_keys("'still ' .. 'here'", Keys.ENTER)
        self.w.sees("still here", ".said pre")


class Restart(Case):
    lines = FOREST

    def test_restart(self):
        """The server is killed under an open page: it says so, and goes on with the next one."""
        w = self.w
        w.at("^oaks(5)")
        self.server.kill()
        w.sees("The server is gone", "#lost")
        w.picture("lost")
        self.fine("the server is gone")
        self.server.start()
        w.sees("connected", "#state.on")
        w.gone("#lost")
        self.server.tool("set", "^oaks(5)", "after")
        w.sees("after", ".value pre")


@when_long
class Day(Case):
    """A day of looking, in 10,000 refreshes: the page's memory does not grow."""

    lines = FOREST

    def heap(self):
        self.w.driver.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
        figures = self.w.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        return {m["name"]: m["value"] for m in figures if m["name"] in ("JSHeapUsedSize", "Nodes", "JSEventListeners")}

    def refresh(self, n):
        self.w.driver.set_script_timeout(600)
        self.w.driver.execute_async_script("""
            const [n, done] = arguments;
            (async () => {
                const {bus, tell} = await import("/dom.js");
                for (let i = 0; i < n; i++) {
                    tell("changed");
                    await new Promise((r) => setTimeout(r, 4));
                }
                done();
            })();""", n)

    def test_memory(self):
        self.w.driver.execute_cdp_cmd("Performance.enable", {})
        self.w.at("^oaks(3)", open=1)
        self.refresh(500)
        before = self.heap()
        self.refresh(10000)
        after = self.heap()
        print(f"before 10,000 refreshes {before}, after {after}")
        self.assertLess(after["JSHeapUsedSize"], before["JSHeapUsedSize"] * 1.2 + 300000)
        self.assertLess(after["Nodes"], before["Nodes"] * 1.2 + 500)


if __name__ == "__main__":
    main()
