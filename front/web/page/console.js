// Lua, M and commands of Redis' protocol. Each language is a process of its own at the server, which ends with the page.
//
// What a process says comes by a channel. A window that is hidden leaves those of processes that do nothing, so that it
// keeps no connection, and comes back to them; so it does when the connection was lost.
//
// Enter runs, Shift+Enter is a new line, arrows at the ends go through what was said before, Tab completes.

import {api} from "./api.js";
import {button, choice, el, empty, seconds, sentence, show, table, toast, told} from "./dom.js";
import {jsonTree} from "./json.js";
import {format} from "./route.js";

const NAMES = {lua: "Lua", m: "M", resp: "RESP"};
const EXAMPLES = {lua: "db.node(\"^oaks\"):json() in Lua", m: "ZWRITE ^oaks in M", resp: "KEYS * in RESP"};
const MOST = 300; // entries on the page

// A tree as the server tells it, [[name, text or tree], ...], as an object.
const object = (tree) => Object.fromEntries(tree.map(([name, value]) => [name, Array.isArray(value) ? object(value) : value]));

export class Console {
    constructor() {
        this.languages = {};
        this.history = JSON.parse(localStorage.getItem("history") ?? "[]");
        this.out = el("div", {class: "console", role: "log", tabindex: 0, "aria-label": "Results"});
        this.input = el("textarea", {rows: 1, spellcheck: "false", autocomplete: "off", "aria-label": "Statement", "aria-controls": "offers", onkeydown: (event) => this.press(event)});
        this.offers = el("ul", {class: "offers", id: "offers", role: "listbox", tabindex: 0, "aria-label": "Completions", hidden: true});
        this.halt = button("Stop", () => told(() => api.stop(this.now.id)), {disabled: true, class: "danger"});
        document.addEventListener("visibilitychange", () => this.rest(document.hidden));
        addEventListener("pagehide", () => Object.values(this.languages).forEach((now) => api.close(now.id)));
        this.prompt = el("div", {class: "prompt"}, this.offers, this.input, button("Run", () => this.run(), {class: "main"}), this.halt);
    }

    mount(main) {
        const names = api.info?.languages ?? [];
        if (!api.info?.console) {
            show(main, empty("There is no console here", "Start caret web with --console to have one: whoever uses it can do what Lua or M can on the server's machine."));
            return;
        }
        const kinds = choice("Language", Object.fromEntries(names.map((name) => [name, NAMES[name] ?? name])), this.language ?? names[0], (name) => this.use(name));
        show(main, el("div", {class: "tools"}, kinds, el("span", {class: "soft"}, "Tab completes, ↑ goes back in history, Shift+Enter is a new line")), this.out, this.prompt);
        if (!this.out.children.length) show(this.out, empty("Nothing was said yet", `For example ${names.map((name) => EXAMPLES[name]).filter(Boolean).join(", or ")}.`));
        this.use(this.language ?? names[0]);
        this.input.focus();
    }

    unmount() { this.input.blur(); }

    async use(language) {
        this.language = language;
        this.now = this.languages[language];
        if (!this.now) {
            await told(async () => {
                const now = {id: await api.console(language), language, said: new Map()};
                this.languages[language] = now;
                if (this.language === language) this.now = now;
                this.listen(now);
            });
        }
        this.busy();
    }

    listen(now) {
        now.channel = api.listen(now.id, {
            out: ({n, text}) => this.add(now, n, el("pre", null, text)),
            result: (result) => this.result(now, result),
            error: ({n, text}) => { if (text) { this.add(now, n, el("pre", {class: "failed"}, text)); this.idle(now); } },
            more: () => { this.input.value = `${now.text}\n`; this.grow(); this.idle(now); },
            ended: ({text}) => this.ended(now, text),
            refused: () => this.ended(now),
            lost: () => setTimeout(() => this.languages[now.language] === now && this.listen(now), 1000),
        });
    }

    rest(hidden) {
        for (const now of Object.values(this.languages)) {
            if (hidden && !now.busy) { now.channel?.close(); now.resting = true; }
            else if (!hidden && now.resting) { now.resting = false; this.listen(now); }
        }
    }

    ended(now, text) {
        if (this.languages[now.language] === now) delete this.languages[now.language];
        this.append(el("pre", {class: "failed"}, `${sentence({text: text ?? "it has ended"})} The next statement starts a new one.`));
        this.idle(now);
    }

    // M ends what it says by a new prompt on a new line.
    trim(box) {
        const all = [...box?.querySelectorAll("pre:not(.in)") ?? []];
        const cut = (list, ends) => list.every((pre) => !(pre.textContent = pre.textContent.replace(ends, ""))); // up to one with text
        cut(all, /^\s*\n/);
        cut(all.reverse(), /\n\s*$/);
    }

    idle(now) {
        now.busy = false;
        if (now.language === "m") this.trim(now.box);
        this.busy();
    }

    busy() { this.halt.disabled = !this.now?.busy; }

