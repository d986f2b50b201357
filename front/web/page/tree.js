// The tree, a column for each level: variables, then the children of what is chosen in the column before.
//
// Each level has a scroller of its own, so a million children never stand between a node and its sibling, and
// the place in a level is a fraction of that level. `chain` is the way to the chosen node, `open` whether the
// column of its children is there too: columns = variables, children of chain[0], ...; column i has chain[i]
// marked. A small window shows one column and goes back by the left arrow or the button.

import {api, subscript, variable} from "./api.js";
import {about, bus, button, el, number, say, sentence, show, toast, told, visible} from "./dom.js";
import {Find} from "./find.js";
import {List, PAGE} from "./list.js";
import {go} from "./route.js";
import {Value, VIEWS} from "./value.js";
import * as edits from "./edits.js";

const hasChildren = (row) => row.data >= 10;

const isNumber = (sub) => /^[-.\d]/.test(sub);

// Could one subscript come after another that it is to end at?  Numbers come before text.
function turned(low, high) {
    if (isNumber(low)) return isNumber(high) && Number(low) > Number(high);
    return isNumber(high) || low > high;
}

// A range as it is typed, low:high.  What is quoted is none, nor what would end before it begins, as user:7 would.
function range(text, typed) {
    const [, low, high] = /^(.*[^:]):([^:].*)$/.exec(text) ?? [];
    if (low === undefined || /^"([^"]|"")*"$/.test(text)) return null;
    return turned(typed(low), typed(high)) ? null : {low, high};
}

function drawRow(row, open) {
    const value = row.data % 2
        ? el("span", {class: "text"}, visible(row.preview))
        : el("span", {class: "text none"}, hasChildren(row) ? "" : "gone");
    return [el("span", {class: "key"}, visible(row.sub)), value,
        row.bin ? el("span", {class: "tag"}, "bytes") : null,
        el("span", {class: "more", "aria-label": hasChildren(row) ? "has children" : null}, hasChildren(row) ? "›" : "")]
        .filter(Boolean);
}

class Column {
    constructor(tree, level, parent) {
        Object.assign(this, {tree, level, parent, limits: {}});
        this.title = parent ? parent.zwr : "variables";
        this.list = new List({
            label: parent ? `Children of ${parent.zwr}` : "Variables",
            source: (query) => api.children(parent?.key ?? "", {...this.limits, ...query}),
            draw: (row) => drawRow(row),
            onpick: (row) => tree.picked(this, row, false),
            onopen: (row, by) => hasChildren(row) && tree.picked(this, row, true, by),
            onleave: () => tree.leave(this),
            onfail: (error) => this.note(sentence(error), true),
            onload: (answer) => this.loaded(answer),
        });
        this.build();
    }

    // The end of a long name is what tells it from others.
    heading() {
        const {zwr, sub} = this.parent ?? {}, tail = zwr && zwr !== sub ? `${zwr.slice(0, -1).endsWith(`,${sub}`) ? "," : "("}${sub})` : "";
        return el("h2", {title: this.title}, el("span", null, visible(this.title.slice(0, this.title.length - tail.length))), tail && el("span", {class: "tail"}, visible(tail)));
    }

    build() {
        this.count = el("span", {class: "count"});
        this.said = el("div", {class: "note", hidden: true});
        this.jump = el("input", {
            placeholder: this.parent ? "jump" : "^name", spellcheck: "false", autocomplete: "off",
            "aria-label": `Jump in ${this.title}: a subscript, prefix*, from:to, 50%, end`,
            title: "a subscript · prefix* · from:to · 50% · end",
            onkeydown: (event) => event.key === "Enter" && this.go(event.target.value.trim()),
        });
        const back = this.parent && button("‹", () => this.tree.leave(this), {class: "quiet back", "aria-label": "Back to the level above"});
        this.node = el("section", {class: "column", "aria-label": this.title},
            el("header", null, back, this.heading(), this.count, this.jump),
            this.said, this.list.node);
    }

