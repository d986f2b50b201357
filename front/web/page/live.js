// What the database does now. The events come only while this view is shown and the window is looked at.

import {api} from "./api.js";
import {bytes, el, empty, number, rate, renew, seconds, sentence, show, table, visible} from "./dom.js";
import {Card, share} from "./chart.js";
import {format} from "./route.js";

const RATES = [["gets", "Gets"], ["sets", "Sets"], ["commits", "Commits"], ["restarts", "Restarts"], ["lock_waits", "Waits for locks"],
    ["flushes", "Flushes of the log"], ["checkpoints", "Checkpoints"]];
const OUTRUN = "So much changes that the log was overwritten before this page read it.";
const link = (zwr) => el("a", {href: format("tree", {at: zwr}), class: "mono"}, visible(zwr));
const ages = (s) => (s === undefined || s === null ? "" : seconds(s));

/** Follows the live events while it is shown; Locks is another of these. */
export class Watcher {
    mount(main) {
        this.main = main;
        show(main, this.node);
        this.look = () => (document.hidden ? this.rest() : this.wake());
        document.addEventListener("visibilitychange", this.look);
        this.wake();
    }

    wake() {
        this.source ??= api.live(this.query ?? {every: 1}, {live: (now) => this.take(now), lost: () => this.again(),
            refused: (error) => this.refused(error)});
    }

    again() {
        this.rest();
        this.retry = setTimeout(() => this.wake(), 2000);
    }

    refused(error) {
        if (error.status !== 403 && error.status !== 501) { this.again(); return; }
        show(this.main, empty("Nothing of this is seen here", sentence({text: error.text})));
    }

    rest() {
        clearTimeout(this.retry);
        this.source?.close();
        this.source = null;
    }

    unmount() {
        document.removeEventListener("visibilitychange", this.look);
        this.rest();
    }
}

const panel = (title, node) => el("section", {class: "panel", "aria-label": title}, el("h2", null, title), node);

export class Live extends Watcher {
    constructor() {
        super();
        this.cards = Object.fromEntries(RATES.map(([name, title]) => [name, new Card(title, "/s")]));
        Object.assign(this.cards, {batch: new Card("Commits per flush", ""), lag: new Card("Log not on disk", ""), file: new Card("Not in the file", ""),
            arena: new Card("Arena in use", "")});
        this.parts = Object.fromEntries(["processes", "globals", "hot", "collisions", "server", "clients", "slow"].map((name) =>
            [name, el("div", {class: "table", tabindex: 0, role: "region", "aria-label": `Table of ${name}`})]));
        this.node = el("div", {class: "scroll"}, el("div", {class: "cards"}, Object.values(this.cards).map((card) => card.node)),
            el("div", {class: "panels"}, panel("Processes", this.parts.processes), panel("Globals", this.parts.globals),
                panel("Hottest nodes", this.parts.hot),
                panel("Where transactions collide", this.parts.collisions), panel("Server: commands", this.parts.server),
                panel("Server: clients", this.parts.clients), panel("Server: slow commands", this.parts.slow)));
        for (const part of Object.values(this.parts)) show(part, el("p", {class: "note"}, "The first figures come in a second."));
        for (const part of [this.parts.clients, this.parts.slow]) part.parentElement.hidden = true; // until a server is known
    }

    take(now) {
        for (const [name] of RATES) this.cards[name].add(now.rates[name] ?? 0, rate(now.rates[name] ?? 0));
        const {flushes, commits} = now.rates, group = flushes ? commits / flushes : 0;
        this.cards.batch.add(group, flushes ? rate(group) : "–");
        this.cards.lag.add(now.log_lag, bytes(now.log_lag));
        this.cards.file.add(now.checkpoint_lag, bytes(now.checkpoint_lag));
        const part = now.stat.arena_slots ? now.stat.arena_used / now.stat.arena_slots : 0;
        this.cards.arena.add(part, `${(100 * part).toFixed(part < 0.1 ? 1 : 0)} %`);
        this.tables(now);
        this.server(now.server);
    }

    tables(now) {
        const most = Math.max(1e-9, ...now.processes.map((p) => p.gets + p.sets));
        renew(this.parts.processes, table("Processes", [["pid", "num"], ["program"], ["gets/s", "num"], ["sets/s", "num"], ["commits/s", "num"], ["restarts/s", "num"], ["share"]],
            now.processes.map((p) => [String(p.pid), p.command + (p.self ? " (this page)" : "") + (p.alive ? "" : " (dead)"), rate(p.gets), rate(p.sets),
                rate(p.commits), rate(p.restarts), share((p.gets + p.sets) / most, "")])));
        const top = Math.max(1e-9, ...now.globals.map((g) => g.changes + g.gets));
        renew(this.parts.globals, now.globals.length
            ? table("Globals", [["global"], ["changes/s", "num"], ["gets/s ~", "num"], ["share"]],
                now.globals.map((g) => [link(g.name), rate(g.changes), rate(g.gets), share((g.changes + g.gets) / top, "")]))
            : el("p", {class: "note"}, now.globals_complete ? "In the last second nothing was changed, and little was read." : OUTRUN));
        renew(this.parts.hot, now.hot?.length ? table("Hottest nodes", [["node"], ["changes/s", "num"]], now.hot.map((h) => [link(h.node), rate(h.changes)]))
            : el("p", {class: "note"}, now.globals_complete ? "No node changes now." : OUTRUN));
        renew(this.parts.collisions, now.collisions?.length
            ? table("Where transactions collide", [["node"], ["restarts/s", "num"], ["in all", "num"], ["last pid", "num"]], now.collisions.map((c) =>
                [el("span", null, link(c.name), c.above ? " (below it)" : ""), rate(c.restarts), number(c.count), String(c.pid)]))
            : el("p", {class: "note"}, "No transaction was restarted in the last second."));
    }

    server(server) {
        const none = (text) => el("p", {class: "note"}, text);
        for (const part of [this.parts.clients, this.parts.slow]) part.parentElement.hidden = !server || Boolean(server.wrong);
        if (!server || server.wrong) {
            renew(this.parts.server, none(server?.wrong ? `Its caret serve does not answer: ${server.wrong}` : "No caret serve has this database open."));
            return;
        }
        renew(this.parts.server, table("Commands", [["command"], ["calls/s", "num"], ["µs each", "num"]], server.commands.map((c) => [c.name, rate(c.calls), rate(c.usec)])));
        renew(this.parts.clients, table("Clients", [["id", "num"], ["address"], ["name"], ["age", "num"], ["idle", "num"], ["last command"]],
            server.clients.map((c) => [String(c.id), c.address, c.name, ages(c.age), ages(c.idle), c.command])));
        renew(this.parts.slow, server.slow?.length ? table("Slow commands", [["ms", "num"], ["command", "mono"], ["client"]],
            server.slow.map((s) => [number(s.usec / 1000), Array.isArray(s.command) ? s.command.join(" ") : s.command, s.client])) : none("No command was slow."));
    }
}
