// A list of any length in a scroller: rows are fetched by cursor as they come into view.
//
// The database has an order but no ranks, so nobody knows what the 500,000th child is. The list holds one
// window of rows that follow each other, `rows`, whose first one is at `y0` pixels of a canvas as high as the
// estimated whole, at most MOST pixels:
//
//     canvas  0 .......... y0 [ rows ] y0 + rows.length * H .......... height
//
// 1. As long as the view is near the window, its ends grow by `from` cursors: each pixel is as wide as a row
//    says, whatever the estimate was.
// 2. When the view is far away (the bar was dragged, End), the window is given up: the server is asked for rows
//    at that fraction of the level, and the first of the answer is put where the view is.
// 3. At an end of the data the canvas is corrected: its first row is at 0 and its last row ends it. The scroll
//    position moves with the rows, so nobody sees it.
//
// One request at a time; the view is looked at again after each answer, so only the newest place counts. Drawn
// are the rows in view and a few more; elements are used again. At most KEPT rows are remembered.

import {el} from "./dom.js";

const MOST = 8e6; // pixels: whole numbers are exact in floats up to 16 M
export const PAGE = 100; // rows of a request
const NEAR = 60; // fetched before they are seen
const KEPT = 1200;
const FAR = 300; // rows outside the window that are walked to, not jumped to
const MORE = 6; // drawn above and below the view

export class List {
    /** source(query) -> promise of {rows, first, last, total, at}; draw(row) -> children; handlers by name. */
    constructor({label, source, draw, key = (row) => row.key, onpick, onopen, onleave, onfail, onload}) {
        Object.assign(this, {source, drawRow: draw, keyOf: key, onpick, onopen, onleave, onfail, onload});
        this.canvas = el("div", {class: "canvas", role: "presentation"});
        this.node = el("div", {class: "list", role: "listbox", tabindex: 0, "aria-label": label}, this.canvas);
        this.id = `list${List.made = (List.made ?? 0) + 1}`;
        this.pool = new Map();
        this.spare = [];
        this.clear();
        this.node.addEventListener("scroll", () => this.soon(), {passive: true});
        this.node.addEventListener("keydown", (event) => this.press(event));
        this.node.addEventListener("click", (event) => this.click(event));
        this.watch = new ResizeObserver(() => { this.measure(); this.soon(); });
        this.watch.observe(this.node);
    }

    clear() {
        this.rows = [];
        this.y0 = 0;
        this.first = this.last = false;
        this.total = 0;
        this.round = (this.round ?? 0) + 1; // answers to older questions are dropped
        this.busy = false;
    }

    close() {
        this.round++;
        this.watch.disconnect();
    }

    get high() {
        return this.rowHeight ||= this.styled();
    }

    styled() { return parseFloat(getComputedStyle(this.node).getPropertyValue("--row")) || 26; }

    // The window has another size: the chosen row stays in view.
    measure() {
        if (!this.node.clientHeight) return;
        const i = this.index(), y = this.y0 + i * this.high - this.node.scrollTop, seen = i >= 0 && y >= 0 && y < (this.tall ?? 0);
        this.tall = this.node.clientHeight;
        this.stretch(this.styled());
        if (seen) this.reveal(i);
    }

    // Rows may have another height, too: the same ones stay in view.
    stretch(now) {
        const before = this.high, top = (this.node.scrollTop - this.y0) / before;
        if (now === before) return;
        this.rowHeight = now;
        this.height = Math.min((this.height ?? 0) * now / before, MOST);
        this.y0 = Math.min(this.y0 * now / before, Math.max(0, this.height - this.rows.length * now));
        this.forget();
        this.settle(0);
        this.node.scrollTop = this.y0 + top * now;
    }

    // ------------------------------------------------------------ fetching

    async ask(query, take) {
        const round = ++this.round;
        this.busy = true;
        try {
            const answer = await this.source({n: PAGE, ...query});
            if (round !== this.round) return false;
            take(answer);
            this.failed = false;
            this.onload?.(answer);
        } catch (error) {
            if (round === this.round) {
                this.failed = true;
                this.onfail?.(error);
            }
            return false;
        } finally {
            if (round === this.round) this.busy = false;
        }
        this.soon();
        return true;
    }

