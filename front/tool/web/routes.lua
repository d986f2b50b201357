-- The addresses of the page's interface, and what answers.

local caret = require "caret"
local host = require "caret.host"
local edit = require "tool.web.edit"
local console = require "tool.web.console"
local events = require "tool.web.events"
local find = require "tool.web.find"
local jobs = require "tool.web.jobs"
local live = require "tool.web.live"
local log = require "tool.web.log"
local refuse = require "tool.web.refuse"
local tree = require "tool.web.tree"

local routes = {}

-- ------------------------------------------------------------------- signing in

local function login(app, request)
    local cookie = app.guard:login(request.data)
    if not cookie then refuse.with("FORBIDDEN", "that is not right, or was used before") end
    return nil, 204, {["Set-Cookie"] = cookie}
end

local function logout(app, request)
    app.guard:logout(request)
    return nil, 204
end

local function token(app)
    return {url = app:address()}
end

local function report(app)
    app.reports = app.reports + 1
    return nil, 204
end

-- ------------------------------------------------------------------------ info


local function info(app)
    app:check_file()
    local n = 0
    for _ in app.db:variables() do n = n + 1 end
    local path = app.db:path()
    return {version = caret._VERSION, file = path, name = path:match "[^/]*$", boot = app.boot,
        write = app.write, console = app.with_console, languages = console.languages(app),
        attached = app.inspect ~= nil, pid = host.getpid(), csp = app.reports, variables = n,
        place = app:place()}
end

--- All of them, into the app.
function routes.add(app)
    app:route("POST", "/api/login", login, {open = true})
    app:route("POST", "/api/csp", report, {open = true, raw = true})
    app:route("POST", "/api/logout", logout)
    app:route("POST", "/api/token", token)
    app:route("GET", "/api/info", info)
    app:route("POST", "/api/commit", edit.commit)
    app:route("POST", "/api/undo", edit.undo)
    app:route("GET", "/api/line", events.open)
    app:route("POST", "/api/line/*/leave", events.leave)
    app:route("GET", "/api/find", find.start)
    app:route("GET", "/api/log", log.follow)
    app:route("GET", "/api/live", live.follow)
    app:route("POST", "/api/locks/clear", live.clear)
    app:route("POST", "/api/jobs", jobs.start)
    app:route("GET", "/api/jobs", jobs.list)
    app:route("GET", "/api/jobs/*", jobs.follow)
    app:route("POST", "/api/jobs/*/cancel", jobs.cancel)
    app:route("POST", "/api/console", console.start)
    app:route("GET", "/api/console/*", console.listen)
    for _, name in ipairs {"run", "stop", "complete", "close"} do
        app:route("POST", "/api/console/*/" .. name, console[name])
    end
    for _, name in ipairs {"children", "total", "path", "complete", "value", "raw", "count"} do
        app:route("GET", "/api/" .. name, tree[name])
    end
end

--- What was started by them ends, within some seconds.
function routes.finish(app)
    local deadline = host.clock() + 5
    jobs.finish(app, deadline)
    console.finish(app, deadline)
end

return routes
