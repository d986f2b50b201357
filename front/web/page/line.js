// All that goes on, by one stream of the server: a browser has six connections to it for all windows together, and each
// stream keeps one.
//
//     none --follow()--> asked --"line"--> open --nobody follows anything for a while--> none
//
// Whatever is followed is a channel with a number; it is joined by a request of its own when the line is open. If the
// line is lost, every channel is told so and is gone: whoever wants it follows once more.

import {call} from "./call.js";

const QUIET = 500; // milliseconds that an idle line is kept: the next view may want it

let source = null; // the line that was asked for
let id = null; // its name at the server, as soon as it is open
let count = 0;
let resting;
const channels = new Map();

/**
 * Events of the server by their names, until one of `last`, or close(). handlers.lost(): the line was lost, or the
 * server has ended the channel without a last event; handlers.refused(error): the server does not allow it (else lost()
 * is called).
 */
export function follow(path, query, handlers, last = []) {
    const number = ++count;
    channels.set(number, {path, query, handlers, last});
    clearTimeout(resting);
    if (id) join(number);
    else if (!source) open();
    return {close: () => leave(number)};
}

function open() {
    source = new EventSource("/api/line");
    source.addEventListener("line", (event) => {
        id = JSON.parse(event.data).id;
        for (const number of channels.keys()) join(number);
    });
    source.addEventListener("to", (event) => take(JSON.parse(event.data)));
    source.addEventListener("error", lost);
}

function shut() {
    source?.close();
    source = id = null;
}

async function join(number) {
    const {path, query, handlers} = channels.get(number), line = id;
    try {
        await call("GET", path, {...query, line, channel: number});
        if (!channels.has(number)) told(line, number); // it was left before the server knew it
    } catch (error) {
        if (line !== id || !channels.delete(number)) return;
        rest();
        if (error.status && handlers.refused) handlers.refused(error);
        else handlers.lost?.();
    }
}

function take({c, n, d}) {
    const channel = channels.get(c);
    if (!channel) return;
    if (n === undefined || channel.last.includes(n)) end(c);
    if (n === undefined) channel.handlers.lost?.();
    else channel.handlers[n]?.(d);
}

function lost() {
    const all = [...channels.values()];
    shut();
    channels.clear();
    for (const channel of all) channel.handlers.lost?.();
}

const told = (line, number) => call("POST", `/api/line/${line}/leave`, undefined, {channel: number}).catch(() => undefined);

function leave(number) {
    if (!channels.has(number)) return;
    end(number);
    if (id) told(id, number);
}

function end(number) {
    channels.delete(number);
    rest();
}

function rest() {
    clearTimeout(resting);
    resting = setTimeout(() => channels.size || shut(), QUIET);
}