    /** Begin anew: at the start, or where the query says (at, sub, end). */
    load(query = {}) {
        return this.ask(query, (answer) => this.place(answer, null));
    }

    // A new window. Its first row goes to `top`, or to where the server says it is.
    place(answer, top) {
        Object.assign(this, {rows: answer.rows, first: answer.first, last: answer.last});
        this.total = answer.total ?? answer.rows.length;
        this.height = Math.min(Math.max(this.total, this.rows.length) * this.high, MOST);
        const span = this.rows.length * this.high;
        if (this.first) this.y0 = 0;
        else this.y0 = Math.max(this.high, Math.min(top ?? (answer.at ?? 0) * this.height, this.height - span));
        this.settle(0);
        if (top === null || this.first || this.last) this.node.scrollTop = this.last && !this.first && top !== null ? this.height : this.y0;
        this.forget();
    }

    // The invariants of the ends (3 above); `delta` pixels were added above the view.
    settle(delta) {
        const span = this.rows.length * this.high;
        if (this.first) delta -= this.y0;
        else if (this.y0 < this.high) delta += 50 * this.high - this.y0;
        if (delta) {
            this.y0 += delta;
            this.height += delta;
        }
        if (this.last) this.height = this.y0 + span;
        else if (this.y0 + span > this.height - this.high) this.height = this.y0 + span + 50 * this.high;
        this.canvas.style.height = `${this.height}px`;
        if (delta) this.node.scrollTop += delta;
    }

    /** The whole is as long as that, it turned out: the bar is right at once if the view is at the start. */
    resize(total) {
        this.total = total;
        if (!this.first || this.last) return;
        this.height = Math.min(Math.max(total, this.rows.length) * this.high, MOST);
        this.settle(0);
    }

    append(answer) {
        this.rows.push(...answer.rows);
        this.last = answer.last;
        const extra = this.rows.length - KEPT;
        if (extra > 0 && this.top() > extra + MORE) {
            this.rows.splice(0, extra);
            this.y0 += extra * this.high;
            this.first = false;
        }
        this.forget();
        this.settle(0);
    }

    prepend(answer) {
        this.rows.unshift(...answer.rows);
        this.first = answer.first;
        this.y0 -= answer.rows.length * this.high;
        if (this.rows.length > KEPT && this.top() + this.shown() + MORE < KEPT) {
            this.rows.length = KEPT;
            this.last = false;
        }
        this.forget();
        this.settle(0);
    }

    /** Fetch what is shown once more; the view stays. */
    async reload() {
        if (this.busy || !this.node.isConnected) return false;
        const i = Math.max(0, Math.min(this.top(), this.rows.length - 1));
        const row = this.rows[i];
        if (!row || (this.first && i < PAGE)) return this.ask({}, (answer) => this.renew(answer, 0));
        return this.ask({since: this.keyOf(row)}, (answer) => this.renew({...answer, first: false}, i));
    }

    renew(answer, i) {
        this.y0 += i * this.high;
        Object.assign(this, {rows: answer.rows, first: answer.first, last: answer.last, total: answer.total ?? this.total});
        if (this.last && this.height > MOST / 2) this.height = this.y0 + this.rows.length * this.high;
        this.forget();
        this.settle(0);
    }

    // ------------------------------------------------------------ drawing

    top() { return Math.floor((this.node.scrollTop - this.y0) / this.high); }
    shown() { return Math.ceil(this.node.clientHeight / this.high) + 1; }

    soon() {
        if (this.frame) return;
        this.frame = requestAnimationFrame(() => { this.frame = 0; this.draw(); });
    }

    draw() {
        const top = this.top(), end = top + this.shown();
        this.paint(Math.max(0, top - MORE), Math.min(this.rows.length, end + MORE));
        if (!this.busy && !this.failed && this.node.clientHeight) this.want(top, end);
    }

    want(top, end) {
        const n = this.rows.length;
        if (!n) return;
        if (end < -FAR || top > n + FAR) this.jump();
        else if (top < NEAR && !this.first) this.ask({from: this.keyOf(this.rows[0]), dir: "prev"}, (answer) => this.prepend(answer));
        else if (end > n - NEAR && !this.last) this.ask({from: this.keyOf(this.rows[n - 1]), dir: "next"}, (answer) => this.append(answer));
    }

