// What takes the room: a treemap of globals and levels, the fill of pages, snapshots, backups, the check.

import {api} from "./api.js";
import {about, button, bytes, el, number, say, sentence, show, table, visible} from "./dom.js";
import {share, squarify} from "./chart.js";
import {go} from "./route.js";

const field = (text, input) => el("label", null, text, input);

/** A job of the server: its progress, its end, and a button that stops it. */
export class Job {
    constructor(on) {
        this.on = on;
        this.bar = el("progress", {max: 1, "aria-label": "Progress", hidden: true});
        this.said = el("span", {class: "soft", role: "status"});
        this.halt = button("Stop", () => this.cancel(), {hidden: true});
        this.node = el("span", {class: "tools job"}, this.bar, this.said, this.halt);
    }

    state(running, text) {
        this.bar.hidden = this.halt.hidden = !running;
        if (running) this.bar.removeAttribute("value");
        this.said.textContent = text;
    }

    /** One that still goes on is stopped: what it would tell is not asked for any more. */
    async start(what, text) {
        this.drop();
        const mine = this.starts = (this.starts ?? 0) + 1;
        this.state(true, text);
        try {
            const id = await api.start(what);
            if (mine === this.starts) this.follow(this.id = id);
            else api.cancel(id).catch(() => undefined);
        } catch (error) {
            if (mine === this.starts) this.state(false, sentence(error));
        }
    }

    drop() {
        this.source?.close();
        if (this.id) api.cancel(this.id).catch(() => undefined);
        this.id = null;
    }

    ended(text) {
        this.id = null;
        this.state(false, text);
    }

    // A job goes on while the connection is lost, but not without its server.
    follow(id) {
        this.source = api.follow(id, {
            progress: (now) => this.progress(now),
            done: (end) => { this.ended(""); this.on.done(end); },
            failed: (error) => this.ended(sentence(error)),
            refused: () => this.ended("The server was lost; start it again."),
            lost: () => setTimeout(() => this.id === id && this.follow(id), 2000),
        });
    }

    progress(now) {
        if (now.total) {
            this.bar.value = now.done / now.total;
            this.said.textContent = `${bytes(now.done)} of ${bytes(now.total)}`;
        }
        this.on.progress?.(now);
    }

    cancel() {
        this.starts++;
        this.drop();
        this.state(false, "Stopped.");
    }
}

export class Space {
    constructor() {
        this.map = el("div", {class: "map", role: "group", "aria-label": "What takes the room: arrow keys go from part to part",
            onkeydown: (event) => this.press(event)});
        this.where = el("span", {class: "mono grow"});
        this.mapping = new Job({done: (end) => this.drawMap(end.tree)});
        this.using = new Job({done: (end) => this.drawUsage(end)});
        this.globals = el("div", {class: "table", tabindex: 0, role: "region", "aria-label": "Table of globals"});
        this.levels = el("div", {class: "table"});
        this.snapshots = el("p", {class: "note"});
        this.checks = el("div", {class: "note"}, "Looks at every page while others go on working.");
        this.checking = new Job({done: (end) => this.checked(end)});
        this.backing = new Job({done: (end) => { this.backing.said.textContent = `${bytes(end.bytes)} in ${end.path}`; }});
        this.node = this.build();
        this.resize = new ResizeObserver(() => this.tree && this.drawMap(this.tree));
    }

    build() {
        const to = el("input", {class: "mono", placeholder: "/backup/today.caret", required: true, spellcheck: "false"});
        const compact = el("input", {type: "checkbox"});
        const backup = el("form", {class: "tools", onsubmit: (event) => {
            event.preventDefault();
            this.backing.start({kind: "backup", to: to.value, compact: compact.checked}, "copying");
        }}, field("To, on the server", to), field("compact", compact), el("button", {type: "submit"}, "Back up"), this.backing.node);
        const panel = (title, ...all) => el("section", {class: "panel", "aria-label": title}, el("h2", null, title), ...all);
        return el("div", {class: "scroll"},
            el("div", {class: "tools"}, el("h2", null, "Room by global and level"), this.where, this.up = button("All globals", () => go("space", {})), this.mapping.node),
            this.map,
            el("div", {class: "panels"}, panel("Globals", this.using.node, this.globals), panel("Pages by level of the tree", this.levels),
                panel("Snapshots", this.snapshots),
                panel("Check", el("div", {class: "tools"}, button("Check online", () => this.checking.start({kind: "check"}, "looking at every page")), this.checking.node), this.checks),
                panel("Backup", this.backup = backup)));
    }

    mount(main) {
        show(main, this.node);
        this.resize.observe(this.map);
        if (!api.info?.write) show(this.backup, el("p", {class: "soft"}, "Backups are made when the server runs with --write; caret backup makes one at any time."));
        if (!this.used) this.using.start({kind: "usage"}, "counting");
        this.source = api.live({every: 2}, {live: (now) => {
            const {snapshots, held_pages: held, pages, free_pages: free} = now.stat;
            this.snapshots.textContent = `${number(snapshots)} ${snapshots === 1 ? "process reads a snapshot" : "processes read snapshots"}; ${number(held)} dead pages are kept for them. ` +
                `${number(pages)} pages in the file, ${number(free)} of them free.`;
        }});
    }

