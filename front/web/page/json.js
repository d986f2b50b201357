// JSON as a tree that opens level by level: members are made when they are looked at.

import {el} from "./dom.js";

const MOST = 500; // members of one level before "more"

// A number that JavaScript can't hold as it is written.
class Written {
    constructor(text) { this.text = text; }

    toString() { return this.text; }
}

/** JSON as objects; numbers stay as they are written, where the browser tells how that was. */
export const parse = (text) => JSON.parse(text, (name, value, from) =>
    (typeof value === "number" && from?.source !== undefined && String(value) !== from.source ? new Written(from.source) : value));

function scalar(value) {
    if (typeof value === "string") return el("span", null, JSON.stringify(value));
    return el("span", {class: "n"}, String(value));
}

function members(value, from) {
    const names = Array.isArray(value) ? value.map((_, i) => i) : Object.keys(value);
    const list = names.slice(from, from + MOST).map((name) => el("div", {style: {paddingLeft: "16px"}}, entry(name, value[name])));
    if (names.length > from + MOST) {
        const more = el("button", {type: "button"}, `${names.length - from - MOST} more`);
        more.addEventListener("click", () => more.replaceWith(...members(value, from + MOST)));
        list.push(more);
    }
    return list;
}

function entry(name, value) {
    const title = name === undefined ? null : el("span", {class: "k"}, typeof name === "number" ? String(name) : JSON.stringify(name));
    if (value === null || typeof value !== "object" || value instanceof Written) return el("span", null, title, title ? ": " : null, scalar(value));
    const size = Array.isArray(value) ? `[${value.length}]` : `{${Object.keys(value).length}}`;
    const box = el("details", null, el("summary", null, title, title ? " " : null, el("span", {class: "soft"}, size)));
    box.addEventListener("toggle", () => { if (box.open && box.children.length === 1) box.append(...members(value, 0)); });
    return box;
}

export function jsonTree(value) {
    const top = entry(undefined, value);
    if (top.tagName === "DETAILS") top.open = true;
    return el("div", {class: "json mono"}, top);
}
