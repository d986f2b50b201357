// The log as it comes, filtered by node. The newest changes are below; at most MOST are kept. A window that is hidden
// asks for nothing; it goes on from the `place` it was told last, as it does when the connection was lost.

import {api} from "./api.js";
import {button, el, empty, number, sentence, show, visible} from "./dom.js";
import {format, go} from "./route.js";

const MOST = 1000;

export class Log {
    constructor() {
        this.filter = el("input", {class: "wide mono", placeholder: "all nodes; or ^name(1", "aria-label": "Only this node and below", spellcheck: "false"});
        this.hold = button("Hold", () => this.held(!this.holding), {"aria-pressed": "false"});
        this.said = el("span", {class: "soft"});
        this.body = el("tbody");
        this.none = el("div");
        this.table = el("table", null, el("caption", {class: "sr"}, "Changes"), el("thead", null, el("tr", null,
            ["place", "change", "node", "value"].map((text, i) => el("th", {scope: "col", class: i ? null : "num"}, text)))), this.body);
        this.box = el("div", {class: "log", tabindex: 0, role: "log", "aria-label": "Changes", "aria-live": "off"}, this.none, this.table);
        const form = el("form", {class: "tools", onsubmit: (event) => { event.preventDefault(); go("log", {at: this.filter.value.trim()}); }},
            this.filter, el("button", {type: "submit"}, "Filter"), this.hold, button("Earlier", () => this.begin(0)), button("Clear", () => this.clear()), this.said);
        this.whole = [form, this.box];
    }

    mount(main) {
        show(main, this.whole);
        this.look = () => (document.hidden ? this.rest() : this.follow(this.place));
        document.addEventListener("visibilitychange", this.look);
    }

    unmount() {
        document.removeEventListener("visibilitychange", this.look);
        this.rest();
    }

    rest() {
        this.source?.close();
        clearTimeout(this.retry);
    }

    route(params) {
        this.at = params.get("at") ?? "";
        this.filter.value = this.at;
        this.begin(-1);
    }

    begin(from) {
        this.clear();
        show(this.none); // until it listens
        this.last = null;
        this.place = from;
        this.follow(from);
    }

    follow(from) {
        this.rest();
        const told = (error) => { this.said.textContent = sentence({text: error.text}); };
        const refused = (error) => {
            told(error);
            if (error.code === "NOTFOUND" && from >= 0) this.follow(-1); // so old is no log any more
        };
        this.source = api.log({node: this.at, from}, {changes: (now) => this.take(now), failed: told, refused,
            lost: () => { this.retry = setTimeout(() => this.follow(this.place), 2000); }});
    }

    // Was it not shown before?
    fresh({lsn, index}) {
        return !this.last || lsn > this.last.lsn || (lsn === this.last.lsn && index > this.last.index);
    }

    clear() {
        show(this.body);
        this.count = 0;
        this.table.hidden = true;
        this.none.hidden = false;
        this.said.textContent = "";
    }

    held(on) {
        this.holding = on;
        this.hold.setAttribute("aria-pressed", String(on));
        this.hold.textContent = on ? "Go on" : "Hold";
    }

    take({list: all, skipped, lost, place}) {
        this.place = place;
        if (!this.none.firstChild) show(this.none, empty("Nothing was changed yet", "Changes are shown as they are committed. Earlier starts at the last checkpoint."));
        const list = all.filter((change) => this.fresh(change));
        this.last = list.at(-1) ?? this.last;
        this.count += list.length;
        if (skipped || lost) this.said.textContent = lost ? "More came than can be shown." : `${number(skipped)} more came than can be shown.`;
        if (this.holding || !list.length) return;
        this.table.hidden = false;
        this.none.hidden = true;
        const low = this.box.scrollHeight - this.box.scrollTop - this.box.clientHeight < 40;
        this.body.append(...list.map((change) => this.row(change)));
        while (this.body.children.length > MOST) this.body.firstChild.remove();
        if (low) this.box.scrollTop = this.box.scrollHeight;
    }

    row({lsn, kind, node, value, range}) {
        const text = kind === "set" ? value?.text ?? (value ? `${value.len} bytes` : "") : range ?? "";
        return el("tr", null, el("td", {class: "num soft"}, String(lsn)), el("td", {class: kind === "set" ? "soft" : "bad"}, kind.replace("_", " ")),
            el("td", null, el("a", {href: format("tree", {at: node})}, visible(node))), el("td", null, visible(text)));
    }
}
