// Small charts of the last minutes, and the layout of a treemap.

import {el, svg} from "./dom.js";

const WIDE = 120, HIGH = 36;

/** A figure with its course: card("gets", "/s") and card.add(value, text). */
export class Card {
    constructor(title, unit) {
        this.points = [];
        this.big = el("span", null, "–");
        this.line = svg("polyline", {class: "spark"});
        this.area = svg("polygon", {class: "spark-area"});
        this.node = el("div", {class: "card"}, el("h2", null, title),
            el("p", {class: "big"}, this.big, el("span", {class: "unit"}, unit)),
            svg("svg", {viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", "aria-hidden": "true"}, this.area, this.line));
    }

    add(value, text) {
        this.points.push(value);
        if (this.points.length > WIDE) this.points.shift();
        this.big.textContent = text;
        const most = Math.max(...this.points, 1e-9), left = WIDE - this.points.length;
        const line = this.points.map((p, i) => `${left + i + 1},${(HIGH - 2 - (p / most) * (HIGH - 6)).toFixed(1)}`);
        this.line.setAttribute("points", line.join(" "));
        this.area.setAttribute("points", [`${left + 1},${HIGH}`, ...line, `${WIDE},${HIGH}`].join(" "));
    }
}

/** A cell with a bar as long as its share. */
export function share(part, text) {
    return el("div", {class: "share"}, el("i", {style: {width: `${Math.max(0, Math.min(100, part * 100)).toFixed(1)}%`}}), el("span", null, text));
}

const worst = (row, sum, side, scale) => {
    const wide = (sum * scale) / side;
    return Math.max(...row.map((size) => { const high = (size * scale) / wide; return Math.max(wide / high, high / wide); }));
};

/** Squarified treemap (Bruls, Huizing, van Wijk): sizes, largest first, as boxes {x, y, w, h} in a box. */
export function squarify(sizes, box) {
    const total = sizes.reduce((sum, size) => sum + size, 0), out = [];
    let {x, y, w, h} = box, i = 0;
    const scale = (box.w * box.h) / (total || 1);
    while (i < sizes.length) {
        const side = Math.min(w, h), row = [sizes[i]];
        let sum = sizes[i++];
        while (i < sizes.length && worst([...row, sizes[i]], sum + sizes[i], side, scale) <= worst(row, sum, side, scale)) sum += sizes[i], row.push(sizes[i++]);
        const thick = side ? (sum * scale) / side : 0;
        let along = 0;
        for (const size of row) {
            const long = sum ? (size / sum) * side : 0;
            out.push(w >= h ? {x, y: y + along, w: thick, h: long} : {x: x + along, y, w: long, h: thick});
            along += long;
        }
        if (w >= h) { x += thick; w -= thick; } else { y += thick; h -= thick; }
    }
    return out;
}
