"""How long the page of `caret web` takes: the first view of a large level, jumps in it while its ranks are not known yet
and after, frames while it is scrolled. Told, and never asserted.

    CARET=build/caret-tool CARET_SOURCE=. /usr/bin/python3 test/web/speed.py [NODES [ROUNDS [FILE]]]

FILE is a database that has ^big(1) to ^big(NODES) already.
"""

import os
import statistics
import sys
import time

os.environ.setdefault("CARET_PATIENCE", "600")
from support import SCROLL, Server, Window, browser, resize, until  # noqa: E402

# From Enter in the field of a column until other rows are there.
JUMP = """
    const [text, done] = arguments, field = [...document.querySelectorAll(".column header input")].at(-1);
    const list = [...document.querySelectorAll(".list")].at(-1), begun = performance.now();
    new MutationObserver((_, o) => { o.disconnect(); done(performance.now() - begun); })
        .observe(list, {subtree: true, childList: true});
    field.value = text;
    field.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true}));"""

# When a row of the level was there first.
FIRST = """
    new MutationObserver((_, o) => {
        if (!window.firstRow && document.querySelectorAll(".row").length > 15) window.firstRow = performance.now();
    }).observe(document, {subtree: true, childList: true});"""


def told(what, times):
    times = sorted(times)
    print(f"{what}: median {statistics.median(times):.0f} ms, {times[0]:.0f} to {times[-1]:.0f} ({len(times)} times)",
          flush=True)


def first_view(window, server):
    """Milliseconds from the beginning of the load: until rows are shown, until the last answer."""
    window.driver.get("about:blank")
    window.driver.get(server.address + "#tree?at=^big&open=1")
    until("rows", lambda: window.js("return window.firstRow"))
    time.sleep(0.3)
    last = window.js("""return Math.max(...performance.getEntriesByType("resource").filter((e) => e.startTime < firstRow)
        .map((e) => e.responseEnd))""")
    return window.js("return window.firstRow"), last


def jumps(window, n, places):
    """The place comes by name and not by number, so that each is another."""
    return [window.driver.execute_async_script(JUMP, places(i)) for i in range(n)]


def main():
    nodes = int(sys.argv[1]) if len(sys.argv) > 1 else 1000000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 9
    file = sys.argv[3] if len(sys.argv) > 3 else None
    server = Server("--write", lines=(f"^big({i})=\"value {i}\"" for i in range(1, nodes + 1)), file=file)
    driver = browser()
    try:
        driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": FIRST})
        driver.set_script_timeout(600)
        window = Window(driver)
        resize(driver, 1200, 800)
        measure(window, server, nodes, rounds)
    finally:
        driver.quit()
        server.close()


def measure(window, server, nodes, rounds):
    shown, last, parts, names = [], [], [], []
    for i in range(rounds):
        view = first_view(window, server)
        shown.append(view[0])
        last.append(view[1])
        parts += jumps(window, 5, lambda j: f"{(j * 37 + i * 11) % 97 + 1}%")
        names += jumps(window, 5, lambda j: str((j * 7919 + i * 104729) * 41 % nodes + 1))
        server.kill()
        server.start()
    told(f"first view of {nodes:,} nodes: rows shown", shown)
    told("first view: last answer", last)
    told("jumps to a part while the ranks are walked", parts)
    told("jumps to a subscript meanwhile", names)
    first_view(window, server)
    until("the ranks", lambda: window.text(".column .count")[-1] == f"{nodes:,}")
    told("jumps to a part after that", jumps(window, 20, lambda j: f"{(j * 37) % 97 + 1}%"))
    long = [round(f, 1) for f in window.js("return slow.splice(0)")]
    frames = window.driver.execute_async_script(SCROLL, 2000)
    told("frames of 2,000", frames)
    print("above 50 ms:", [round(f, 1) for f in frames if f > 50])
    print("long animation frames while it is scrolled:", [round(f, 1) for f in window.js("return slow")])
    print("before that, of the load and the jumps:", long)


if __name__ == "__main__":
    main()
