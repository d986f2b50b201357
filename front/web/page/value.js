// The value of the chosen node: as text, number, JSON or hex, long ones in pieces; and the forms that change it. A form
// that something was typed into stays with its node when another one is chosen: `drafts`.

import {api} from "./api.js";
import {button, bytes, choice, el, empty, number, sentence, show, toast, told, visible} from "./dom.js";
import {jsonTree, parse} from "./json.js";
import * as edits from "./edits.js";
import {forms} from "./forms.js";
import {go} from "./route.js";

const PIECE = {text: 65536, hex: 8192, json: 1 << 20, number: 64};
export const VIEWS = {text: "Text", number: "Number", json: "JSON", hex: "Hex"};

export const isText = (data) => {
    try {
        return !/[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/.test(new TextDecoder("utf-8", {fatal: true}).decode(data));
    } catch {
        return false;
    }
};

export const toHex = (data) => Array.from(data, (b) => b.toString(16).padStart(2, "0")).join("");

/** Bytes as rows of 16, or 8: where, what, and as characters. */
export function hexDump(data, offset, wide = 16) {
    const lines = [];
    for (let i = 0; i < data.length; i += wide) {
        const row = data.subarray(i, i + wide);
        const hex = Array.from(row, (b) => b.toString(16).padStart(2, "0"));
        const shown = `${hex.slice(0, 8).join(" ")}  ${hex.slice(8).join(" ")}`.padEnd(3 * wide + (wide > 8 ? 1 : 0));
        const chars = Array.from(row, (b) => (b > 31 && b < 127 ? String.fromCharCode(b) : "·")).join("");
        lines.push(`${(offset + i).toString(16).padStart(8, "0")}  ${shown} ${chars}`);
    }
    return lines.join("\n");
}

// A piece of a long text without the parts of characters at its ends; what is not text stays as it is.
function wholeCharacters(data, first, last) {
    let from = 0, to = data.length, lead = to - 1;
    while (!first && from < 3 && (data[from] & 0xc0) === 0x80) from++;
    while (lead > to - 4 && (data[lead] & 0xc0) === 0x80) lead--;
    const long = data[lead] < 0xe0 ? 2 : data[lead] < 0xf0 ? 3 : 4;
    if (!last && data[lead] >= 0xc0 && lead + long > to) to = lead;
    const cut = data.subarray(from, to);
    return isText(cut) ? cut : data;
}

const NUMBER = /^\s*[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*$/i;

// What a number may also mean.
function numberFacts(text) {
    const n = Number(text), facts = [["value", text]];
    const [whole, part] = text.split(".");
    if (/^-?\d+$/.test(whole)) facts.push(["grouped", BigInt(whole).toLocaleString("en") + (part ? `.${part}` : "")]);
    if (Number.isSafeInteger(n)) facts.push(["hex", `0x${n.toString(16)}`]);
    if (n > 1e8 && n < 1e11) facts.push(["as seconds", new Date(n * 1000).toISOString()]);
    if (n > 1e11 && n < 1e14) facts.push(["as milliseconds", new Date(n).toISOString()]);
    return facts;
}

export class Value {
    constructor(tree) {
        this.tree = tree;
        this.node = el("section", {class: "value", "aria-label": "Value"});
        this.view = "text";
        this.drafts = new Map();
        show(this.node, this.blank());
        addEventListener("beforeunload", (event) => { this.stash(); if (this.drafts.size) event.preventDefault(); });
    }

    typed() { return this.form?.querySelector(".form[data-typed]"); }

    stash() {
        if (this.typed()) this.drafts.set(this.drawn.zwr, this.form.firstChild);
        else if (this.drawn) this.drafts.delete(this.drawn.zwr);
    }

    // The way to what was typed elsewhere.
    others(node) {
        const names = [...this.drafts.keys()].filter((zwr) => zwr !== node.zwr);
        return names.length ? el("p", {class: "note"}, "Typed, and not kept yet: ",
            names.map((zwr) => button(zwr, () => go("tree", {at: zwr}), {class: "mono"}))) : null;
    }

    blank() {
        return empty("No node is chosen", "Choose one with the arrow keys or the mouse; the right arrow opens its children. / finds, g goes to a path, y copies it.");
    }

    chosen() { return this.view === "text" ? "" : this.view; }

    /** Show this node; if it comes soon after another, a moment later: a held arrow key passes many. */
    show(node) {
        const now = performance.now(), soon = now - (this.seen ?? -1000) < 200;
        this.seen = now;
        clearTimeout(this.later);
        this.asked?.abort();
        if (!node) { this.now = null; show(this.node, this.blank()); return; }
        this.now = node;
        if (soon) this.later = setTimeout(() => this.load(), 40);
        else this.load();
    }

    async load() {
        const node = this.now;
        this.asked = new AbortController();
        try {
            const [{data, value}] = await Promise.all([api.value(node.key, 0, PIECE[this.view], this.asked.signal), api.greeted]);
            if (this.now === node) this.draw(node, value, data);
        } catch (error) {
            if (error.name !== "AbortError") show(this.node, empty("This value can't be shown", sentence(error)));
        }
    }

    draw(node, value, data) {
        this.stash();
        Object.assign(this, {drawn: node, data});
        this.take(value, 0);
        this.facts = el("p", {class: "facts"}, value ? bytes(value.len) : data ? "no value" : "not there", data >= 10 ? " · has children" : "");
        const kinds = choice("Show the value as", VIEWS, this.view, (view) => { this.view = view; this.tree.shows(node); this.load(); });
        this.body = el("div", {class: "body", tabindex: 0, role: "region", "aria-label": "The value"});
        this.form = el("div", null, this.drafts.get(node.zwr));
        this.elsewhere = el("div", null, this.others(node));
        this.news = el("div", {class: "changed", hidden: true, role: "status"});
        show(this.node, el("header", null, el("h2", null, visible(node.zwr)), this.facts),
            el("div", {class: "tools"}, value ? kinds : null, ...this.buttons(node, value)), this.news, this.elsewhere, this.form, this.body);
        this.fillBody();
    }

    // What is shown of a value.
    take(value, offset) {
        const all = value?.bytes ?? new Uint8Array();
        const part = this.view === "text" ? wholeCharacters(all, !offset, offset + all.length >= (value?.len ?? 0)) : all;
        this.piece = value && {...value, bytes: part};
        this.offset = offset + part.byteOffset - all.byteOffset;
    }

    buttons(node, value) {
        if (!api.info?.write) return [];
        const open = (name) => () => {
            if (this.typed()) toast("Keep or cancel what you typed first.");
            else show(this.form, forms[name](this, node, value));
        };
        const all = [["edit", value ? "Edit" : "Set"], ["add", "Add child"], ["rename", "Rename"], ["merge", "Merge"], ["kill", "Kill"]];
        return (this.data ? all : all.slice(0, 2)).map(([name, text]) => button(text, open(name), name === "kill" ? {class: "danger"} : {}));
    }

    /** The form of that node is done with; another node may have been chosen meanwhile, and have one. */
    closeForm(zwr) {
        if (this.drawn.zwr === zwr) show(this.form);
        else this.drafts.delete(zwr);
        this.stash();
        show(this.elsewhere, this.others(this.drawn));
    }

    fillBody() {
        if (!this.piece) { show(this.body, el("p", {class: "soft"}, this.data ? "This node has no value of its own." : "This node is not there, or not any more.")); return; }
        show(this.body, this.asView(this.piece.bytes, this.offset), this.more());
    }

    asView(data, offset) {
        const dump = () => el("pre", {class: "hex"}, hexDump(data, offset, this.body.clientWidth < 600 ? 8 : 16));
        if (this.view === "hex") return dump();
        const text = new TextDecoder().decode(data);
        if (this.view === "number" && !(this.piece.len === data.length && NUMBER.test(text))) return el("p", {class: "soft"}, "This value is not a number.");
        if (this.view === "number") return el("dl", null, numberFacts(text).map(([name, what]) => [el("dt", {class: "soft"}, name), el("dd", {class: "mono"}, what)]));
        if (this.view === "json") return this.asJson(text);
        if (!isText(data)) {
            return el("div", null, el("p", {class: "note warn"}, "Not text in UTF-8: shown byte by byte."), dump());
        }
        return el("pre", null, text === "" ? el("span", {class: "soft"}, "(empty)") : text);
    }

    asJson(text) {
        if (this.piece.len > PIECE.json) return el("p", {class: "soft"}, `JSON is shown up to ${bytes(PIECE.json)}; this value has ${bytes(this.piece.len)}.`);
        try {
            return jsonTree(parse(text));
        } catch (error) {
            return el("p", {class: "soft"}, `This value is not JSON: ${error.message}`);
        }
    }

    // The way to the next piece of a long value.
    more() {
        const seen = this.offset + this.piece.bytes.length;
        if (seen >= this.piece.len || this.view === "json" || this.view === "number") return null;
        const size = PIECE[this.view];
        const next = button(`Next ${bytes(Math.min(size, this.piece.len - seen))} of ${bytes(this.piece.len)}`, () => this.turn(seen));
        return el("p", {class: "tools"}, el("span", {class: "soft"}, `${number(this.offset)} to ${number(seen)}`),
            this.offset > 0 ? button("Back", () => this.turn(Math.max(0, this.offset - size))) : null, next,
            button("The end", () => this.turn(Math.max(0, this.piece.len - size))));
    }

    async turn(offset) {
        const node = this.now, now = await told(() => api.value(node.key, offset, PIECE[this.view]));
        if (!now || node !== this.now) return;
        this.take(now.value ?? {len: 0, bytes: new Uint8Array()}, offset);
        show(this.body, this.asView(this.piece.bytes, this.offset), this.more() ?? el("p", {class: "tools"},
            button("Back to the start", () => this.turn(0))));
        this.body.scrollTop = 0;
    }

    /** The database has changed: did this value? */
    async refresh() {
        const node = this.now, before = this.piece;
        if (!node || !this.body || this.offset) return;
        const now = await api.value(node.key, 0, PIECE[this.view]).catch(() => null);
        if (!now || this.now !== node || this.piece !== before || now.value?.version === before?.version) return;
        if (!this.form.querySelector(".form") && !edits.has(node.zwr)) { this.load(); return; }
        show(this.news, "Changed by another process since you looked.", button("Show", () => this.load()));
        this.news.hidden = false;
    }
}