    async run() {
        const text = this.input.value.trim();
        if (!text) return;
        this.close();
        if (!this.languages[this.language]) await this.use(this.language);
        const now = this.now;
        if (!now) return;
        if (now.busy) { toast("The last statement still runs: stop it, or wait."); return; }
        this.remember(text);
        this.input.value = "";
        this.grow();
        Object.assign(now, {text, busy: true, box: el("div", {class: "said"}, el("pre", {class: "in"}, text))});
        this.append(now.box);
        this.busy();
        try {
            now.said.set(await api.run(now.id, text), now.box);
        } catch (error) {
            this.add(now, undefined, el("pre", {class: "failed"}, sentence(error)));
            this.idle(now);
        }
    }

    append(node) {
        this.out.querySelector(".empty")?.remove();
        this.out.append(node);
        while (this.out.children.length > MOST) this.out.firstChild.remove();
        this.out.scrollTop = this.out.scrollHeight;
    }

    add(now, n, node) {
        const box = now.said.get(n) ?? now.box ?? this.out;
        box.append(node);
        if (now.language === "m" && !now.busy) this.trim(box); // the last of it comes after its end
        this.out.scrollTop = this.out.scrollHeight;
    }

    result(now, {n, results, seconds: took}) {
        for (const one of results) this.add(now, n, this.shown(one));
        if (took > 0.1) this.add(now, n, el("p", {class: "soft"}, seconds(took)));
        this.idle(now);
    }

    shown(one) {
        const body = one.tree ? jsonTree(object(one.tree)) : el("pre", null, one.text ?? "");
        if (one.type === "node" && one.zwr) return el("div", null, el("a", {class: "mono", href: format("tree", {at: one.zwr, open: 1})}, one.zwr), body);
        if (one.table) return el("div", {class: "table", tabindex: 0, role: "region", "aria-label": "Result"}, table("Result", one.table.columns.map((name) => [String(name), "mono"]), one.table.rows.map((row) => row.map((cell) => String(cell ?? "")))));
        return body;
    }

    // ------------------------------------------------------------ typing

    remember(text) {
        this.history = [...this.history.filter((old) => old !== text), text].slice(-200);
        localStorage.setItem("history", JSON.stringify(this.history));
        this.back = this.history.length;
    }

    grow() {
        this.input.style.height = "auto";
        this.input.style.height = `${Math.min(220, this.input.scrollHeight + 2)}px`;
    }

    recall(step) {
        this.back = Math.max(0, Math.min(this.history.length, (this.back ?? this.history.length) + step));
        this.input.value = this.history[this.back] ?? "";
        this.grow();
    }

    close() {
        this.offers.hidden = true;
        this.input.removeAttribute("aria-activedescendant");
    }

    press(event) {
        const {key} = event, before = this.input.value.slice(0, this.input.selectionStart);
        setTimeout(() => this.grow());
        if (!this.offers.hidden && this.choose(event)) return;
        if (key === "Enter" && !event.shiftKey) this.run();
        else if (key === "ArrowUp" && !before.includes("\n")) this.recall(-1);
        else if (key === "ArrowDown" && !this.input.value.slice(before.length).includes("\n")) this.recall(1);
        else if (key === "Tab" && !event.shiftKey && before.trim()) this.complete(before);
        else if (key === "c" && event.ctrlKey && !this.halt.disabled && this.input.selectionStart === this.input.selectionEnd) this.halt.click();
        else return;
        event.preventDefault();
    }

    async complete(before) {
        if (!this.now) return;
        const {list, from} = await api.offers(this.now.id, before).catch(() => ({list: []}));
        const start = new TextDecoder().decode(new TextEncoder().encode(before).subarray(0, from ?? before.length)).length;
        if (list.length === 1) { this.insert(start, before.length, list[0]); return; }
        show(this.offers, list.slice(0, 50).map((text, i) => el("li", {role: "option", id: `offer${i}`, "aria-selected": String(i === 0),
            onclick: () => this.insert(start, before.length, text)}, text)));
        this.offers.hidden = !list.length;
        if (list.length) this.input.setAttribute("aria-activedescendant", "offer0");
        this.place = [start, before.length];
    }

    insert(from, to, text) {
        this.input.setRangeText(text, from, to, "end");
        this.close();
        this.input.focus();
    }

    // Keys while completions are shown; true: it was for them.
    choose(event) {
        const rows = [...this.offers.children], i = rows.findIndex((row) => row.getAttribute("aria-selected") === "true");
        const step = {ArrowDown: 1, Tab: 1, ArrowUp: -1}[event.key];
        if (step) {
            const next = (i + step + rows.length) % rows.length;
            rows.forEach((row, j) => row.setAttribute("aria-selected", String(j === next)));
            this.input.setAttribute("aria-activedescendant", rows[next].id);
            rows[next].scrollIntoView({block: "nearest"});
        } else if (event.key === "Enter" && rows[i]) this.insert(...this.place, rows[i].textContent);
        else { this.close(); return event.key === "Escape"; }
        event.preventDefault();
        return true;
    }
}
