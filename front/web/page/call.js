// A question to the server, and its answer as JSON.

export class ApiError extends Error {
    constructor(status, body) {
        const error = body?.error ?? {};
        super(error.text ?? `The server answered ${status}.`);
        Object.assign(this, {status, code: error.name, text: error.text, conflicts: body?.conflicts, hint: HINTS[error.name]});
    }
}

const HINTS = {
    READONLY: "Start it with --write to change things.",
    CONSOLE: "Start it with --console to have one.",
    UNAUTHORIZED: "Open the address that caret web printed.",
    LIMIT: "Close other windows of this page.",
};

/** query: what is empty is left out; more: other options of fetch(). An ApiError if it is refused. */
export async function call(method, path, query, body, more) {
    const url = new URL(path, location.origin);
    for (const [name, value] of Object.entries(query ?? {})) {
        if (value !== undefined && value !== null && value !== "") url.searchParams.set(name, value);
    }
    const options = {method, credentials: "same-origin", ...more};
    if (body !== undefined) Object.assign(options, {body: JSON.stringify(body), headers: {"Content-Type": "application/json"}});
    const answer = await fetch(url, options);
    const said = answer.status === 204 ? null : await answer.json().catch(() => null);
    if (!answer.ok) throw new ApiError(answer.status, said);
    return said;
}
