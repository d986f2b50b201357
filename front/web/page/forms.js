// The forms that gather changes of a node: each adds to the edits, none changes the database by itself.

import {api, child, subscript} from "./api.js";
import {button, bytes, el, number, sentence, show} from "./dom.js";
import * as edits from "./edits.js";
import {isText, toHex} from "./value.js";

const MOST = 1 << 20; // bytes that a text area takes without trouble

const field = (text, input) => el("label", null, text, input);

// A form is asked once: nothing is typed or pressed in it while the server is asked.
function form(title, fields, done, word, props) {
    const said = el("p", {class: "bad", role: "alert", hidden: true});
    const submit = async (event) => {
        event.preventDefault();
        node.inert = said.hidden = true;
        try {
            await done();
        } catch (error) {
            said.textContent = sentence(error);
            said.hidden = false;
        }
        node.inert = false;
        if (!said.hidden) node.querySelector("input, textarea, .main").focus();
    };
    const node = el("form", {class: "form", "aria-label": title, onsubmit: submit}, el("h2", null, title), ...fields, said,
        el("div", {class: "buttons"}, el("button", {type: "submit", class: "main", ...props}, word), button("Cancel", () => node.remove())));
    node.addEventListener("keydown", (event) => event.key === "Escape" && node.remove());
    node.addEventListener("input", () => { node.dataset.typed = ""; });
    setTimeout(() => node.querySelector("input, textarea")?.focus());
    return node;
}

// A value as it is typed: text, or hex for what a text area would change.
function typed(input, asHex) {
    const text = input.value;
    if (!asHex) return {text};
    const hex = text.replace(/\s+/g, "");
    if (!/^([0-9a-f]{2})*$/i.test(hex)) throw new Error("Hex is pairs of the digits 0 to 9 and a to f.");
    return {hex: hex.toLowerCase()};
}

async function edit(pane, node, value) {
    const whole = value && value.bytes.length < value.len ? (await api.value(node.key, 0, Math.min(value.len, MOST))).value : value;
    if (whole && whole.len > MOST) throw new Error(`Values above ${bytes(MOST)} are not edited here; use caret set.`);
    const data = whole?.bytes ?? new Uint8Array();
    const asHex = !isText(data) || data.includes(13);
    const before = asHex ? toHex(data) : new TextDecoder("utf-8", {ignoreBOM: true}).decode(data);
    const input = el("textarea", {value: before, spellcheck: "false", rows: 6});
    const keep = () => {
        edits.add({op: "set", node: node.zwr, key: node.key, ...typed(input, asHex), shown: whole?.version ?? null, before});
        pane.closeForm(node.zwr);
    };
    input.addEventListener("keydown", (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && input.form.requestSubmit());
    return form(value ? "Edit the value" : "Set a value", [field(asHex ? "Value in hex" : "Value", input)], keep, "Keep this change");
}

function later(make) {
    return (...all) => {
        const place = el("div");
        make(...all).then((node) => { place.append(node); setTimeout(() => node.querySelector("textarea")?.focus()); },
            (error) => show(place, el("p", {class: "note bad"}, sentence(error))));
        return place;
    };
}

function addChild(pane, node) {
    const name = el("input", {required: true, spellcheck: "false", autocomplete: "off"});
    const input = el("textarea", {rows: 3, spellcheck: "false"});
    return form("Add a child", [field("Subscript", name), field("Value", input)], async () => {
        const found = await api.path(child(node.zwr, subscript(name.value)));
        if (found.data % 2) throw new Error(`${found.zwr} is there already: edit it instead.`);
        edits.add({op: "set", node: found.zwr, key: found.key, text: input.value, shown: null, before: null});
        pane.closeForm(node.zwr);
    }, "Keep this change");
}

// What of a subtree is compared at the commit.
const asShown = (shown) => ({nodes: shown?.complete ? shown.nodes : undefined, place: shown?.place, mark: shown?.mark ?? undefined});

function kill(pane, node) {
    const said = el("p", {role: "status"}, "Counting what would go.");
    let shown;
    const enough = api.count(node.key).then((gone) => {
        shown = gone;
        said.textContent = `${gone.complete ? "" : "At least "}${number(gone.nodes)} ${gone.nodes === 1 ? "value" : "values"}${gone.bytes ? ` of ${bytes(gone.bytes)}` : ""} would go.`;
    }, (error) => { said.textContent = sentence(error); });
    return form(`Kill ${node.zwr}`, [said], async () => {
        await enough;
        edits.add({op: "kill", node: node.zwr, key: node.key, ...asShown(shown)});
        pane.closeForm(node.zwr);
    }, "Keep this kill", {class: "danger"});
}

const move = (op, title, text) => (pane, node) => {
    const to = el("input", {required: true, spellcheck: "false", autocomplete: "off", value: node.zwr});
    const shown = api.count(node.key);
    shown.catch(() => undefined); // told when it is wanted
    return form(title, [field(text, to)], async () => {
        const found = await api.path(to.value.trim());
        if (found.zwr === node.zwr) throw new Error("That is where it is: write another path.");
        if (op === "rename" && found.data > 0) throw new Error(`${found.zwr} is there already: kill it first, or merge into it.`);
        const there = op === "merge" ? asShown(await api.count(found.key)) : undefined;
        edits.add({op, node: node.zwr, key: node.key, to: found.zwr, there, ...asShown(await shown)});
        pane.closeForm(node.zwr);
    }, op === "rename" ? "Keep this rename" : "Keep this merge");
};

export const forms = {
    edit: later(edit),
    add: addChild,
    kill,
    rename: move("rename", "Rename, with all below", "New path"),
    merge: move("merge", "Copy it and all below over another node", "Into"),
};
