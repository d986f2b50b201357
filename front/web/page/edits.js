// Changes that were gathered, and are committed as one transaction.
//
// Each remembers what was shown when it was made (`shown`). The server refuses all of them if any of that has
// changed; then the edit shows three texts: what was shown, what is there now, what would be written. Whoever
// decides for one of them decides about what is there now, not about what was.

import {api} from "./api.js";
import {button, bytes, el, number, say, sentence, show, tell, toast, told} from "./dom.js";

let list = [];
let sent = null; // what is being committed
let undoable = null;
let node;
let tree;

export const all = () => list;
export const has = (zwr) => list.some((edit) => edit.node === zwr);

/** One more; a second set of the same node replaces the first, but remembers what was shown to it. What is being
 *  committed is not touched. */
export function add(edit) {
    const old = edit.op === "set" && list.find((other) => other.op === "set" && other.node === edit.node && !sent?.includes(other));
    if (old) Object.assign(old, edit, {shown: old.shown, before: old.before, conflict: null});
    else list = [...list, edit];
    undoable = null;
    draw();
    say(`${list.length} ${list.length === 1 ? "change" : "changes"} kept, not committed yet`);
}

export function panel(owner) {
    tree = owner;
    node ??= el("section", {class: "pending", "aria-label": "Changes to commit", hidden: true});
    draw();
    return node;
}

const values = (n) => `${number(n)} ${n === 1 ? "value" : "values"}`;
const counted = (n) => (n === undefined ? "more than was counted" : values(n));

const what = (edit) => edit.op === "set" ? (edit.text ?? `bytes ${edit.hex}`)
    : edit.op === "kill" ? (edit.nodes === undefined ? "with all below" : values(edit.nodes))
    : edit.there && edit.there.nodes !== 0 ? `to ${edit.to}, over ${counted(edit.there.nodes)}` : `to ${edit.to}`;

const seen = (value) => (value === null || value === undefined ? el("p", {class: "soft"}, "(not there)") : el("pre", {tabindex: 0}, value));

const readable = (now) => (now ? now.text ?? `${now.len} bytes` : null);

const base = (hex) => btoa(String.fromCharCode(...(hex.match(/../g) ?? []).map((pair) => parseInt(pair, 16))));

// As the server wants it.
function wire(edit) {
    const {op, node: at, to, nodes, place, mark, over, there} = edit;
    if (op === "set") return {op, node: at, was: edit.shown, value: edit.hex === undefined ? {text: edit.text} : {b64: base(edit.hex)}};
    return {op, node: at, to, nodes, place, mark, over, there};
}

// How much there is, beside how much was seen.
const since = (before, {nodes, changed, unknown}) => [nodes === before && !changed && !unknown ? `${values(nodes)}, not the same` : values(nodes),
    ...(changed ? ["changed meanwhile:", ...changed] : unknown ? ["some may have changed: the log does not reach back"] : [])].join("\n");

// Three texts: what was seen, what is there now, what would be written.  Of a set these are values; of the others how
// much there is, and some of what has changed since.
function three(edit) {
    const {conflict, op, to, there} = edit, {now, nodes, target} = conflict;
    if (op === "set") return [seen(edit.before), seen(readable(now)), seen(what(edit))];
    if (target && op === "merge") return [seen(`${counted(there.nodes)} at ${to}`), seen(since(there.nodes, conflict)), seen(`merge to ${to}, over what is there`)];
    if (target) return [seen(`nothing at ${to}`), seen(`${values(nodes)} at ${to}`), seen(`rename to ${to}, in place of what is there`)];
    return [seen(counted(edit.nodes)), seen(since(edit.nodes, conflict)), seen(op === "kill" ? `kill of ${values(nodes)}` : `${op} to ${to}`)];
}

function compare(edit) {
    const side = (title, content) => el("div", null, el("h3", null, title), content), [before, now, yours] = three(edit);
    return el("div", {class: "compare"}, side("You saw", before), side("There now", now), side("Yours", yours),
        el("div", {class: "buttons"}, button("Keep mine", () => decide(edit, true)), " ", button("Keep theirs", () => decide(edit, false))));
}

// What is there now is shown again.
function drop(some) {
    list = list.filter((edit) => !some.includes(edit));
    draw();
    tell("changed");
}

// Whoever keeps theirs drops the change; the other ones are about what is there now.
function decide(edit, mine) {
    const {now, nodes, mark, target} = edit.conflict;
    if (!mine) { drop([edit]); return; }
    if (target && edit.op === "merge") Object.assign(edit, {there: {nodes, mark}, conflict: null});
    else if (target) Object.assign(edit, {over: mark ?? true, conflict: null});
    else if (edit.op === "set") Object.assign(edit, {shown: now?.tag ?? null, before: readable(now), conflict: null});
    else Object.assign(edit, {nodes, mark, place: undefined, conflict: null});
    draw();
}

const row = (edit) => el("li", {class: edit.conflict ? "conflict" : null},
    el("span", {class: edit.op === "kill" ? "bad" : "soft"}, edit.op), el("span", {class: "mono", title: edit.node}, edit.node),
    el("span", {class: "mono to"}, what(edit)),
    button("Drop", () => drop([edit]), {class: "quiet", disabled: !!sent?.includes(edit), "aria-label": `Drop the ${edit.op} of ${edit.node}`}),
    edit.conflict ? compare(edit) : null);

function draw() {
    if (!node) return;
    node.hidden = !list.length && !undoable;
    if (!list.length && undoable) {
        show(node, el("div", {class: "tools"}, el("span", {class: "grow"}, `Committed ${undoable.count} ${undoable.count === 1 ? "change" : "changes"}.`),
            button("Undo", undo), button("Fine", () => { undoable = null; draw(); })));
        return;
    }
    const stuck = list.some((edit) => edit.conflict);
    show(node, el("div", {class: "tools"},
        el("h2", {class: "grow"}, stuck ? "Nothing was committed: somebody else changed what you saw" : `${list.length} ${list.length === 1 ? "change" : "changes"}, not committed yet`),
        button("Commit as one transaction", commit, {class: "main", disabled: stuck || !!sent}), button("Drop all", () => drop(list), {disabled: !!sent})),
    el("ol", null, list.map(row)));
}

/** All that is gathered now; what comes while the server works waits for the next time. */
export async function commit() {
    const these = sent = list;
    draw();
    try {
        const answer = await api.commit(these.map(wire));
        list = list.filter((edit) => !these.includes(edit));
        undoable = answer.undo && !list.length ? {...answer, count: these.length} : null;
        say("Committed");
        tell("changed");
    } catch (error) {
        if (!error.conflicts) toast(sentence(error));
        else say("Nothing was committed: somebody else changed what you saw");
        for (const conflict of error.conflicts ?? []) if (these[conflict.i]) these[conflict.i].conflict = conflict;
    }
    sent = null;
    draw();
}

async function undo() {
    const last = undoable;
    undoable = null;
    draw();
    const undone = await told(async () => {
        await api.undo(last.undo);
        say("Undone");
        tell("changed");
        return true;
    });
    if (undone || list.length) return;
    undoable = last;
    draw();
}

// What is gathered would be lost.
addEventListener("beforeunload", (event) => { if (list.length) event.preventDefault(); });