    loaded(answer) {
        const {rows, first, last} = this.list;
        if (this.limited()) this.count.textContent = `${number(rows.length)}${first && last ? "" : "+"}`;
        else this.tally(answer.total ?? answer.rows.length, answer.exact !== false);
        this.widen(answer.rows);
        if (rows.length) this.note("");
        else if (this.limited()) this.note("None of those is here.");
        else this.note(this.parent ? "No children here." : "No variables yet: set one with caret set '^name' value, or start caret web --write.");
    }

    // How many: an estimate becomes exact when the server has counted them, which it does once somebody asks.
    tally(n, exact) {
        this.count.textContent = exact ? number(n) : `~${about(n)}`;
        this.count.title = exact ? number(n) : `about ${number(n)}, an estimate`;
        clearTimeout(this.asking);
        if (!exact) this.asking = setTimeout(() => this.ask(), 1000);
    }

    // Values stand below each other: keys have room for the longest that was seen.
    widen(rows) {
        const most = Math.min(40, Math.max(this.wide ?? 8, ...rows.map((row) => row.sub.length)));
        if (most === this.wide) return;
        this.wide = most;
        this.node.style.setProperty("--key", `${most + 1}ch`);
    }

    limited() { return Object.keys(this.limits).length > 0; }

    async ask() {
        const now = this.limited() || document.hidden ? null : await api.total(this.parent?.key ?? "").catch(() => null);
        if (!now || !this.node.isConnected) return;
        this.list.resize(now.total);
        this.tally(now.total, now.exact);
    }

    note(text, bad) {
        this.said.hidden = !text;
        this.said.textContent = text;
        this.said.classList.toggle("bad", Boolean(bad));
    }

    // 50%, end, prefix*, from:to, or a subscript.
    async go(text) {
        const percent = /^(\d+(?:\.\d+)?)\s*%$/.exec(text), between = range(text, this.parent ? subscript : variable);
        this.limits = {};
        if (text === "" || text === "start") await this.list.load();
        else if (text === "end") await this.list.end();
        else if (percent) await this.list.load({at: Math.min(1, percent[1] / 100)});
        else if (/.\*$/.test(text)) await this.limit({prefix: text.slice(0, -1)});
        else if (between) await this.limit(between);
        else if (await this.list.load({sub: text}) && !this.list.rows.length) await this.list.end(); // all come before it
        say(`${this.title}: ${this.list.rows.length ? `at ${this.list.rows[0].sub}` : "nothing there"}`);
    }

    limit(limits) {
        this.limits = limits;
        return this.list.load();
    }

    async mark(node) {
        this.list.mark(node.key);
        if (!this.list.rows.length) await this.list.load();
        if (!this.list.find(node.key)) await this.list.load({since: node.key});
    }

    close() {
        clearTimeout(this.asking);
        this.list.close();
        this.node.remove();
    }
}

export class Tree {
    constructor() {
        this.columns = [];
        this.chain = [];
        this.value = new Value(this);
        this.find = new Find(this);
        this.input = el("input", {
            id: "path", spellcheck: "false", autocomplete: "off", "aria-label": "Path of the node, in ZWR",
            placeholder: "^name(1,\"subscript\")", onkeydown: (event) => event.key === "Enter" && this.visit(event.target.value.trim()),
        });
        const bar = el("div", {class: "path"}, this.input,
            button("Copy", () => this.copy(), {"aria-label": "Copy the path", "aria-keyshortcuts": "y", title: "copy the path: y"}),
            button("Find", () => this.find.toggle(), {"aria-keyshortcuts": "/", title: "find in keys and values: /"}));
        this.strip = el("div", {class: "columns"});
        this.node = el("div", {class: "scroll work"}, this.strip, this.value.node);
        this.whole = [bar, this.find.node, this.node, edits.panel(this)];
        new ResizeObserver(() => this.turn()).observe(this.strip);
        this.keys = (event) => this.press(event);
        this.changed = () => this.refresh();
    }

    mount(main) {
        show(main, ...this.whole);
        document.addEventListener("keydown", this.keys);
        bus.addEventListener("changed", this.changed);
    }

    unmount() {
        document.removeEventListener("keydown", this.keys);
        bus.removeEventListener("changed", this.changed);
        this.find.stop();
    }

