-- The server of `caret web`: which request goes where, and how it is answered.
--
-- A handler is a function of the app and the request (with `data`, the JSON of a POST) that returns a table,
-- which is sent as JSON; or nil, status, headers, body or stream.  What it raises becomes {"error": {name,
-- text}}.

local host = require "caret.host"
local http = require "caret.http"
local programs = require "caret.programs"
local json = require "tool.web.json"
local refuse = require "tool.web.refuse"

local app = {}
app.__index = app

local MOST_BODY = 24 << 20
local FRESH = 3 -- seconds after which what is shown of a database on a server is asked for again

local POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " ..
    "connect-src 'self'; font-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'; " ..
    "report-uri /api/csp"

local SAFE = {
    ["Content-Security-Policy"] = POLICY,
    ["X-Content-Type-Options"] = "nosniff",
    ["Referrer-Policy"] = "no-referrer",
    ["Cross-Origin-Resource-Policy"] = "same-origin",
    ["Cross-Origin-Opener-Policy"] = "same-origin",
    ["X-Frame-Options"] = "DENY",
}

local TYPES = {
    html = "text/html; charset=utf-8", js = "text/javascript; charset=utf-8", css = "text/css; charset=utf-8",
    svg = "image/svg+xml", png = "image/png", webp = "image/webp", ico = "image/x-icon",
    json = "application/json", woff2 = "font/woff2", webmanifest = "application/manifest+json",
}

local function with_safe(headers)
    for name, value in pairs(SAFE) do headers[name] = headers[name] or value end
    return headers
end

-- ----------------------------------------------------------------- the page

--- Files of the page by their paths: bytes, as they were compressed by the build, and a tag. index.html names
-- the others as /v-VERSION/NAME (tools/page.sh): what is asked for so stays the same for ever.
local function page_files()
    local files, kept = {}, "/v-" .. (programs.text "page/version" or "")
    local function add(path, text)
        local file = {bytes = text, tag = '"' .. http.tag(text) .. '"',
            type = TYPES[path:match "%.(%w+)$"] or "application/octet-stream"}
        files[path] = file
        files[kept .. path] = setmetatable({keep = "private, max-age=31536000, immutable"}, {__index = file})
    end
    for _, name in ipairs(programs.names "page/") do
        if name ~= "page/version" then add(name:sub(5), programs.text(name)) end
    end
    files["/"] = files["/index.html"]
    return files
end

-- The one at a path; a page that an older program sent asks for what this one has.
local function file_of(self, path)
    return self.files[path] or self.files[path:match "^/v%-%x+(/.+)$"]
end

local function send_file(file, request)
    local headers = with_safe {["Content-Type"] = file.type, ["Cache-Control"] = file.keep or "no-cache",
        ETag = file.tag, Vary = "Accept-Encoding"}
    if request.headers["if-none-match"] == file.tag then return 304, headers, "" end
    if not (request.headers["accept-encoding"] or ""):find("gzip", 1, true) then
        headers.ETag, headers["Content-Type"] = nil, "text/plain"
        return 406, headers, "this page is sent to browsers that take gzip\n"
    end
    headers["Content-Encoding"] = "gzip"
    return 200, headers, file.bytes
end

-- The page; a token in the address becomes a cookie.
local function send_page(self, file, request)
    local token = request.path == "/" and request.query.token
    local cookie = token and not self.guard:cookie(request) and self.guard:login {token = token}
    if token and not cookie then self.guard:use_token(token) end
    local status, headers, body = send_file(file, request)
    if cookie then
        headers["Set-Cookie"], headers["Cache-Control"] = cookie, "no-store"
        if status == 304 then status, headers["Content-Encoding"], body = 200, "gzip", file.bytes end
    end
    return status, headers, body
end

-- ------------------------------------------------------------------- answers

local function send_json(status, value, headers)
    headers = with_safe(headers or {})
    headers["Content-Type"], headers["Cache-Control"] = "application/json", "no-store"
    return status, headers, json.encode(value)
end

local function send_error(wrong)
    local e = refuse.from(wrong)
    if not e then
        io.stderr:write("caret web: ", tostring(wrong), "\n")
        e = {name = "INTERNAL", text = "the server made a mistake; its terminal tells which", status = 500}
    end
    local body = {error = {name = e.name, text = e.text}}
    for name, value in pairs(e.more or {}) do body[name] = value end
    return send_json(e.status, body, (e.status == 503 or e.status == 429) and {["Retry-After"] = "2"} or nil)
end

local function send(result, status, headers, body)
    if result then return send_json(200, result) end
    headers = with_safe(headers or {})
    headers["Cache-Control"] = headers["Cache-Control"] or "no-store"
    return status, headers, body or ""
end

-- -------------------------------------------------------------------- routes

