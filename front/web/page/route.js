// The place of the page is in its address: #view?name=value&... Back, reload and sharing work by themselves.

export function parse(hash = location.hash) {
    const [view, query] = hash.replace(/^#/, "").split(/\?(.*)/s);
    return {view: view || "tree", params: new URLSearchParams(query ?? "")};
}

export function format(view, params) {
    const text = new URLSearchParams(Object.entries(params).filter(([, value]) => value !== undefined && value !== null && value !== "")).toString();
    return `#${view}${text ? `?${text}` : ""}`;
}

/** Go there. Small steps replace the place, so that back leads to where somebody came from. */
export function go(view, params, {replace = false, quiet = false} = {}) {
    const hash = format(view, params);
    if (hash === location.hash) return;
    history[replace ? "replaceState" : "pushState"](null, "", hash);
    if (!quiet) dispatchEvent(new HashChangeEvent("hashchange"));
}