    /** The address has changed. */
    async route(params) {
        const at = params.get("at"), mine = this.routes = (this.routes ?? 0) + 1;
        this.value.view = VIEWS[params.get("as")] ? params.get("as") : "text";
        if (!this.columns.length) this.ahead(at, params.get("open") === "1");
        if (!at) return this.apply([], false);
        try {
            const found = await api.path(at);
            if (mine === this.routes) await this.apply([...found.parents, found], params.get("open") === "1");
        } catch (error) {
            if (error.status === 401) return undefined; // the frame asks who it is
            toast(sentence(error));
            if (!this.columns.length) await this.apply([], false);
        }
        return undefined;
    }

    // What the first view will ask for, while the path is looked up and the page is built.
    ahead(at, open) {
        api.ahead("", PAGE);
        if (at && open) api.ahead(at, PAGE);
    }

    visit(text) { if (text) go("tree", {at: text, open: 1, as: this.value.chosen()}); }

    /** The value is shown another way: that is a part of the place. */
    shows(node) { go("tree", {at: node.zwr, open: this.open ? 1 : "", as: this.value.chosen()}, {replace: true, quiet: true}); }

    /** A row was chosen in a column: by arrow keys it is only shown, by click or Enter its children open. */
    picked(column, row, open, by) {
        const chain = [...this.chain.slice(0, column.level), row];
        if (open && by === "click" && this.open && this.chain.length === chain.length && this.chain.at(-1)?.key === row.key) return;
        go("tree", {at: row.zwr, open: open ? 1 : "", as: this.value.chosen()}, {replace: !open, quiet: true});
        this.apply(chain, open, open && by === "key");
    }

    leave(column) {
        if (column.level === 0) return;
        const chain = this.chain.slice(0, column.level);
        go("tree", {at: chain.at(-1).zwr, as: this.value.chosen()}, {quiet: true});
        this.apply(chain, false, true);
    }

    async apply(chain, open, focus) {
        this.chain = chain;
        this.open = open;
        const want = [null, ...(open ? chain : chain.slice(0, -1))];
        let same = 0;
        while (same < want.length && this.columns[same] && this.columns[same].parent?.key === want[same]?.key) same++;
        for (const column of this.columns.splice(same)) column.close();
        const fresh = want.slice(same).map((parent, i) => new Column(this, same + i, parent));
        this.columns.push(...fresh);
        this.strip.append(...fresh.map((column) => column.node));
        this.show(chain.at(-1));
        await Promise.all(this.columns.map((column, i) => this.settle(column, chain[i], fresh.includes(column))));
        const last = this.columns.at(-1);
        this.turn();
        if (focus) this.focus(last);
    }

    // The last columns are those in view.
    turn() { this.strip.scrollLeft = this.strip.scrollWidth; }

    settle(column, node, fresh) {
        if (node && !fresh && column.list.find(node.key)) return column.list.mark(node.key);
        if (node) return column.mark(node);
        column.list.mark(undefined);
        return fresh ? column.list.load() : undefined;
    }

    focus(column) {
        column.list.node.focus({preventScroll: true});
        if (column.list.index() < 0 && column.list.rows.length) column.list.pick(0);
    }

    show(node) {
        this.input.value = node?.zwr ?? "";
        document.title = node ? `${node.zwr} · caret` : "caret";
        this.value.show(node);
    }

    /** The database has changed: look again at what is shown. */
    async refresh() {
        this.stale = true;
        if (this.refreshing) return; // the one that goes on looks once more
        this.refreshing = true;
        try {
            while (this.stale) {
                this.stale = false;
                for (const column of this.columns) await column.list.reload();
                await this.value.refresh();
            }
        } finally {
            this.refreshing = false;
        }
    }

    async copy() {
        const text = this.input.value;
        if (!text) return;
        await told(async () => {
            if (navigator.clipboard) await navigator.clipboard.writeText(text);
            else { this.input.select(); document.execCommand("copy"); }
            say("Path copied");
        });
    }

    press(event) {
        if (event.target.closest?.("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
        if (event.key === "y") this.copy();
        else if (event.key === "/") { event.preventDefault(); this.find.toggle(true); }
        else if (event.key === "g") { event.preventDefault(); this.input.select(); }
    }
}
