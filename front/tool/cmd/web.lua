-- caret web: a page to look into a database with a browser.

local command = require "tool.lib.command"
local inspect = require "caret.inspect"
local programs = require "caret.programs"

local PORT = 7390

-- ----------------------------------------------------------------- arguments

local function read_file(path, what)
    local f, text = io.open(path, "rb")
    if not f then command.fail(("%s: %s"):format(what, text)) end
    local bytes = f:read "a"
    f:close()
    return bytes
end

-- Addresses of this machine alone, as they are in the address that is printed.
local LOOPBACK = {["127.0.0.1"] = "127.0.0.1", ["::1"] = "[::1]", ["localhost"] = "127.0.0.1"}

-- The password; nil: there is none.
local function password_of(o)
    local text = o.password and read_file(o.password, "--password"):match "^[^\r\n]*"
        or os.getenv "CARET_WEB_PASSWORD"
    if text and #text < 12 then command.usage "a password has at least 12 bytes" end
    return text
end

-- Others may come from elsewhere only by TLS, and with a password.
local function check_bind(o, password)
    if (o.cert == nil) ~= (o.key == nil) then command.usage "--cert and --key go together" end
    if LOOPBACK[o.bind] then return end
    if not o.cert or not password then
        local form = "--bind %s is open to other machines: it needs --cert, --key and --password"
        command.usage(form:format(o.bind))
    end
end

local function hosts_of(o)
    local list = {"127.0.0.1", "localhost", "[::1]"}
    if LOOPBACK[o.bind] then
        if o.host then command.usage "--host goes with a --bind that is open to other machines" end
        return list
    end
    list = {o.bind:find ":" and "[" .. o.bind .. "]" or o.bind}
    for name in (o.host and o.host .. "," or ""):gmatch "([^,]*)," do
        if not (name:find "^%w[%w.-]*$" or name:find "^%[[%x:.]+%]$") then
            command.usage(("--host: '%s' is not the name of a machine"):format(name))
        end
        list[#list + 1] = name
    end
    return list
end

-- ------------------------------------------------------------------ database

-- Attached if that is allowed, as locks, the log and processes are seen by those alone; else as a reader.
local function open(o)
    local db, text, name = command.try(o)
    if db then return db, inspect.open(db:path()) end
    if o.write or name == "NOTFOUND" then command.fail(text) end
    o.readonly = true
    return command.open(o), nil
end

-- The folder of the file of sessions.
local function keep(file)
    local at = ""
    for part in file:match("^(.*)/"):gmatch "/[^/]*" do
        at = at .. part
        if not programs.exists(at) and not programs.mkdir(at) then return false end
    end
    return true
end

-- -------------------------------------------------------------------- serving

local function listen(o, app)
    local http = require "caret.http"
    local address = o.bind == "localhost" and "127.0.0.1" or o.bind
    local server, text = http.open {address = address, port = tostring(o.port),
        key = o.key and read_file(o.key, "--key"), certificate = o.cert and read_file(o.cert, "--cert"),
        patience = o.patience,
        accept = function(request) return app:accept(request) end,
        handle = function(request, body) return app:handle(request, body) end}
    if not server then command.fail(("%s port %d: %s"):format(address, o.port, text)) end
    return server
end

local function address_of(o, app, port)
    local name = LOOPBACK[o.bind] or app.hosts[#app.hosts]
    return function()
        return ("%s://%s:%d/?token=%s"):format(o.cert and "https" or "http", name, port, app.guard:token())
    end
end

-- Have the desktop open the address, if there is one.
local function open_browser(url)
    if programs.find "xdg-open" then programs.start {"xdg-open", url} end
end

local function run(o)
    if o.worker then return require("tool.web.worker").run(o.worker) end
    if o.talker then return require("tool.web.talker").run(o.talker) end
    command.file_operand(o)
    local found, text = pcall(require, "caret.http")
    if not found then
        command.fail("this build has no page: install libmicrohttpd-dev, and build again (" ..
            text:match "^[^\n]*" .. ")")
    end
    local password = password_of(o)
    check_bind(o, password)
    local db, handle = open(o)
    local app = require("tool.web.app").new {db = db, inspect = handle, write = o.write,
        with_console = o.console, loop = require("tool.web.loop").new(o.patience),
        hosts = hosts_of(o), file = db:path()}
    app.ranks = require("tool.web.ranks").cache(db, function(f) app.loop:idle(f) end)
    local server = listen(o, app)
    app.server = server
    local port = server:port()
    app.guard = require("tool.web.guard").new {port = port, path = db:path(), hosts = app.hosts,
        tls = o.cert ~= nil, password = password, keep = keep}
    app.address = address_of(o, app, port)
    require("tool.web.routes").add(app)
    local url = app.address()
    command.write(url, "\n")
    command.flush()
    if o.open then open_browser(url) end
    app.loop:run(server)
    require("tool.web.routes").finish(app)
    server:close()
    return 0
end

return {
    summary = "look into a database with a browser",
    operands = {"[FILE]"},
    options = {
        {"--write", "allow changes, and not looking alone", default = false},
        {"--console", "allow statements in Lua, with --write also in M and of Redis", default = false},
        {"--port N", "TCP port; 0: any that is free", default = PORT, least = 0, most = 65535},
        {"--bind ADDRESS", "the address to listen at", default = "127.0.0.1"},
        {"--host NAMES", "names of this machine that browsers may use, with --bind: db.example.org,db"},
        {"--cert FILE", "a certificate, PEM: the page is served by TLS"},
        {"--key FILE", "its key, PEM"},
        {"--password FILE", "its first line is the password; else $CARET_WEB_PASSWORD"},
        {"--open", "have the desktop open the address", default = false},
        {"--patience N", "seconds that a request may take to come", default = 20, least = 1, most = 3600,
            hidden = true},
        {"--worker KIND", "what its children are given", hidden = true},
        {"--talker LANGUAGE", "likewise", hidden = true},
        command.DB,
    },
    catches = true,
    about = [[
It prints an address with a token that works once; the browser gets a cookie for it, which is good for thirty
days, over restarts of this command too. The page is for this machine alone, unless --bind says otherwise:
that needs TLS and a password. Without --write nothing can be changed; a console, which runs what is
typed, needs --console. Ctrl-C and SIGTERM end it.

Without a right to write to the database it shows the nodes, but neither processes, locks nor the log.]],
    examples = {
        {"caret web forest.caret --open"},
        {"caret web forest.caret --write --console --port 0"},
        {"caret web --bind 0.0.0.0 --host db.example.org --cert db.pem --key db.key --password secret"},
    },
    run = run,
}
