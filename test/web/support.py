"""What the tests of the page share: a database, `caret web` on it, browsers, and waiting for what they show.

The browsers are Debian's chromium, driven through Debian's Selenium: the W3C's protocol, which has the clicks and
keys of a user, and with chromium the protocol of its developer tools beside it, for sizes of windows, colours and
figures. Chromium looks for its answers on loopback alone.
"""

import base64
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from selenium import webdriver
from selenium.common.exceptions import ElementNotInteractableException, StaleElementReferenceException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.keys import Keys  # noqa: F401 (for the tests)

AXE = os.environ.get("CARET_AXE", "")  # axe-core's file, where it could be fetched
CARET = os.environ["CARET"]
LONG = bool(os.environ.get("CARET_LONG"))
PICTURES = os.environ.get("CARET_PICTURES", tempfile.gettempdir())
PATIENCE = float(os.environ.get("CARET_PATIENCE", "60"))
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars=false",
         "--force-color-profile=srgb", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]


def browser():
    """A chromium whose pages tell every violation of their policy in window.violations."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": """
        window.violations = []; window.slow = [];
        document.addEventListener("securitypolicyviolation", (e) => violations.push(`${e.violatedDirective} ${e.blockedURI}`));
        new PerformanceObserver((list) => slow.push(...list.getEntries().map((e) => e.duration)))
            .observe({type: "long-animation-frame"});"""})
    return driver


def shared():
    """The one browser of all tests: each class has another server, and so another origin."""
    if not hasattr(shared, "driver"):
        shared.driver = browser()
    return shared.driver


# Scroll the last column through so many frames, by steps and by leaps; how long each took, in milliseconds.
SCROLL = """
    const done = arguments[1], list = [...document.querySelectorAll(".list")].at(-1);
    let left = arguments[0], frames = [], before = performance.now();
    (function step(now) {
        frames.push(now - before); before = now;
        if (!left--) { done(frames.slice(1)); return; }
        if (left % 40 === 0) list.scrollTop = Math.random() * list.scrollHeight;
        else list.scrollTop += 180;
        requestAnimationFrame(step);
    })(before);"""


def resize(driver, width, height):
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                           {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})


def colours(driver, scheme, motion="reduce"):
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
        {"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": motion}]})


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def connect(path):
    s = socket.socket(socket.AF_UNIX)
    try:
        s.connect(path)
    except OSError:
        s.close()
        raise
    return s


class Server:
    """`caret web` on a database of its own."""

    def __init__(self, *options, lines=(), file=None):
        self.folder = tempfile.mkdtemp(prefix="caret-web-")
        self.file = file or os.path.join(self.folder, "forest.caret")  # or an address
        self.options = options
        self.port = free_port()
        self.others = []
        self.env = dict(os.environ, HOME=self.folder, XDG_STATE_HOME=self.folder, CARET_DB=self.file)
        if lines or not file:
            self.load(lines)
        self.start()

    def load(self, lines):
        """Nodes in ZWR, as `caret dump` writes them."""
        text = "caret test\nUTF-8 ZWR\n" + "".join(line + "\n" for line in lines)
        subprocess.run([CARET, "load", "--format", "zwr"], input=text.encode(), env=self.env, check=True,
                       stdout=subprocess.DEVNULL)

    def tool(self, *words):
        done = subprocess.run([CARET, *words], env=self.env, check=False, stdout=subprocess.PIPE)
        return done.stdout.decode().rstrip("\n")

    def program(self, text):
        """A Lua program beside the server, ended with it; io.read() in it waits for that."""
        path = os.path.join(self.folder, f"program{len(self.others)}.lua")
        with open(path, "w") as f:
            f.write("local db = assert(require 'caret'.open(os.getenv 'CARET_DB'))\n" + text)
        child = subprocess.Popen([CARET, "run", path], env=self.env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self.others.append(child)
        return child

    def serve(self, path):
        """A server of Redis' protocol on the same database, at that socket; ended with this one."""
        self.others.append(subprocess.Popen([CARET, "serve", self.file, "--port", "0", "--unix", path], env=self.env,
                                            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def start(self):
        self.process = subprocess.Popen([CARET, "web", self.file, "--port", str(self.port), *self.options],
                                        env=self.env, stdout=subprocess.PIPE)
        self.address = self.process.stdout.readline().decode().strip()
        self.page = f"http://127.0.0.1:{self.port}/"

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()

    def close(self):
        for child in self.others:
            child.kill()
            child.stdin.close()
            child.wait()
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def until(what, condition):
    """Wait for it, no longer than for something that hangs; its answer."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            answer = condition()
        except Exception as e:  # an element that was just replaced
            answer, what = None, f"{what}: {e}" if time.monotonic() > end else what
        if answer:
            return answer
        if time.monotonic() > end:
            raise AssertionError(f"not seen: {what}")
        time.sleep(0.02)


class Window:
    """A browser as a user sees it: what is written where, clicks by the words on buttons."""

    def __init__(self, driver):
        self.driver = driver

    def css(self, selector):
        return self.driver.find_elements("css selector", selector)

    def one(self, selector):
        return until(selector, lambda: self.css(selector))[0]

    def text(self, selector):
        return self.driver.execute_script(
            "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)", selector)

    def js(self, script, *values):
        return self.driver.execute_script(script, *values)

    def sees(self, text, selector="body"):
        return until(f"{text!r} in {selector}", lambda: any(text in t for t in self.text(selector)))

    def gone(self, selector):
        return until(f"no {selector}", lambda: self.js("""
            return ![...document.querySelectorAll(arguments[0])].some((e) => e.checkVisibility({visibilityProperty: true}));
            """, selector))

    def press(self, word):
        """The button that says so; another that has come in its place meanwhile will do."""
        def click():
            found = self.js("""
                return [...document.querySelectorAll("button")].find((b) =>
                    b.checkVisibility({visibilityProperty: true}) && b.innerText.trim() === arguments[0]);""", word)
            if found:
                found.click()
            return found
        until(f"button {word}", click)

    def keys(self, *keys):
        """To what has the focus; another element that has got it meanwhile will do."""
        def send():
            try:
                self.driver.switch_to.active_element.send_keys(*keys)
            except (ElementNotInteractableException, StaleElementReferenceException):
                return False  # nothing was sent
            return True
        until("keys", send)

    def go(self, place):
        """Another place of the same page."""
        self.js("location.hash = arguments[0]", place)

    def at(self, zwr, **more):
        pairs = {"at": zwr, **more}
        self.js("location.hash = '#tree?' + new URLSearchParams(arguments[0])", pairs)
        if "open" not in more:
            until(f"the value of {zwr}", lambda: self.text(".value header h2") == [zwr])

    def rows(self, column=-1):
        """What is in view of a column, as (subscript, text)."""
        return self.js("""
            const list = [...document.querySelectorAll(".list")].at(arguments[0]);
            if (!list) return [];
            const box = list.getBoundingClientRect();
            return [...list.querySelectorAll(".row")].filter((row) => {
                const r = row.getBoundingClientRect();
                return r.bottom > box.top + 2 && r.top < box.bottom - 2;
            }).sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)
                .map((row) => [row.querySelector(".key").textContent, row.querySelector(".text").textContent]);""", column)

    def picture(self, name):
        os.makedirs(PICTURES, exist_ok=True)
        taken = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "optimizeForSpeed": True})
        with open(os.path.join(PICTURES, name + ".png"), "wb") as f:
            f.write(base64.b64decode(taken["data"]))

    def troubles(self):
        """Violations of the policy, errors of scripts."""
        errors = [e["message"] for e in self.driver.get_log("browser")
                  if e["level"] == "SEVERE" and e["source"] != "network"]
        return self.js("return violations") + errors


class Case(unittest.TestCase):
    """A server and a browser for all tests of a class."""

    options = ("--write", "--console")
    lines = ()
    size = (1200, 800)

    @classmethod
    def setUpClass(cls):
        cls.server = Server(*cls.options, lines=cls.lines)
        cls.addClassCleanup(cls.server.close)
        cls.window = cls.look(shared(), cls.server.address)

    @classmethod
    def another(cls, address):
        """A second browser, with cookies of its own."""
        driver = browser()
        cls.addClassCleanup(driver.quit)
        return cls.look(driver, address)

    @classmethod
    def look(cls, driver, address):
        driver.get("about:blank")
        resize(driver, *cls.size)
        driver.get(address)
        window = Window(driver)
        window.sees("connected", "#state")
        return window

    def setUp(self):
        self.w = self.window

    def run(self, result=None):
        """With a picture of what was seen last, if it fails."""
        result = super().run(result)
        if result and any(getattr(test, "test_case", test) is self for test, _ in result.failures + result.errors):
            self.w.picture(f"last-{self.id()}")
        return result

    def tearDown(self):
        self.assertEqual(self.w.troubles(), [])

    def fine(self, state, view=False):
        """axe finds nothing in what is shown now; the long form looks at all states, the short one at views. In the
        dark only the colours are other ones."""
        if not AXE or not (view or LONG):
            return
        w = self.w
        if not w.js("return 'axe' in window"):
            with open(AXE) as f:
                w.js(f.read())
        for scheme, rules in (("light", {}), ("dark", {"runOnly": ["color-contrast", "link-in-text-block"]})):
            colours(w.driver, scheme)
            found = w.driver.execute_async_script("""axe.run({resultTypes: ["violations"], ...arguments[0]}).then(
                (r) => arguments[1](r.violations.map((v) =>
                    [v.id, v.nodes[0].html.slice(0, 90), v.nodes[0].failureSummary])))""", rules)
            self.assertEqual(found, [], f"{state}, {scheme}")
        colours(w.driver, "light")

    def address(self):
        """One more address with a token, for another browser."""
        return self.w.driver.execute_async_script("""fetch("/api/token", {method: "POST", body: "{}",
            headers: {"Content-Type": "application/json"}}).then((a) => a.json()).then((a) => arguments[0](a.url))""")


def main():
    """Run them, and say the counts in the last line."""
    result = unittest.main(module="__main__", argv=[sys.argv[0], *sys.argv[1:]], exit=False).result
    if hasattr(shared, "driver"):
        shared.driver.quit()
    tests = [getattr(test, "test_case", test) for test, _ in result.failures + result.errors]
    bad = len({test.id() for test in tests})
    run = result.testsRun - len({test.id() for test in tests if isinstance(test, unittest.TestCase)})
    skipped = len(result.skipped)
    for test, why in result.skipped:
        print(f"skipped: {test.id()}: {why}")
    print(f"{run - skipped} passed, {bad} failed, {skipped} skipped")
    sys.exit(bad > 0)
