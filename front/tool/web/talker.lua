-- The other side of console.lua: statements in Lua, or commands of Redis, one line of JSON each.

local caret = require "caret"
local host = require "caret.host"
local lines = require "caret.lines"
local programs = require "caret.programs"
local chunks = require "tool.lib.chunks"
local json = require "tool.web.json"
local resp = require "tool.lib.resp"
local words = require "tool.lib.words"

local talker = {}

local ROWS, COLUMNS = 200, 20 -- of a table

local function tell(data)
    io.stdout:write("\30", json.encode(data), "\31")
    io.stdout:flush()
end

-- ------------------------------------------------------------------------- Lua

local function columns_of(list)
    local columns, known = json.list(), {}
    for i = 1, math.min(#list, 50) do
        if type(list[i]) ~= "table" or caret.isnode(list[i]) then return nil end
        for key in pairs(list[i]) do
            if not known[key] then columns[#columns + 1] = key end
            known[key] = true
        end
    end
    table.sort(columns, function(a, b) return tostring(a) < tostring(b) end)
    return #columns > 0 and #columns <= COLUMNS and columns or nil
end

-- A list of records as a table; nil: it is none.
local function table_of(value)
    if type(value) ~= "table" or caret.isnode(value) or #value == 0 then return nil end
    local columns = columns_of(value)
    if not columns then return nil end
    local rows = json.list()
    for i = 1, math.min(#value, ROWS) do
        rows[i] = json.list()
        for j, column in ipairs(columns) do
            local cell = type(value[i]) == "table" and value[i][column]
            rows[i][j] = cell == nil and "" or tostring(cell)
        end
    end
    return {columns = columns, rows = rows}
end

local function result_of(value)
    if caret.isnode(value) then return {type = "node", zwr = tostring(value), text = chunks.show(value)} end
    return {type = type(value), text = chunks.show(value), table = table_of(value)}
end

local function finish(n, began, ok, ...)
    if not ok then return tell {event = "error", n = n, text = (tostring((...)))} end
    local results = json.list()
    for i = 1, select("#", ...) do results[i] = result_of((select(i, ...))) end
    if #results > 0 then _G._ = (...) end
    tell {event = "result", n = n, results = results, seconds = host.clock() - began}
end

local function run_lua(o)
    local f, wrong = chunks.compile(o.text)
    if f then return finish(o.n, host.clock(), lines.call(f)) end
    tell(wrong == true and {event = "more", n = o.n} or {event = "error", n = o.n, text = wrong})
end

local function lua(o)
    local db, text = caret.open(o.path, {create = false, readonly = o.readonly})
    if not db then return tell {event = "error", text = text} end
    _G.caret, _G.db = caret, db
    local complete = words.completion(db, _G)
    return run_lua, function(wanted)
        local more, list = complete(wanted)
        local known = list[1] and #list[1] or 0
        for length = math.min(known, #wanted), 0, -1 do
            if wanted:sub(#wanted - length + 1) == (list[1] or ""):sub(1, length) then
                known = length
                break
            end
        end
        tell {list = json.list(list), from = #wanted - known, more = more}
    end
end

-- ------------------------------------------------------------------------ Redis

-- A command's words: bare ones, and those in quotes with escapes.
local function words_of(text)
    local list, at = {}, 1
    while true do
        at = text:match("^%s*()", at)
        if at > #text then return list end
        local quoted, after = text:match('^"([^"]*)"()', at)
        if not quoted then quoted, after = text:match("^'([^']*)'()", at) end
        if not quoted then quoted, after = text:match("^(%S+)()", at) end
        list[#list + 1], at = quoted, after
    end
end

-- An answer of any depth, as redis-cli prints it.
local function answer(client, indent)
    local kind, rest = client:line():match "^(.)(.*)$"
    if kind == "+" then return rest end
    if kind == "-" then return "(error) " .. rest end
    if kind == ":" then return "(integer) " .. rest end
    local n = math.tointeger(tonumber(rest)) or -1
    if n < 0 then return "(nil)" end
    if kind == "$" then return ("%q"):format(client:bytes(n)):gsub("\\\n", "\\n") end
    if n == 0 then return "(empty array)" end
    local list = {}
    for i = 1, n do
        local head = ("%d) "):format(i)
        list[i] = (i > 1 and indent or "") .. head .. answer(client, indent .. (" "):rep(#head))
    end
    return table.concat(list, "\n")
end

local function connect(o)
    local path = o.folder .. "/s"
    talker.server = programs.start({o.server, o.path, "--port", "0", "--unix", path}, {err = "/dev/stderr"})
    local deadline = host.clock() + 20
    while host.clock() < deadline do
        local client = programs.exists(path) and resp.connect(path, 3600)
        if client then
            host.remove(o.folder) -- the socket stays, and a killed page leaves nothing
            return client
        end
        host.sleep(0.02)
    end
    return nil
end

local function redis(o)
    local client = connect(o)
    if not client then
        return tell {event = "error", text = "the server of Redis' protocol does not answer"}
    end
    return function(statement)
        local list = words_of(statement.text)
        if #list == 0 then return tell {event = "result", n = statement.n, results = json.list()} end
        for i, word in ipairs(list) do list[i] = ("$%d\r\n%s\r\n"):format(#word, word) end
        local began = host.clock()
        client.socket:send(("*%d\r\n%s"):format(#list, table.concat(list)))
        local ok, text = pcall(answer, client, "")
        if not ok then error(text.text or text, 0) end
        tell {event = "result", n = statement.n, results = json.list {{type = "string", text = text}},
            seconds = host.clock() - began}
    end, function(wanted)
        tell {list = json.list(), from = #wanted}
    end
end

-- -------------------------------------------------------------------------- run

-- The next line; a signal does not end it.
local function next_line()
    while true do
        local line, _, number = io.read "l"
        if line or number ~= 4 then return line end
    end
end

-- Say what is typed until the page has gone.
local function talk(language)
    local run, complete = (language == "lua" and lua or redis)(assert(json.decode(next_line() or "")))
    if not run then return 1 end
    for line in next_line do
        local o = json.decode(line)
        if o and o.complete then complete(o.complete) elseif o then run(o) end
    end
    return 0
end

--- The same; what was started here ends before.
function talker.run(language)
    host.catch_signals(true)
    lines.guard()
    io.stdout:setvbuf "line"
    local ok, status = pcall(talk, language)
    if talker.server then
        host.kill(talker.server, 15)
        host.wait(talker.server, true)
    end
    if not ok then error(status, 0) end
    return status
end

return talker
