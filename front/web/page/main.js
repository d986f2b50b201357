// The frame of the page: who we are, whether the server is there, which view is shown.
//
// A heartbeat asks for /api/info each second while somebody looks: it tells that the server is there, that it is
// the same one (`boot`), and by `place`, the end of the log, that the database has changed. Views hear of that by
// the bus and look again; a view that is not shown asks for nothing.

import {api} from "./api.js";
import {byId, el, say, sentence, show, tell} from "./dom.js";
import {format, parse} from "./route.js";
import {Tree} from "./tree.js"; // at once: nearly everybody comes to see it

const VIEWS = [
    ["tree", "Tree", () => Tree],
    ["live", "Live", () => import("./live.js").then((m) => m.Live)],
    ["locks", "Locks", () => import("./locks.js").then((m) => m.Locks)],
    ["space", "Space", () => import("./space.js").then((m) => m.Space)],
    ["log", "Log", () => import("./log.js").then((m) => m.Log)],
    ["console", "Console", () => import("./console.js").then((m) => m.Console)],
    ["3n1", "3n+1", () => import("./threen.js").then((m) => m.Race)],
];
const BEAT = 1000;
const made = new Map();
let shown = null;
let misses = 0;
let routes = 0;
let pulse = 0; // of the heartbeat: there is one, however often the window is hidden and shown
let out = false; // nobody is signed in

function drawTabs(now) {
    show(byId("tabs"), VIEWS.map(([name, title]) => el("a", {href: format(name, {}), "aria-current": name === now ? "page" : null}, title)));
    requestAnimationFrame(() => byId("tabs").querySelector("[aria-current]")?.scrollIntoView({block: "nearest", inline: "nearest"}));
}

async function route() {
    if (out) return;
    const {view, params} = parse(), mine = ++routes;
    const [name, title, load] = VIEWS.find(([id]) => id === view) ?? VIEWS[0];
    const View = made.has(name) ? null : await load();
    if (mine !== routes) return; // the address has changed meanwhile
    if (!made.has(name)) made.set(name, new View());
    if (name !== "tree") await api.greeted; // the others are drawn by what the server allows
    if (mine !== routes) return;
    const wanted = made.get(name);
    if (wanted !== shown) {
        shown?.unmount();
        shown = wanted;
        drawTabs(name);
        byId("main").setAttribute("aria-label", title);
        wanted.mount(byId("main"));
        document.title = `${title} · ${api.info?.name ?? "caret"}`;
    }
    await wanted.route?.(params);
}

// ------------------------------------------------------------ the server

function state(kind, text) {
    const node = byId("state");
    if (node.textContent === text) return;
    node.className = `state ${kind}`;
    node.textContent = text;
}

function introduce(info) {
    const name = info.file.match(/[^/]*$/)[0], file = byId("file");
    if (file.title !== info.file) show(file, el("span", {class: "folder"}, info.file.slice(0, info.file.length - name.length)), el("span", {class: "name"}, name));
    file.title = info.file;
    const mode = byId("mode");
    mode.hidden = false;
    mode.textContent = info.write ? "write" : "read-only";
    mode.classList.toggle("write", info.write);
    mode.title = info.write ? "This page can change the database" : "Start caret web with --write to change things";
}

function lost(error) {
    misses++;
    const text = error.status ? sentence(error) : "The server is gone. This page goes on when it is back: start caret web again.";
    state("off", error.status ? "trouble" : "not connected");
    if (misses > 1 || error.status) {
        byId("lost").textContent = text;
        byId("lost").hidden = false;
    }
}

function back(before, info) {
    misses = 0;
    state("on", "connected");
    byId("lost").hidden = true;
    introduce(info);
    if (before && before.boot !== info.boot) {
        say("Connected again, to a server that was started anew");
        tell("reborn");
        tell("changed");
    } else if (before && before.place !== info.place) tell("changed");
}

async function beat() {
    clearTimeout(pulse);
    if (document.hidden || out) return;
    const before = api.info;
    try {
        back(before, await api.hello(AbortSignal.timeout(4000)));
    } catch (error) {
        if (error.status === 401) { signIn(); return; }
        lost(error);
    }
    next();
}

function next() {
    clearTimeout(pulse);
    pulse = setTimeout(beat, BEAT);
}

// ------------------------------------------------------------ signing in

function signIn(text) {
    const input = el("input", {type: "password", autocomplete: "current-password", required: true, "aria-label": "Token or password"});
    const enter = async (event) => {
        event.preventDefault();
        const secret = input.value.trim().replace(/^.*token=/, "");
        try {
            await api.login({token: secret, password: input.value});
            start();
        } catch (error) {
            signIn(sentence(error));
        }
    };
    state("off", "not signed in");
    out = true;
    routes++;
    shown?.unmount();
    shown = null;
    show(byId("main"), el("form", {class: "form sign-in", onsubmit: enter}, el("h2", null, "Open the address that caret web printed"),
        el("p", {class: "soft"}, "It has a token that works once. Or paste the token, or the password of --password, here."),
        el("p", {class: "bad", role: "alert"}, text ?? ""), el("label", null, "Token or password", input),
        el("div", {class: "buttons"}, el("button", {type: "submit", class: "main"}, "Sign in"))));
    input.focus();
}

// ------------------------------------------------------------ colours

const THEMES = {system: "◐", light: "○", dark: "●"};
const dark = matchMedia("(prefers-color-scheme: dark)");

function paint() {
    const theme = localStorage.getItem("theme") ?? "system";
    document.documentElement.dataset.theme = theme === "system" ? (dark.matches ? "dark" : "light") : theme;
    byId("theme").textContent = THEMES[theme];
    byId("theme").setAttribute("aria-label", `Colours: ${theme === "system" ? "as the system" : theme}`);
    return theme;
}

function turn() {
    const names = Object.keys(THEMES);
    localStorage.setItem("theme", names[(names.indexOf(paint()) + 1) % names.length]);
    paint();
}

// Is somebody signed in?
async function greet() {
    try {
        back(null, await api.hello());
    } catch (error) {
        if (error.status === 401) { signIn(); return false; }
        lost(error);
    }
    return true;
}

function start() {
    history.replaceState(null, "", location.pathname + location.hash);
    out = false;
    api.greeted = greet();
    route(); // its first rows are asked for beside the greeting
    api.greeted.then((known) => known && next());
}

paint();
dark.addEventListener("change", paint);
byId("theme").addEventListener("click", turn);
byId("skip").addEventListener("click", (event) => { event.preventDefault(); byId("main").focus(); });
addEventListener("hashchange", route);
document.addEventListener("visibilitychange", () => { if (!document.hidden) beat(); });
start();
