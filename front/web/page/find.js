// Find in keys and values: what is found comes while the search goes on, and it can be stopped.

import {api} from "./api.js";
import {button, choice, el, number, say, sentence, show, visible} from "./dom.js";
import {go} from "./route.js";

const MOST = 500;
const WHERE = {both: "keys,values", keys: "keys", values: "values"};

export class Find {
    constructor(tree) {
        this.tree = tree;
        this.where = "both";
        this.input = el("input", {class: "wide", type: "search", "aria-label": "Find", placeholder: "text in keys or values", spellcheck: "false"});
        this.bar = el("progress", {max: 1, value: 0, hidden: true, "aria-label": "Searched"});
        this.said = el("span", {class: "soft", role: "status"});
        this.button = el("button", {type: "submit", class: "main"}, "Find");
        this.hits = el("ol", {"aria-label": "Found"});
        const form = el("form", {class: "tools", role: "search", onsubmit: (event) => { event.preventDefault(); this.running ? this.stop() : this.start(); }},
            this.input, choice("Where", {both: "All", keys: "Keys", values: "Values"}, "both", (where) => { this.where = where; }),
            this.button, button("Close", () => this.toggle(false), {class: "quiet"}), this.bar, this.said);
        this.node = el("section", {class: "find", hidden: true, "aria-label": "Find"}, form, this.hits);
        this.node.addEventListener("keydown", (event) => event.key === "Escape" && this.toggle(false));
    }

    toggle(on = this.node.hidden) {
        this.node.hidden = !on;
        if (on) this.input.select();
        else this.stop();
    }

    start() {
        if (!this.input.value) return;
        this.count = 0;
        show(this.hits);
        this.state(true, "searching");
        const under = this.tree.open ? this.tree.chain.at(-1) : undefined;
        this.running = api.find({text: this.input.value, in: WHERE[this.where], node: under?.key ?? "", limit: MOST}, {
            hit: (hit) => this.found(hit),
            progress: (now) => this.progress(now),
            done: (end) => this.finish(end.complete ? `all ${number(end.done)} nodes looked at` : "the first ones; narrow it to see others"),
            failed: (error) => this.finish(sentence(error)),
            lost: () => this.finish("the server was lost; find again"),
        });
    }

    progress(now) {
        if (now.part === null || now.part === undefined) this.bar.removeAttribute("value");
        else this.bar.value = now.part;
        this.said.textContent = `${number(now.done)} nodes, ${number(this.count)} found`;
    }

    found(hit) {
        this.count++;
        const value = el("span", {class: "soft"}, visible(hit.value?.text ?? ""));
        this.hits.append(el("li", null, button("", () => go("tree", {at: hit.zwr}))));
        this.hits.lastChild.firstChild.append(el("span", null, visible(hit.zwr)), value);
    }

    state(on, text) {
        this.bar.hidden = !on;
        this.button.textContent = on ? "Stop" : "Find";
        this.said.textContent = text;
    }

    finish(text) {
        this.running = null;
        this.state(false, `${number(this.count)} found: ${text}`);
        say(`${this.count} found`);
    }

    stop() {
        if (!this.running) return;
        this.running.close();
        this.finish("stopped");
    }
}
