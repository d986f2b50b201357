// Which session holds what, and which waits for it: a graph, sessions left, locks right, rings in red; and the
// same as a table, which a screen reader reads.

import {api} from "./api.js";
import {button, el, empty, number, renew, seconds, svg, table, told} from "./dom.js";
import {Watcher} from "./live.js";

const HIGH = 44, BOX = {w: 220, h: 30}, GAP = 200, MOST = 60;
const id = (lock) => `${lock.pid}/${lock.session}`;

const clip = (text, n) => (text.length > n ? `${text.slice(0, n - 1)}…` : text);

function box(x, y, kind, text, soft, w = BOX.w) {
    return svg("g", {transform: `translate(${x} ${y})`}, svg("title", null, text), svg("rect", {class: `box ${kind}`, width: w, height: BOX.h, rx: 5}),
        svg("text", {x: 10, y: 19}, clip(text, Math.floor(w / 8) - 4)), soft ? svg("text", {x: BOX.w - 10, y: 19, class: "soft", "text-anchor": "end"}, soft) : "");
}

// From a box to a box, with an arrow at its end.
function edge(a, b, kind) {
    const x1 = 16 + BOX.w, x2 = 16 + BOX.w + GAP, bend = GAP / 2;
    const [from, to, y1, y2] = kind.includes("waits") ? [x1, x2, a, b] : [x2, x1, b, a], sign = from < to ? 1 : -1;
    return svg("g", null, svg("path", {class: kind, d: `M${from} ${y1}C${from + sign * bend} ${y1} ${to - sign * bend} ${y2} ${to} ${y2}`}),
        svg("path", {class: kind, d: `M${to - sign * 7} ${y2 - 4}L${to} ${y2}L${to - sign * 7} ${y2 + 4}`}));
}

export class Locks extends Watcher {
    constructor() {
        super();
        this.query = {every: 1, locks: 1};
        this.said = el("span", {class: "grow", role: "status"}, "Asking.");
        this.graph = el("div", {class: "graph", tabindex: 0, role: "region", "aria-label": "Graph of locks"});
        this.list = el("div", {class: "table", tabindex: 0, role: "region", "aria-label": "Locks"});
        this.clear = button("Release locks of dead processes", () => told(() => api.clear(0)), {hidden: true});
        this.legend = el("span", {class: "soft"}, el("span", {class: "legend"}), "is held by", el("span", {class: "legend dashed"}), "waits for");
        this.node = el("div", {class: "scroll"}, el("div", {class: "tools"}, this.said, this.legend, this.clear), this.graph, this.list);
    }

    take(now) {
        const locks = now.locks ?? [], rings = now.rings ?? [];
        const caught = new Set(rings.flat().map((i) => id(now.sessions[i])));
        this.clear.hidden = !(api.info?.write && locks.some((lock) => !lock.alive));
        const all = now.locks_in_all ?? locks.length, part = all > locks.length ? `; ${locks.length} of ${number(all)} are shown` : "";
        const waits = locks.filter((l) => l.waits).length;
        const text = !locks.length ? "" : `${locks.length - waits} held, ${waits} ${waits === 1 ? "waits" : "wait"}` +
            (rings.length ? `; ${rings.length} ${rings.length === 1 ? "ring" : "rings"}: each waits for the next` : "") +
            (part || (locks.length > MOST ? `; the graph has the first ${MOST}` : ""));
        if (this.said.textContent !== text) this.said.textContent = text;
        this.said.classList.toggle("bad", rings.length > 0);
        this.legend.hidden = !locks.length;
        if (!locks.length) {
            renew(this.graph, empty("Nobody holds a lock", "A lock that a program takes (n:grab() in Lua, LOCK in M) is shown here while it is held, with those that wait for it."));
            renew(this.list);
            return;
        }
        renew(this.graph, this.draw(locks.slice(0, MOST), caught));
        renew(this.list, table("Locks", [["session"], ["program"], ["does"], ["lock", "mono"], ["for", "num"], ["waiting", "num"]],
            locks.map((l) => [id(l), l.command + (l.alive ? "" : " (dead)"), l.waits ? "waits" : l.count > 1 ? `holds ${l.count}×` : "holds", l.name, seconds(l.age), String(l.waiting || "")])));
    }

    draw(locks, caught) {
        const sessions = [...new Map(locks.map((l) => [id(l), l])).values()], names = [...new Set(locks.map((l) => l.name))];
        const y = (i) => 12 + i * HIGH, mid = (i) => y(i) + BOX.h / 2;
        const wide = Math.max(BOX.w, Math.min(560, 8 * Math.max(...names.map((name) => name.length)) + 40)); // of locks
        const right = 16 + BOX.w + GAP, high = y(Math.max(sessions.length, names.length)) + 8;
        const edges = locks.map((l) => edge(mid(sessions.findIndex((s) => id(s) === id(l))), mid(names.indexOf(l.name)),
            `${l.waits ? "waits" : "holds"}${caught.has(id(l)) ? " ring" : ""}`));
        return svg("svg", {width: right + wide + 16, height: high, role: "img", "aria-label": "Sessions at the left, locks at the right; the table has the same"},
            edges, sessions.map((s, i) => box(16, y(i), caught.has(id(s)) ? "ring" : "", `${s.command} ${s.pid}`, `session ${s.session}`)),
            names.map((name, i) => box(right, y(i), "lock", name, "", wide)));
    }
}
