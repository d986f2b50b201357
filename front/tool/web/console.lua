-- Consoles: Lua, M and commands of Redis, each in a process of its own that ends with its page.
--
-- A console runs whatever is typed, with all rights of the user who started the server: there is none without
-- --console.  Without --write only Lua is there, and its database is opened for reading.

local events = require "tool.web.events"
local child = require "tool.web.child"
local host = require "caret.host"
local http = require "caret.http"
local json = require "tool.web.json"
local programs = require "caret.programs"
local refuse = require "tool.web.refuse"
local tree = require "tool.web.tree"

local console = {}

local MOST = 8           -- consoles
local LONGEST = 60000    -- bytes of a statement
local OUTPUT = 256 << 10 -- bytes of text that one prints
local WAITING = 200      -- events that wait for a page
local LEFT, IDLE = 30, 900 -- seconds without a page, in a statement; doing nothing
local STUCK = 2          -- seconds after which a statement that was stopped is stopped again, and once more

local function beside(name)
    local path = programs.folder() .. "/" .. name
    return programs.exists(path) and path
end

--- What there is, for the page.
function console.languages(app)
    local list = json.list()
    if not app.with_console then return list end
    list[1] = "lua"
    if app.write and beside "caret-m" then list[#list + 1] = "m" end
    if app.write and beside "caret-server" then list[#list + 1] = "resp" end
    return list
end

-- ----------------------------------------------------------------- one console

local function tell(c, name, data)
    if not c.stream then
        if #c.waiting < WAITING then c.waiting[#c.waiting + 1] = {name, data} end
        return
    end
    c.stream:send(name, data)
end

-- What came, but for a character at its end whose other bytes are still to come.
local function whole_characters(c, text)
    text = c.tail .. text
    local tail = text:match "[\xC2-\xF4][\x80-\xBF]?[\x80-\xBF]?$" or ""
    if utf8.len(tail) then tail = "" end
    c.tail = tail
    return text:sub(1, #text - #tail)
end

local function say(c, text)
    if text == "" then return end
    local room = OUTPUT - c.printed
    if room < 0 then return end
    c.printed = c.printed + #text
    if #text > room then text = text:sub(1, room) .. "\n... the rest is not shown" end
    tell(c, "out", {n = c.busy or json.null, text = json.readable(text)})
end

local function on_text(c, text)
    if c.language == "m" then text = text:gsub("YDB>\n?", "") end -- the prompt of direct mode
    say(c, whole_characters(c, text))
end

local ENDS = {result = true, error = true, more = true} -- of a statement

local function on_told(c, data)
    if data.list then
        c.offers = data
        return
    end
    if not ENDS[data.event] then return end -- a program printed it
    local tail = c.tail
    c.tail = ""
    say(c, tail)
    if data.n == nil then data.n = c.busy or json.null end
    tell(c, data.event, data)
    c.busy = nil
end

local function remove(app, c)
    app.consoles[c.id] = nil
    if c.folder then host.remove(c.folder) end
end

local function on_end(app, c, how, number)
    local text = ("it ended by %s %d"):format(how, number)
    if how == "exit" and number == 0 then text = "it has ended" end
    tell(c, "ended", {text = c.stopped and "it was stopped" or text})
    if c.stream then c.stream:close() end
    remove(app, c)
end

-- Does a page listen to it?  Seconds since one did.
local function alone(c)
    if c.stream and c.stream:alive() then
        c.left = host.clock()
    elseif c.stream then
        c.stream = nil
    end
    return host.clock() - c.left
end

-- A page that goes ends its consoles; one that died can't.  A window that is hidden does not listen to those
-- that do nothing.
local function watch(app, c)
    c.left = host.clock()
    app.loop:every(5, function()
        if not app.consoles[c.id] then return false end
        if alone(c) > (c.busy and LEFT or IDLE) then c.process:destroy() end
        return true
    end)
end

-- Room for one more: the one that was alone for the longest time ends.  Those that were closed take none.
local function make_room(app)
    local n, oldest = 0, nil
    for _, c in pairs(app.consoles) do
        n = n + (c.closed and 0 or 1)
        if not c.closed and alone(c) > LEFT and (not oldest or c.left < oldest.left) then oldest = c end
    end
    if n < MOST then return end
    if not oldest then refuse.with("LIMIT", "too many consoles: close another page") end
    oldest.process:destroy()
    app.consoles[oldest.id] = nil
end

local starters = {}

function starters.lua(app, c, handlers)
    c.process = child.worker(app, nil, {path = app.db:path(), readonly = not app.write}, handlers, "lua")
end

function starters.resp(app, c, handlers)
    c.folder = host.tempdir()
    local request = {path = app.db:path(), folder = c.folder, server = beside "caret-server"}
    c.process = child.worker(app, nil, request, handlers, "resp")
end

function starters.m(app, c, handlers)
    local path = app.db:path()
    c.process = child.start(app, {beside "caret-m"}, handlers,
        {ydb_gbldir = path, CARET_DB = path, CARET_M_STOP = "1"})
end

local function check(app, language)
    if not app.with_console then
        refuse.with("CONSOLE", "the server was started without a console: caret web --console")
    end
    for _, name in ipairs(console.languages(app)) do
        if name == language then return end
    end
    if starters[language] and not app.write then app:check_write() end
    refuse.with("NOTFOUND", "that language is not there")
end

-- ------------------------------------------------------------------- requests

--- POST /api/console
function console.start(app, request)
    local language = request.data.language
    check(app, language)
    make_room(app)
    local c = {id = http.random(8), language = language, waiting = {}, tail = "", printed = 0, n = 0}
    starters[language](app, c, {
        told = function(data) on_told(c, data) end,
        text = function(text) on_text(c, text) end,
        ended = function(how, number) on_end(app, c, how, number) end,
    })
    app.consoles[c.id] = c
    watch(app, c)
    return {id = c.id}
end

local function find(app, request)
    return app.consoles[request.id] or refuse.with("NOTFOUND", "this console has ended")
end

--- GET /api/console/ID
function console.listen(app, request)
    local c = find(app, request)
    if c.stream then c.stream:close() end
    c.stream = events.new(app, request)
    for _, event in ipairs(c.waiting) do c.stream:send(event[1], event[2]) end
    c.waiting = {}
    return c.stream:answer()
end

local function text_of(request)
    local text = request.data.text
    if type(text) ~= "string" then refuse.with("SYNTAX", "a statement is a text") end
    if #text > LONGEST then refuse.with("TOOBIG", ("a statement has %d bytes at most"):format(LONGEST)) end
    return text
end

-- M reads lines, and says by a line of its own that it is done.
local DONE = 'write $char(30)_"{""event"":""result"",""results"":[]}"_$char(31)\n'

--- POST /api/console/ID/run
function console.run(app, request)
    local c, text = find(app, request), text_of(request)
    if c.busy then refuse.with("BUSY", "the last statement still runs: stop it, or wait") end
    c.n, c.printed = c.n + 1, 0
    c.busy, c.stopped = c.n, nil
    local sent
    if c.language == "m" then
        sent = c.process:send(text:gsub("[\r\n]+$", "") .. "\n" .. DONE)
    else
        sent = c.process:send(json.encode {n = c.n, text = text} .. "\n")
    end
    if not sent then refuse.with("BUSY", "the console does not listen") end
    return {n = c.n}
end

-- What does not look at a signal, as a program that M's ZSYSTEM waits for and that ignores it, gets a second
-- one; what no signal ends is killed, with the console.
local function insist(app, c, statement)
    local again = true
    app.loop:every(STUCK, function()
        if not app.consoles[c.id] or c.busy ~= statement then return false end
        if not again then
            c.process:destroy()
            return false
        end
        c.process:interrupt()
        again = false
        return true
    end)
end

--- POST /api/console/ID/stop
function console.stop(app, request)
    local c = find(app, request)
    c.process:interrupt()
    if c.busy and not c.stopped then insist(app, c, c.busy) end
    c.stopped = c.busy ~= nil
    return {}
end

-- What could follow in M: a global at the end, or a subscript of one.
local function paths(app, text)
    local path = text:match "^.*(%^[%%%a]?%w*)$" or text:match "^.*(%^[%%%a]%w*%([^()]*)$"
    if not path then return {list = json.list(), from = #text} end
    return {list = tree.paths(app, path), from = #text - #path}
end

--- POST /api/console/ID/complete: what could follow.
function console.complete(app, request)
    local c, text = find(app, request), text_of(request)
    if c.language == "m" then return paths(app, text) end
    if c.busy then return {list = json.list(), from = #text} end
    c.offers = nil
    c.process:send(json.encode {complete = text} .. "\n")
    local deadline = host.clock() + 0.5
    while not c.offers and host.clock() < deadline do c.process:pump(deadline - host.clock()) end
    local offers = c.offers or {list = json.list(), from = #text}
    return {list = json.list(offers.list), from = offers.from}
end

--- POST /api/console/ID/close.  A signal may come before it has begun to read, and is lost then.
function console.close(app, request)
    local c = find(app, request)
    c.closed = true
    c.process:hang_up()
    c.process:kill(15)
    return {}
end

--- The server ends: they do, too.
function console.finish(app, deadline)
    for _, c in pairs(app.consoles) do
        c.process:finish(deadline)
        if c.folder then host.remove(c.folder) end
    end
end

return console
