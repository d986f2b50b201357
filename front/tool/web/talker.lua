-- The other side of console.lua: statements in Lua, or commands of Redis, one line of JSON each.

local caret = require "caret"
local host = require "caret.host"
local lines = require "caret.lines"
local programs = require "caret.programs"
local chunks = require "tool.lib.chunks"
local json = require "tool.web.json"
local resp = require "tool.lib.resp"
local results = require "tool.web.results"
local words = require "tool.lib.words"

local talker = {}

local ERROR = 64 << 10 -- bytes of one that are shown
local OFFERS = 50      -- completions

local function tell(data)
    io.stdout:write("\30", json.encode(data), "\31")
    io.stdout:flush()
end

-- ------------------------------------------------------------------------- Lua

-- A traceback ends where the statement was called.
local function fail(n, wrong)
    local ok, text = pcall(tostring, wrong)
    text = ok and text:gsub("\n%s*%[C%]: in function 'caret%.lines%.call'.*$", "")
    tell {event = "error", n = n, text = text and results.cut(text, ERROR) or "an error without a text"}
end

-- Values may have a __tostring of their own, which fails or does not end.
local function finish(n, began, ok, ...)
    local seconds = host.clock() - began
    if not ok then return fail(n, (...)) end
    local shown, list = lines.call(results.list, select("#", ...), ...)
    if not shown then return fail(n, list) end
    if #list > 0 then _G._ = (...) end
    tell {event = "result", n = n, results = list, seconds = seconds}
end

local function run_lua(o)
    local f, wrong = chunks.compile(o.text)
    if f then return finish(o.n, host.clock(), lines.call(f)) end
    tell(wrong == true and {event = "more", n = o.n} or {event = "error", n = o.n, text = wrong})
end

local function lua(o)
    local db = caret.open(o.path, {create = false, readonly = o.readonly})
    if not db then return tell {event = "error", text = (host.reason())} end
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

local ESCAPES = {n = "\n", r = "\r", t = "\t", b = "\b", a = "\a"}

-- The word in double quotes from there on, and where it ends; nil: it does not.
local function quoted(text, at)
    local pieces = {}
    while true do
        local run, sign, after = text:match('^([^"\\]*)(["\\])()', at)
        if not run then return nil end
        pieces[#pieces + 1], at = run, after
        if sign == '"' then return table.concat(pieces), at end
        local hex = text:match("^x(%x%x)", at)
        local letter = text:sub(at, at)
        pieces[#pieces + 1] = hex and string.char(tonumber(hex, 16)) or ESCAPES[letter] or letter
        at = at + (hex and 3 or 1)
    end
end

local function single(text, at)
    local word, after = text:match("^(.-[^\\])'()", at)
    if text:sub(at, at) == "'" then word, after = "", at + 1 end
    return word and word:gsub("\\'", "'"), after
end

-- A command's words as redis-cli reads them: bare ones, "with \n, \xff and \"", 'as it is but for \''; nil:
-- a quote does not end.
local function words_of(text)
    local list, at = {}, 1
    while true do
        at = text:match("^%s*()", at)
        if at > #text then return list end
        local sign = text:sub(at, at)
        local word
        if sign == '"' then word, at = quoted(text, at + 1)
        elseif sign == "'" then word, at = single(text, at + 1)
        else word, at = text:match("^(%S+)()", at) end
        if not word or text:find("^%S", at) then return nil end
        list[#list + 1] = word
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

-- Two connections: one for what is typed, one that asks what could be.
local function connect(o)
    local path = o.folder .. "/s"
    talker.server = programs.start({o.server, o.path, "--port", "0", "--unix", path},
        {err = o.folder .. "/err"})
    local deadline = host.clock() + 20
    while host.clock() < deadline do
        local client = programs.exists(path) and resp.connect(path, 3600)
        local other = client and resp.connect(path, 3600)
        if other then
            host.remove(o.folder) -- the socket stays, and a killed page leaves nothing
            return client, other
        end
        host.sleep(0.02)
    end
    local said = io.open(o.folder .. "/err")
    return nil, said and said:read "a" or ""
end

-- Texts of an answer that begin so.
local function beginning(list, text)
    local found = json.list()
    for _, word in ipairs(type(list) == "table" and list or {}) do
        if #found < OFFERS and word:sub(1, #text) == text then found[#found + 1] = word end
    end
    table.sort(found)
    return found
end

-- Names of commands for the first word; for the others keys, as far as they stand without quotes.
local function offers(client, wanted)
    local before, word = wanted:match "^(.-)(%S*)$"
    if not before:find "%S" then
        local answers = client:ask {"COMMAND", "LIST"}
        for i, name in ipairs(answers and answers[1] or {}) do answers[1][i] = name:upper() end
        return beginning(answers and answers[1], word:upper()), #wanted - #word
    end
    local answers = client:ask {"SCAN", "0", "MATCH", word:gsub("[%[%]?*\\]", "\\%0") .. "*", "COUNT", "1000"}
    local keys = {}
    for _, key in ipairs(answers and answers[1][2] or {}) do
        if not key:find "[^%g]" and not key:find "^[\"']" then keys[#keys + 1] = key end
    end
    return beginning(keys, word), #wanted - #word
end

local function say(client, other, statement)
    local list = words_of(statement.text)
    if not list then return fail(statement.n, "a quote does not end") end
    if #list == 0 then return tell {event = "result", n = statement.n, results = json.list()} end
    if list[1]:upper() == "SELECT" then other:ask(list) end
    for i, word in ipairs(list) do list[i] = ("$%d\r\n%s\r\n"):format(#word, word) end
    local began = host.clock()
    client.socket:send(("*%d\r\n%s"):format(#list, table.concat(list)))
    local ok, text = pcall(answer, client, "")
    if not ok then error(text.text or text, 0) end
    tell {event = "result", n = statement.n, results = results.text(text), seconds = host.clock() - began}
end

local function redis(o)
    local client, other = connect(o)
    if not client then
        return fail(nil, "the server of Redis' protocol does not answer\n" .. other)
    end
    return function(statement) say(client, other, statement) end, function(wanted)
        local list, from = offers(other, wanted)
        tell {list = list, from = from}
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

-- What a wait for the server of Redis' protocol ends with when its statement is stopped: the answer may come
-- at any time, so the connection is of no use any more.
local STOPPED = "Interrupted system call"

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
    if not ok and status ~= STOPPED then error(status, 0) end
    return ok and status or 1
end

return talker