    unmount() {
        this.resize.disconnect();
        this.source?.close();
    }

    route(params) {
        const at = params.get("at") ?? "";
        if (this.tree && this.at === at) return;
        this.at = at;
        this.where.textContent = at;
        this.up.hidden = !at;
        this.mapping.start({kind: "space", node: at || undefined, depth: 2}, "measuring");
    }

    // Boxes of the first level, and in each those of the second, below its name.
    drawMap(tree) {
        this.tree = tree;
        this.letter = 0.56 * (parseFloat(getComputedStyle(this.map).getPropertyValue("--tiny")) || 12);
        const {clientWidth: w, clientHeight: h} = this.map, list = (tree.children ?? []).filter((c) => c.bytes > 0).sort((a, b) => b.bytes - a.bytes);
        if (!list.length && tree.bytes && this.at) list.push({name: this.at, bytes: tree.bytes}); // a node with a value alone
        if (!list.length) { show(this.map, el("p", {class: "empty"}, this.at ? `Nothing at ${this.at} takes room.` : "There is nothing yet that takes room.")); return; }
        const out = [];
        squarify(list.map((c) => c.bytes), {x: 0, y: 0, w, h}).forEach((box, i) => {
            out.push(this.box(list[i], box, tree.bytes));
            const below = (list[i].children ?? []).filter((c) => c.bytes > 0).sort((a, b) => b.bytes - a.bytes);
            if (!below.length || box.w < 60 || box.h < 50) return;
            squarify(below.map((c) => c.bytes), {x: box.x + 3, y: box.y + 22, w: box.w - 6, h: box.h - 25})
                .forEach((inner, j) => { if (inner.w > 4 && inner.h > 4) out.push(this.box(below[j], inner, tree.bytes, true)); });
        });
        show(this.map, out);
        out.forEach((node, i) => { node.tabIndex = i ? -1 : 0; });
    }

    // The map is one stop of Tab; arrows go from part to part.
    press(event) {
        const all = [...this.map.querySelectorAll("button")], i = all.indexOf(event.target);
        const to = {ArrowRight: i + 1, ArrowDown: i + 1, ArrowLeft: i - 1, ArrowUp: i - 1, Home: 0, End: all.length - 1}[event.key];
        if (i < 0 || !all[to]) return;
        event.preventDefault();
        all[i].tabIndex = -1;
        all[to].tabIndex = 0;
        all[to].focus();
    }

    box(part, {x, y, w, h}, all, deep) {
        const more = part.sampled ? `~${about(part.nodes)} other nodes` : `${number(part.count)} more`;
        const name = part.rest ? more : part.sub ?? part.name, share = all ? (100 * part.bytes) / all : 0;
        const size = `${part.about ? "~" : ""}${bytes(part.bytes)}`, text = `${name} ${size}, ${share.toFixed(1)} %${part.about ? ", an estimate" : ""}`;
        const fits = (n) => w > n * this.letter + 12 && h > this.letter * 2;
        const label = fits(Math.min(name.length, 8)) ? [el("span", null, visible(name)), fits(name.length + size.length + 2) ? el("span", {class: "size"}, size) : ""] : [];
        const node = el("button", {type: "button", onclick: () => part.name && !part.rest && go("space", {at: part.name}),
            title: text, "aria-label": text, class: `${deep ? "deep" : ""}${label.length ? "" : " bare"}`}, label);
        Object.assign(node.style, {left: `${x}px`, top: `${y}px`, width: `${w}px`, height: `${h}px`});
        return node;
    }

    drawUsage({globals, levels}) {
        this.used = true;
        const size = (g) => g.bytes + g.long_bytes, most = Math.max(1, ...globals.map(size));
        show(this.globals, table("Globals", [["global", "mono"], ["nodes", "num"], ["pages", "num"], ["bytes", "num"], ["long values", "num"], ["share"]],
            globals.sort((a, b) => size(b) - size(a)).map((g) => [el("a", {href: `#tree?at=${encodeURIComponent(g.name)}&open=1`}, g.name), number(g.nodes), number(g.leaves + g.long_pages), bytes(size(g)),
                number(g.long_values), share(size(g) / most, "")])));
        show(this.levels, table("Pages", [["level", "num"], ["pages", "num"], ["entries", "num"], ["full"]],
            levels.map((l, i) => [String(i), number(l.pages), number(l.entries), share(l.size ? l.used / l.size : 0, `${Math.round(l.size ? (100 * l.used) / l.size : 0)} %`)])));
    }

    checked(end) {
        say(end.ok ? "No findings" : "Findings");
        show(this.checks, el("p", {class: end.ok ? "good" : "bad"}, end.ok ? "No findings: every page is as it should be." : "Findings: stop writing, keep a copy of the file, see caret help salvage."),
            end.text ? el("pre", null, end.text) : null, (end.findings ?? []).map((text) => el("pre", null, text)));
    }
}