    jump() {
        const top = this.node.scrollTop, room = this.height - this.node.clientHeight;
        if (top <= 1) return this.load();
        if (top >= room - 1) return this.end();
        return this.ask({at: top / this.height}, (answer) => this.place(answer, Math.floor(top)));
    }

    end() { return this.ask({end: true}, (answer) => this.place(answer, this.height)); }

    forget() {
        for (const node of this.pool.values()) this.spare.push(node);
        this.pool.clear();
    }

    paint(lo, hi) {
        for (const [row, node] of this.pool) {
            const i = row.at;
            if (this.rows[i] !== row || i < lo || i >= hi) { this.pool.delete(row); this.spare.push(node); }
        }
        this.number();
        const fresh = [];
        for (let i = lo; i < hi; i++) fresh.push(this.paintRow(i));
        const out = fresh.filter((node) => !node.isConnected);
        if (out.length) this.canvas.append(...out);
        for (const node of this.spare.splice(0)) node.remove();
        this.activate();
    }

    // Rows know their place in the window.
    number() {
        this.rows.forEach((row, i) => { row.at = i; });
    }

    paintRow(i) {
        const row = this.rows[i];
        let node = this.pool.get(row);
        if (!node) {
            node = this.spare.pop() ?? el("div", {class: "row", role: "option"});
            node.replaceChildren(...this.drawRow(row, node));
            this.pool.set(row, node);
        }
        node.id = `${this.id}-${i}`;
        node.dataset.i = i;
        node.style.transform = `translateY(${Math.round(this.y0 + i * this.high)}px)`;
        const picked = this.keyOf(row) === this.picked;
        if (node.getAttribute("aria-selected") !== String(picked)) node.setAttribute("aria-selected", String(picked));
        return node;
    }

    activate() {
        const i = this.index();
        const id = i >= 0 && this.pool.has(this.rows[i]) ? `${this.id}-${i}` : null;
        if (id) this.node.setAttribute("aria-activedescendant", id);
        else this.node.removeAttribute("aria-activedescendant");
    }

    // ------------------------------------------------------------ picking

    index() { return this.rows.findIndex((row) => this.keyOf(row) === this.picked); }

    /** Mark the row with this key, if it is here; no event. */
    mark(key) {
        this.picked = key;
        this.soon();
    }

    pick(i) {
        const row = this.rows[i];
        if (!row) return;
        this.picked = this.keyOf(row);
        this.reveal(i);
        this.soon();
        this.onpick?.(row);
    }

    reveal(i) {
        const y = this.y0 + i * this.high, view = this.node.clientHeight;
        if (y < this.node.scrollTop) this.node.scrollTop = y;
        else if (y + this.high > this.node.scrollTop + view) this.node.scrollTop = y + this.high - view;
    }

    /** Bring the row with this key into view; false if it is not in the window. */
    find(key) {
        const i = this.rows.findIndex((row) => this.keyOf(row) === key);
        if (i >= 0) this.reveal(i);
        return i >= 0;
    }

    click(event) {
        const node = event.target.closest(".row");
        if (!node) return;
        this.node.focus({preventScroll: true});
        this.pick(Number(node.dataset.i));
        const row = this.rows[Number(node.dataset.i)];
        if (row) this.onopen?.(row, "click");
    }

    async press(event) {
        if (event.altKey || event.ctrlKey || event.metaKey) return;
        const view = Math.max(1, this.shown() - 2), i = this.index(), last = this.rows.length - 1;
        const from = i < 0 ? this.top() - 1 : i;
        const to = {ArrowDown: from + 1, ArrowUp: i < 0 ? 0 : from - 1, PageDown: from + view, PageUp: from - view}[event.key];
        if (to !== undefined) this.pick(Math.max(0, Math.min(to, last)));
        else if (event.key === "Home") { if (this.first || await this.load()) this.pick(0); }
        else if (event.key === "End") { if (this.last || await this.end()) this.pick(this.rows.length - 1); }
        else if ((event.key === "ArrowRight" || event.key === "Enter") && i >= 0) this.onopen?.(this.rows[i], "key");
        else if (event.key === "ArrowLeft" || event.key === "Backspace") this.onleave?.();
        else return;
        event.preventDefault();
    }
}
