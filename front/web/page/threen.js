// A run of 3n+1: a bar for each worker while they race, the tree of sequences as it grows, and the report.

import {api} from "./api.js";
import {el, number, seconds, show, svg} from "./dom.js";
import {Job} from "./space.js";

const WIDE = 900, HIGH = 420, EVEN = 0.13, ODD = -0.24;
const LAST = 600; // of the numbers whose sequences are drawn

export class Race {
    constructor() {
        this.n = el("input", {type: "number", min: 1, max: 10000000, value: 1000000});
        this.w = el("input", {type: "number", min: 1, max: 32, value: 2});
        this.job = new Job({progress: (now) => this.progress(now), done: (end) => this.done(end)});
        this.lanes = el("div", {class: "race", role: "group", "aria-label": "Workers"});
        this.path = svg("path", {"stroke-width": 1});
        this.tree = svg("svg", {class: "grown", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": "Sequences that meet each other, as a tree that grows from 1"}, this.path);
        this.tree.style.display = "none"; // until it grows
        this.report = el("div", {class: "report"}, el("p", {class: "soft"},
            "Many processes compute 3n+1 sequences through one database of their own: odd numbers go to 3n+1, even ones to n/2, until 1. Nothing of the database that is shown here is changed."));
        const form = el("form", {class: "tools", onsubmit: (event) => { event.preventDefault(); this.start(); }},
            el("label", null, "Numbers", this.n), el("label", null, "Processes", this.w), el("button", {type: "submit", class: "main"}, "Start"), this.job.node);
        this.node = el("div", {class: "scroll"}, form, this.lanes, this.tree, this.report);
    }

    mount(main) { show(main, this.node); }

    unmount() {}

    start() {
        show(this.lanes);
        this.tree.style.display = "";
        show(this.report);
        this.path.setAttribute("d", "");
        this.bars = new Map();
        this.spots = new Map([[1, {x: WIDE / 2, y: HIGH - 8, angle: -Math.PI / 2, depth: 0}]]);
        this.drawn = 1;
        this.upto = Math.min(LAST, Number(this.n.value));
        this.job.start({kind: "3n1", n: Number(this.n.value), w: Number(this.w.value)}, "starting");
    }

    progress(now) {
        const steps = now.steps ?? [], blocks = now.blocks || 1;
        this.job.said.textContent = `${number(now.finished ?? 0)} of ${number(blocks)} blocks`;
        const part = Math.min(1, (now.finished ?? 0) / blocks);
        this.job.bar.value = part;
        const most = Math.max(1, blocks / Math.max(1, steps.length), ...steps.map((s) => s.done));
        for (const step of steps) this.lane(step, most);
        this.grow(part);
    }

    lane(step, most) {
        const id = step.worker ?? step.pid;
        if (!this.bars.has(id)) {
            const bar = el("i"), count = el("span", {class: "num"});
            this.lanes.append(el("span", {class: "soft"}, `worker ${id}`), el("div", {class: "lane"}, bar), count);
            this.bars.set(id, {bar, count});
        }
        const {bar, count} = this.bars.get(id);
        bar.style.width = `${(100 * step.done) / most}%`;
        count.textContent = `${number(step.done)} blocks`;
    }

    // As many sequences as the part of the run that is done. What is shown was worked out here: an event that was not
    // heard, because the page listened later or the connection was lost, makes no hole.
    grow(part) {
        const lines = [], last = Math.floor(part * this.upto);
        while (this.drawn < last) this.twig(++this.drawn, lines);
        if (!lines.length) return;
        this.path.setAttribute("d", (this.path.getAttribute("d") ?? "") + lines.join(""));
        this.frame();
    }

    // The sequence of n up to a number that is there: each number on the one after it, turned a little by its kind.
    twig(n, lines) {
        const fresh = [];
        for (; !this.spots.has(n); n = n % 2 ? 3 * n + 1 : n / 2) fresh.push(n);
        for (const next of fresh.reverse()) {
            const at = this.spots.get(n), angle = at.angle + (2 * n === next ? EVEN : ODD), long = 15 * 0.985 ** at.depth;
            const spot = {x: at.x + Math.cos(angle) * long, y: at.y + Math.sin(angle) * long, angle, depth: at.depth + 1};
            this.spots.set(next, spot);
            lines.push(`M${at.x.toFixed(1)} ${at.y.toFixed(1)}L${spot.x.toFixed(1)} ${spot.y.toFixed(1)}`);
            n = next;
        }
    }

    // The whole tree in the picture.
    frame() {
        const all = [...this.spots.values()], x = all.map((s) => s.x), y = all.map((s) => s.y);
        const low = [Math.min(...x) - 10, Math.min(...y) - 10], size = [Math.max(...x) - low[0] + 10, Math.max(...y) - low[1] + 10];
        this.tree.setAttribute("viewBox", `${low[0]} ${low[1]} ${size[0]} ${size[1]}`);
        this.path.setAttribute("stroke-width", Math.max(size[0] / WIDE, size[1] / HIGH));
    }

    done(end) {
        this.grow(1);
        const facts = [["time", seconds(end.seconds)], ["longest", `${number(end.longest)} steps`], ["highest", number(end.highest)], ["reads", number(end.reads)], ["updates", number(end.updates)]];
        show(this.report, el("h2", null, `3n+1 to ${number(end.n)}, ${end.workers} processes`),
            el("table", {class: "run"}, el("tbody", null, facts.map(([name, what]) => el("tr", null, el("th", {scope: "row"}, name), el("td", {class: "mono"}, String(what ?? "")))))),
            el("pre", null, end.report ?? ""));
    }
}
