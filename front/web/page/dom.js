// Elements, and numbers as people read them.
//
// Whatever comes from a database reaches the document by textContent, value or setAttribute of a name that is
// written here: nothing on this page is ever parsed as HTML. Styles are set by CSSOM, as the policy forbids
// style attributes.

const SVG = "http://www.w3.org/2000/svg";

const present = (children) => children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);

function fill(node, props, children) {
    for (const [name, value] of Object.entries(props ?? {})) {
        if (value === undefined || value === null || value === false) continue;
        if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
        else if (name === "style") Object.assign(node.style, value);
        else if (name === "value") node.value = value;
        else node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...present(children));
    return node;
}

/** An element: el("p", {class: "soft", onclick}, "text", child, ...). Strings become text. */
export const el = (tag, props, ...children) => fill(document.createElement(tag), props, children);

/** The same for SVG. */
export const svg = (tag, props, ...children) => fill(document.createElementNS(SVG, tag), props, children);

export const byId = (id) => document.getElementById(id);

/** Show these and nothing else. */
export function show(node, ...children) {
    node.replaceChildren(...present(children));
    return node;
}

// Make a node as another is, which is thrown away. The policy forbids the attribute style, so that goes by CSSOM.
function match(node, next) {
    if (node.nodeType !== Node.ELEMENT_NODE) {
        if (node.data !== next.data) node.data = next.data;
        return;
    }
    for (const {name} of [...node.attributes]) if (name !== "style" && !next.hasAttribute(name)) node.removeAttribute(name);
    for (const {name, value} of next.attributes) if (name !== "style" && node.getAttribute(name) !== value) node.setAttribute(name, value);
    if (node.style.cssText !== next.style.cssText) node.style.cssText = next.style.cssText;
    within(node, [...next.childNodes]);
}

// What has a data-key is found by it, the rest by its place.
function within(node, wanted) {
    const byKey = new Map([...node.children].filter((child) => child.dataset.key !== undefined).map((child) => [child.dataset.key, child]));
    let at = node.firstChild;
    for (const next of wanted) {
        const key = next.dataset?.key, like = key === undefined ? at : byKey.get(key);
        byKey.delete(key);
        if (like?.nodeName !== next.nodeName) { node.insertBefore(next, at); continue; }
        match(like, next);
        if (like === at) at = at.nextSibling;
        else node.insertBefore(like, at);
    }
    while (at) {
        const after = at.nextSibling;
        at.remove();
        at = after;
    }
}

/**
 * Show these in place of what was shown there: elements that are alike stay, and so do the focus, a press that is
 * under way and marked text. For what changes while somebody looks at it. Listeners don't come along, so these are
 * elements without any. When what had the focus is gone, the node has it, where it can.
 */
export function renew(node, ...children) {
    const focus = document.activeElement, inside = node.contains(focus);
    within(node, present(children).map((child) => (child instanceof Node ? child : document.createTextNode(child))));
    if (inside && document.activeElement !== focus) (focus.isConnected ? focus : node).focus({preventScroll: true});
    return node;
}

export const button = (text, onclick, props) => el("button", {type: "button", onclick, ...props}, text);

/** One of several, as buttons that are pressed or not: names is {value: text}. */
export function choice(label, names, now, onpick) {
    const group = el("span", {class: "group", role: "group", "aria-label": label});
    const pick = (value) => {
        for (const b of group.children) b.setAttribute("aria-pressed", String(b.dataset.value === value));
    };
    for (const [value, text] of Object.entries(names)) {
        group.append(button(text, () => { pick(value); onpick(value); }, {"data-value": value}));
    }
    pick(now);
    group.pick = pick;
    return group;
}

const UNSEEN = /[\0-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/;
const SIGNS = {"\n": "↵", "\r": "\\r", "\t": "⇥"};
const sign = (c) => SIGNS[c] ?? `U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`;

/** Text as one line, where what can't be seen (new lines, marks that turn the direction) has a sign: what to show. */
export function visible(text) {
    if (!UNSEEN.test(text)) return text;
    return text.split(new RegExp(`(${UNSEEN.source})`)).map((part) => (UNSEEN.test(part) ? el("span", {class: "unseen", "data-sign": sign(part)}, el("span", {hidden: true}, part)) : part));
}

const whole = new Intl.NumberFormat("en", {maximumFractionDigits: 0});
const short = new Intl.NumberFormat("en", {notation: "compact", maximumFractionDigits: 1});

export const number = (n) => (n === undefined || n === null ? "" : whole.format(n));
export const about = (n) => (n < 10000 ? whole.format(n) : short.format(n));

/** A rate: 0.42, 7.1, 1,234. */
export const rate = (n) => (n > 0 && n < 10 ? n.toFixed(n < 1 ? 2 : 1) : whole.format(n ?? 0));

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

export function bytes(n) {
    let unit = 0;
    for (; n >= 1024 && unit < UNITS.length - 1; unit++) n /= 1024;
    return `${unit && n < 100 ? n.toFixed(1) : whole.format(n)} ${UNITS[unit]}`;
}

export function seconds(s) {
    if (s < 1) return `${Math.round(s * 1000)} ms`;
    if (s < 60) return `${s.toFixed(1)} s`;
    if (s < 3600) return `${Math.floor(s / 60)} min ${Math.floor(s % 60)} s`;
    return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
}

function keyed(row) {
    row.dataset.key = row.cells[0]?.textContent ?? "";
    return row;
}

/** A table: heads are [text, "num"?], rows arrays of text or nodes. Renewed, a row is the one with the same first cell. */
export function table(caption, heads, rows) {
    const cell = (tag, content, kind, scope) =>
        el(tag, {class: kind, scope, title: kind === "mono" ? content : undefined}, content ?? "");
    return el("table", null,
        el("caption", {class: "sr"}, caption),
        el("thead", null, el("tr", null, heads.map(([text, kind]) => cell("th", text, kind === "num" && "num", "col")))),
        el("tbody", null, rows.map((row) => keyed(el("tr", null, row.map((content, i) => cell("td", content, heads[i][1])))))));
}

/** Said to screen readers. */
export function say(text) {
    byId("said").textContent = text;
}

let hide;

/** Shown for a while to everybody: what went wrong and what to do. */
export function toast(text) {
    const box = byId("toast");
    box.textContent = text;
    box.hidden = false;
    clearTimeout(hide);
    hide = setTimeout(() => { box.hidden = true; }, 8000);
}

/** An error as a sentence: what happened, and what to do. */
export function sentence(error) {
    const text = error.text ?? error.message ?? "";
    return [text && `${text[0].toUpperCase()}${text.slice(1)}${/[.!?:(]$/.test(text) ? "" : "."}`, error.hint].filter(Boolean).join(" ");
}

/** Run it; what it throws is told. */
export async function told(run) {
    try {
        return await run();
    } catch (error) {
        if (error.name !== "AbortError") toast(sentence(error));
        return undefined;
    }
}

export const empty = (title, text) => el("p", {class: "empty"}, el("strong", null, title), text);

/** What the parts of the page tell each other: "changed" when the database has, "state" of the connection. */
export const bus = new EventTarget();

export const tell = (name, detail) => bus.dispatchEvent(new CustomEvent(name, {detail}));
