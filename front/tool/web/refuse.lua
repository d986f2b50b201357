-- How a request is refused: a status, a name and a plain sentence.

local refuse = {}
local class = {}

local STATUS = {
    UNAUTHORIZED = 401, FORBIDDEN = 403, READONLY = 403, CONSOLE = 403, NOTFOUND = 404, METHOD = 405,
    CONFLICT = 409, TOOBIG = 413, TYPE = 415, HOST = 421, TRIES = 429, BUSY = 503, LIMIT = 503,
    CLOSED = 503, REPLACED = 503, EVICTED = 503, IO = 503, DISKFULL = 507, CORRUPT = 500, INTERNAL = 500,
    UNSUPPORTED = 501,
}

--- End the request: refuse.with("NOTFOUND", "there is no job 7", {more = fields}).
function refuse.with(name, text, more)
    error(setmetatable({name = name, text = text, status = STATUS[name] or 400, more = more}, class), 0)
end

--- What was raised, as such a table: of refuse.with(), or of the database.
function refuse.from(wrong)
    if getmetatable(wrong) == class then return wrong end
    local text = tostring(wrong)
    local name, rest = text:match("^(%u[%u%d_]+): (.*)$")
    if not name then name, rest = text:match(": (%u[%u%d_]+): (.*)$") end
    if not name then return nil end
    rest = rest:gsub("\nstack traceback:.*$", "")
    return {name = name, text = rest, status = STATUS[name] or 400}
end

return refuse
