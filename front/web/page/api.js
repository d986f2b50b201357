// All that the page asks of the server, and the only file that knows its addresses but for that of the line. What comes
// is turned into the shapes the rest of the page has: rows {key, zwr, sub, data, preview, bin}, values {len, bytes, version}.

import {call} from "./call.js";
import {follow} from "./line.js";

const encoder = new TextEncoder();

const ahead = new Map(); // answers that were asked for before they were wanted: each is for the first to want it

function get(path, query, signal) {
    const key = JSON.stringify([path, query]), early = ahead.get(key);
    ahead.delete(key);
    return early ?? call("GET", path, query, undefined, {signal});
}

function early(path, query) {
    const answer = call("GET", path, query), key = JSON.stringify([path, query]);
    answer.catch(() => undefined); // whoever wants it is told
    ahead.set(key, answer);
    setTimeout(() => ahead.get(key) === answer && ahead.delete(key), 2000); // nobody did: it grows old
}

const post = (path, body = {}) => call("POST", path, undefined, body);

/** ZWR of a child: a variable's name stands alone. */
export const child = (parent, sub) => !parent ? sub : parent.endsWith(")") ? `${parent.slice(0, -1)},${sub})` : `${parent}(${sub})`;

/** A variable as it is typed: the ^ may be left out. */
export const variable = (text) => (/^[a-z%]/i.test(text) ? `^${text}` : text);

/** A subscript as it is typed, in ZWR: a canonical number, what is quoted already, or text. */
export function subscript(text) {
    if (/^(0|-?([1-9]\d*|(?=\.))(\.\d*[1-9])?)$/.test(text) && text.replace(/\D/g, "").length < 19) return text;
    return /^(".*"|\$Z?C(HA?R?)?\(.*\))$/is.test(text) ? text : `"${text.replaceAll("\"", "\"\"")}"`;
}

const preview = (value) => (!value ? "" : value.text ?? `${value.len} bytes: ${hexOf(unbase(value.b64)).slice(0, 96)}`);
const hexOf = (data) => Array.from(data, (b) => b.toString(16).padStart(2, "0")).join(" ");
const unbase = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

const bytesOf = (value) => (value.text === undefined ? unbase(value.b64) : encoder.encode(value.text));

function toRow(parent, {sub, d, value}) {
    const zwr = child(parent, sub);
    return {key: zwr, zwr, sub, data: d, preview: preview(value), bin: Boolean(value && value.text === undefined)};
}

const toValue = (answer) => answer.value && {len: answer.value.len, bytes: bytesOf(answer.value), version: answer.value.tag};

// The last subscript of a key, as the server gave it with its row.
const subs = new Map();

function remember(rows) {
    if (subs.size > 50000) subs.clear();
    for (const row of rows) subs.set(row.zwr, row.sub);
    return rows;
}

async function subOf(key) {
    if (!subs.has(key)) await api.path(key);
    return subs.get(key);
}

// What a list asks for, in the words of the server.
async function cursor(node, query) {
    const {n, from, dir, since, at, sub, end, low, high, prefix} = query, back = dir === "prev", typed = node ? subscript : variable;
    const begin = node || prefix === undefined ? prefix : variable(prefix);
    const limits = {limit: n, prefix: begin, ...(high !== undefined && !back ? {to: typed(high)} : {}),
        ...(low !== undefined && back ? {to: typed(low)} : {})};
    if (from !== undefined) return {...limits, after: await subOf(from), reverse: back ? 1 : undefined};
    if (since !== undefined) return {...limits, from: await subOf(since)};
    if (sub !== undefined) return {...limits, from: typed(sub)};
    if (end && prefix !== undefined) return {...limits, reverse: 1};
    if (end && high === undefined) return {...limits, end: 1};
    if (end) return {...limits, from: typed(high), to: low === undefined ? undefined : typed(low), reverse: 1};
    if (at !== undefined && low === undefined && high === undefined && prefix === undefined) return {...limits, at};
    return {...limits, from: low === undefined ? undefined : typed(low)};
}

// A range is as long as what was seen of it; a whole level knows its length, exactly or about.
function measure(answer, rows, query) {
    const limited = query.low !== undefined || query.high !== undefined || query.prefix !== undefined;
    if (limited) return {total: rows.length, exact: !answer.more && !answer.before, at: 0};
    return {total: answer.total, exact: answer.exact, at: answer.index && answer.total ? answer.index / answer.total : 0};
}

export const api = {
    info: null,
    greeted: Promise.resolve(), // the first answer to hello(), or that there is none

    async hello(signal) {
        return (api.info = await get("/api/info", {}, signal));
    },

    login: (secret) => post("/api/login", secret),

    async children(node, query) {
        const asked = await cursor(node, query);
        const answer = await get("/api/children", {node, ...asked});
        const back = Boolean(asked.reverse), rows = remember(answer.rows.map((row) => toRow(node, row)));
        if (back) rows.reverse();
        return {rows, first: !answer.before, last: !answer.more, ...measure(answer, rows, query)};
    },

    /** The first rows of a level that is about to be shown. node: as it will be asked for; else nothing is gained. */
    ahead: (node, n) => early("/api/children", {node, limit: n}),

    async path(text) {
        const found = await get("/api/path", {text});
        const names = [...found.parents, found.node];
        const chain = names.map((zwr, i) => ({key: zwr, zwr, sub: i === 0 ? zwr : found.subs[i - 1], data: i < names.length - 1 ? 10 : found.d}));
        remember(chain);
        return {...chain.at(-1), parents: chain.slice(0, -1), value: found.value};
    },

    complete: (text) => get("/api/complete", {text}).then((answer) => answer.list),

    /** A piece of a value; null: there is none. data: as $DATA. */
    async value(node, at, n, signal) {
        const answer = await get("/api/value", {node, at, n}, signal);
        return {data: answer.d, value: toValue(answer)};
    },

    total: (node, signal) => get("/api/total", {node}, signal),
    count: (node) => get("/api/count", {node}),
    commit: (changes) => post("/api/commit", {changes}),
    undo: (id) => post("/api/undo", {undo: id}),
    clear: (pid) => post("/api/locks/clear", {pid}),

    find: (query, handlers) => follow("/api/find", query, handlers, ["done", "failed"]),
    live: (query, handlers) => follow("/api/live", query, handlers),
    log: (query, handlers) => follow("/api/log", query, handlers, ["failed"]),

    jobs: () => get("/api/jobs").then((answer) => answer.jobs),
    start: (job) => post("/api/jobs", job).then((answer) => answer.id),
    follow: (id, handlers) => follow(`/api/jobs/${id}`, {}, handlers, ["done", "failed"]),
    cancel: (id) => post(`/api/jobs/${id}/cancel`),

    console: (language) => post("/api/console", {language}).then((answer) => answer.id),
    listen: (id, handlers) => follow(`/api/console/${id}`, {}, handlers, ["ended"]),
    run: (id, text) => post(`/api/console/${id}/run`, {text}).then((answer) => answer.n),
    stop: (id) => post(`/api/console/${id}/stop`),
    offers: (id, text) => post(`/api/console/${id}/complete`, {text}),
    close: (id) => call("POST", `/api/console/${id}/close`, undefined, {}, {keepalive: true}).catch(() => undefined),
};