-- The handler, and what the last part of the path is if the route ends with a star.
local function route_of(self, path)
    local route = self.routes[path]
    if route then return route end
    local head, id, tail = path:match "^(/api/%a+/)(%w+)(.*)$"
    return head and self.routes[head .. "*" .. tail], id
end

local function check_method(route, request)
    if not route[request.method] then
        refuse.with("METHOD", ("%s is not for this address"):format(request.method:sub(1, 20)))
    end
end

local function check_body(request)
    local length = request.headers["content-length"]
    if length and request.headers["transfer-encoding"] then
        refuse.with("SYNTAX", "two lengths of one body")
    end
    if length and not length:find "^%d+$" then refuse.with("SYNTAX", "a bad Content-Length") end
    if length and tonumber(length) > MOST_BODY then
        refuse.with("TOOBIG", "a request has 24 MiB at most")
    end
end

local function check_type(request)
    if not (request.headers["content-type"] or ""):find "^application/json" then
        refuse.with("TYPE", "a POST is application/json")
    end
end

-- Whether the head of a request is right: how long its body may be.
local function accept(self, request)
    self.guard:check_place(request)
    check_body(request)
    local file = file_of(self, request.path)
    if file then
        if request.method ~= "GET" and request.method ~= "HEAD" then
            refuse.with("METHOD", "the page is read by GET")
        end
        return 0
    end
    local route, id = route_of(self, request.path)
    if not route then refuse.with("NOTFOUND", "there is nothing at this address") end
    check_method(route, request)
    if not route.open then self.guard:check_session(request) end
    if request.method == "POST" and not route.raw then check_type(request) end
    request.route, request.id = route, id
    return route.open and 65536 or MOST_BODY
end

local function read_json(request, body)
    if request.method ~= "POST" or request.route.raw then return end
    local data, wrong = json.decode(body == "" and "{}" or body)
    if type(data) ~= "table" then
        refuse.with("SYNTAX", "the request is not JSON: " .. (wrong or "no object"))
    end
    request.data = data
end

local function handle(self, request, body)
    local file = file_of(self, request.path)
    if file then return send_page(self, file, request) end
    read_json(request, body)
    request.body = body
    return send(request.route[request.method](self, request))
end

-- Errors of the database are objects that become "NAME: text".
local function explain(wrong)
    if refuse.from(wrong) then return wrong end
    return type(wrong) == "string" and debug.traceback(wrong, 2) or wrong
end

-- ---------------------------------------------------------------------- open

--- For http.open: a request's head, then all of it.
function app:accept(request)
    local ok, result = xpcall(accept, explain, self, request)
    if ok then return result end
    return nil, send_error(result)
end

function app:handle(request, body)
    local result = table.pack(xpcall(handle, explain, self, request, body))
    if result[1] then return result[2], result[3], result[4] end
    return send_error(result[2])
end

--- A handler for a path: app:route("GET", "/api/info", f, {open = true: without a cookie, raw = true: no
-- JSON}).
function app:route(method, path, f, options)
    local route = self.routes[path] or {}
    route[method] = f
    for name, value in pairs(options or {}) do route[name] = value end
    self.routes[path] = route
end

--- Refuse if the data file was removed, or another one is in its place: the nodes that are shown are in the
-- old one, and what is set in that is lost when the last process ends.
function app:check_file()
    if host.identity(self.file) ~= self.identity then
        refuse.with("REPLACED", "the data file was removed or replaced: start caret web again")
    end
end

--- Refuse if this server may not change anything.
function app:check_write()
    if not self.write then
        refuse.with("READONLY", "the server was started for looking only: caret web --write")
    end
    self:check_file()
end

--- What sees the processes, locks and log of the database; refuses if this server does not, and names `what`.
function app:check_inspect(what)
    if self.elsewhere then
        refuse.with("UNSUPPORTED", what .. " of a database in a file are seen here; this one is on a server")
    elseif not self.inspect then
        refuse.with("READONLY",
            "the database may only be read: " .. what .. " are seen by those who may write")
    end
    return self.inspect
end

--- Where the database is at: it is another place after each change.  One on a server may always have changed.
function app:place()
    return self.elsewhere and math.floor(host.clock() - self.started) // FRESH or self.db:place()
end

--- options: db, inspect (nil: processes, locks and the log are not seen), file: its path or address, write,
-- with_console, loop, hosts.
function app.new(options)
    local self = setmetatable(options, app)
    self.elsewhere = self.file:match "^/" == nil and self.file:find("://", 1, true) ~= nil
    if self.elsewhere then self.inspect = nil end
    self.jobs, self.consoles = {}, {}
    self.routes, self.files, self.boot, self.reports = {}, page_files(), http.random(8), 0
    self.started, self.identity = host.clock(), host.identity(self.file)
    return self
end

return app
