-- socket.lua - SOCKET devices: several sockets in one device of M, of which one is the current.
--
-- The device's buffer belongs to the current socket: it is flushed before another becomes current.
local C = require "mumps.host"
local B = require "mumps.io.base"
local P = require "mumps.io.params"
local R = require "mumps.io.record"
local S = require "mumps.io.sockets"

local K = setmetatable({}, { __index = R })
local M = { class = K }

local MAX = 1048576

function K.set_limit(d)
    d.limit = d.ofd >= 0 and (d.wrap and d.width or math.huge) or -1
end

local function choose(d, index)
    if d.n > 0 then
        B.flush(d)
    end
    d.index = index
    local s = d.sockets[index]
    d.fd = s and s.fd or -1
    d.ofd = s and s.state == "CONNECTED" and s.fd or -1
    K.set_limit(d)
end

local function current(d)
    local s = d.sockets[d.index]
    if not s then
        return B.fail(d, "NOSOCKETINDEV")
    end
    return s
end

local function index_of(d, handle)
    for i, s in ipairs(d.sockets) do
        if s.handle == handle then
            return i
        end
    end
end

local function need(d, handle)
    return index_of(d, handle) or B.fail(d, "SOCKNOTFND", handle)
end

local function add(d, s, key)
    d.sockets[#d.sockets + 1] = s
    choose(d, #d.sockets)
    d.key, d.za = key or d.key, 0
    d.status = s.state == "CONNECTED" and "0" or d.status
    return s
end

local function remove(d, index)
    if d.n > 0 then
        B.flush(d)
    end
    local s = table.remove(d.sockets, index)
    choose(d, math.min(index <= d.index and math.max(d.index - 1, 1) or d.index, #d.sockets))
    return s
end

-- Something went wrong with socket s: an error, or only $DEVICE and $ZA.
local function trouble(d, s, number, mnemonic)
    d.za, d.status = 9, "1," .. B.strerror(number)
    if s.trap then
        return B.fail_tail(d, "%YDB-I-TEXT, " .. B.strerror(number), mnemonic)
    end
end

function K.broken(d, number)
    local s = d.sockets[d.index]
    d.n = 0
    return trouble(d, s or {}, number, "SOCKWRITE")
end

local NO_PIPE, NOT_CONNECTED = 32, 107 -- EPIPE, ENOTCONN

-- The current socket, if it can be written to.
local function writable(d)
    local s = current(d)
    if s.state == "CONNECTED" then
        return s
    end
    d.key = ""
    trouble(d, s, NO_PIPE, "SOCKWRITE")
end

function K.write(d, text)
    if not writable(d) then
        return
    end
    d.status = "0"
    B.put(d, text)
    d.x = d.x + B.columns(text, d)
end

function K.newline(d)
    local s = writable(d)
    if s and s.delimiters[1] then
        B.put(d, s.delimiters[1])
    end
    d.x = 0
    B.down(d)
    B.flush(d)
end

function K.formfeed(d)
    local s = current(d)
    if s.zff then
        B.put(d, s.zff)
    end
    d.x, d.y = 0, 0
    B.flush(d)
end

local function finished(d, s, number)
    d.zeof, d.key, d.zb = 1, "", ""
    trouble(d, s, number, "IOEOF")
end

-- READ of a socket that listens: its time passes, unless somebody connects meanwhile.
local function take_none(d, s, deadline)
    d.zeof, d.za, d.status, d.key, d.zb = 0, 0, "0", "", ""
    if B.wait(s.fd, 1, deadline) then
        trouble(d, s, NOT_CONNECTED, "IOEOF")
    end
    return "", false
end

-- $X counts what was read since the last WRITE.
local function count_read(d, text)
    local since = d.read_x == d.x and d.read_y == d.y and d.x or 0
    d.x = since + B.columns(text, d)
    d.read_x, d.read_y = d.x, d.y
end

local function take(d, max, exact, deadline)
    local s = current(d)
    if s.state ~= "CONNECTED" then
        return take_none(d, s, deadline)
    end
    local text, which, why, number = S.read(s, max, exact, deadline)
    if why == "end" then
        finished(d, s, number)
        return "", true
    end
    d.zeof, d.za, d.status, d.key, d.zb = 0, 0, "0", which, which
    count_read(d, text)
    return text, why == "done"
end

function K.read(d, max, deadline)
    return take(d, max or MAX, max ~= nil, deadline)
end

function K.read_char(d, deadline)
    local text, ok = take(d, 1, true, deadline)
    if text == "" then
        return d.key ~= "" and 0 or -1, ok -- 0: a delimiter
    end
    return text:byte(), ok
end

function K.complete(d)
    B.flush(d)
end

-- Parameters.

local own = {}

local function list_of(d, text)
    local list, word, i = {}, "", 1
    while i <= #text do
        local c = text:sub(i, i)
        if c == "\\" and text:find("^[:\\]", i + 1) then
            i = i + 1
            word = word .. text:sub(i, i)
        elseif c == ":" then
            list[#list + 1], word = word, ""
        else
            word = word .. c
        end
        i = i + 1
    end
    list[#list + 1] = word
    for at = #list, 1, -1 do
        if #list[at] > 64 or #list > 64 then
            return B.fail(d, "DELIMSIZNA")
        elseif list[at] == "" then
            table.remove(list, at)
        end
    end
    return list
end

local function on(f)
    return function(d, value)
        local s = d.sockets[d.index]
        if s then
            return f(s, value, d)
        end
    end
end

own.DELIMITER = on(function(s, value, d) s.delimiters = list_of(d, value) end)
own.NODELIMITER = on(function(s) s.delimiters = {} end)
own.ZFF = on(function(s, value) s.zff = value ~= "" and value or nil end)
own.ZNOFF = on(function(s) s.zff = nil end)
own.NOZFF = own.ZNOFF
own.IOERROR = on(function(s, value) s.trap = value:find "^[Tt]" ~= nil end)
own.ZDELAY = on(function(s) s.nodelay = false; C.caret_mumps__io_set(s.fd, 100, 0) end)
own.ZNODELAY = on(function(s) s.nodelay = true; C.caret_mumps__io_set(s.fd, 100, 1) end)
own.ZBFSIZE = on(function(s, value) s.zbfsize = tonumber(value) or s.zbfsize end)
own.ZIBFSIZE = on(function(s, value) C.caret_mumps__io_set(s.fd, 114, tonumber(value) or 0) end)
own.MOREREADTIME = on(function(s, value) s.morereadtime = tonumber(value) end)

local OPTION = { KEEPALIVE = 107, KEEPCNT = 99, KEEPIDLE = 105, KEEPINTVL = 118,
    SNDBUF = 115 } -- letters of io_set

own.OPTIONS = on(function(s, value)
    s.options = value
    for name, number in value:upper():gmatch "(%a+)=(%d+)" do
        if OPTION[name] then
            C.caret_mumps__io_set(s.fd, OPTION[name], tonumber(number))
        end
    end
end)

function own.SOCKET(d, handle)
    local i = need(d, handle)
    choose(d, i)
    if d.pending and d.pending[handle] then
        d.pending[handle] = nil
        local s = S.accept(d.sockets[i])
        if s then
            add(d, s, "CONNECT|" .. s.handle .. "|" .. s.remote)
        end
    end
end

function own.DETACH(d, handle)
    local s = remove(d, need(d, handle))
    S.pool[handle] = s
    d.key = ""
end

function own.ATTACH(d, handle)
    local s = S.pool[handle]
    if not s then
        return B.fail(d, "SOCKNOTFND", handle)
    end
    S.pool[handle] = nil
    add(d, s, s.state == "LISTENING" and S.listening(s) or "ESTABLISHED|" .. s.handle .. "|" .. s.remote)
end

local known = P.of("SO", own)

function K.known()
    return known
end

-- LISTEN or CONNECT of the parameters: false when the time was over.
local function make(d, named, deadline)
    local handle = type(named.ATTACH) == "string" and named.ATTACH or nil
    if handle and index_of(d, handle) then
        return B.fail(d, "SOCKETEXIST", handle)
    end
    local s, key
    if named.CONNECT then
        s, key = S.connect(d, named.CONNECT, handle, deadline)
    else
        s, key = S.listen(d, named.LISTEN, handle, deadline, named)
    end
    if not s then
        d.key = ""
        return false
    end
    add(d, s, key)
    return true
end

local MADE = { ATTACH = true, CONNECT = true, LISTEN = true }

-- OPEN of a device that is there: another socket, or other settings.
function K.reopen(d, params, timeout)
    local named = P.named(params)
    if named.CONNECT or named.LISTEN then
        local ok = make(d, named, B.deadline(timeout))
        P.apply(d, params, MADE)
        return ok
    end
    P.apply(d, params)
    return true
end

-- USE: LISTEN and CONNECT make a socket of a device, too.  ATTACH and DETACH stand alone.
function K.use(d, params)
    local named = P.named(params)
    for _, name in ipairs { "ATTACH", "DETACH", "NODELIMITER", "IOERROR", "CONNECT", "LISTEN" } do
        if named.SOCKET and named[name] then
            return B.fail(d, "ACOMPTBINC", "SOCKET", "DELIMITER", "USE")
        end
    end
    local moves = named.DETACH and "DETACH" or named.ATTACH and "ATTACH"
    if moves and (named.ATTACH and named.DETACH or named.CONNECT or named.LISTEN) then
        return B.fail(d, "ANCOMPTINC", moves, "USE")
    end
    if named.CONNECT or named.LISTEN then
        make(d, named, B.deadline(0))
        return P.apply(d, params, MADE)
    end
    local first = {}
    for _, name in ipairs { "SOCKET", "ATTACH", "DETACH" } do
        if named[name] then
            own[name](d, named[name])
            first[name] = true
        end
    end
    P.apply(d, params, first)
end

local function device(name)
    local d = B.new(name, "SO", K)
    d.sockets, d.index, d.length = {}, 0, 66
    return d
end

function M.open(name, params, timeout)
    local d = device(name)
    local named = P.named(params)
    P.exception(d, named)
    if not K.reopen(d, params, timeout) then
        return nil, false
    end
    return d, true
end

-- $PRINCIPAL, when descriptor fd is a socket.
function M.principal(name, fd)
    local d = device(name)
    local s = S.new(fd, "CONNECTED", "PRINCIPAL", "TCP")
    C.caret_mumps__io_nonblock(fd, 1)
    s.protocol = s.here:find "/" and "LOCAL" or "TCP"
    s.delimiters = { "\n" }
    add(d, s, "ESTABLISHED|" .. s.handle .. "|" .. s.remote)
    return d
end

function K.close(d)
    pcall(B.flush, d)
    local named = P.named(d.closing)
    for _, s in ipairs(d.sockets) do
        S.close(s, named.DELETE)
    end
    d.sockets, d.index = {}, 0
end

-- CLOSE d:SOCKET=handle: true if only that one was meant.
function K.close_part(d, params)
    local named = P.named(params)
    d.closing = params
    if not named.SOCKET then
        return false
    end
    local s = remove(d, need(d, named.SOCKET))
    S.close(s, named.DELETE)
    return true
end

-- WRITE /name: see socket_control.lua.
function K.control(d, name, ...)
    return require("mumps.io.socket_control").control(d, name, ...)
end

M.choose, M.add, M.current, M.index_of, M.need = choose, add, current, index_of, need

-- ZSHOW "D".
-- --------------------------------------------------------------------------------------------------

local function delimiters(s)
    if #s.delimiters == 0 then
        return "NODELIMITER "
    end
    local quote = require("mumps.values.names").quote
    local list = {}
    for i, text in ipairs(s.delimiters) do
        list[i] = quote(text)
    end
    return "\n                DELIMITER " .. table.concat(list, ",") .. " "
end

local function where(s)
    if s.protocol == "LOCAL" then
        return ("REMOTE= LOCAL=%s "):format(s.remote ~= "" and s.remote or s.here)
    elseif s.state == "LISTENING" then
        return ("PORT=%d "):format(s.port)
    end
    return ("REMOTE=%s@%d LOCAL=%s@%d "):format(s.remote, s.rport, s.here, s.port)
end

local SOCKET_LINES = "        SOCKET[%d]=%s DESC=%d %s %s  %s  %s\n"
    .. "                %s  ZBFSIZE=%d ZIBFSIZE=%d %s"

local function socket_lines(i, s)
    local passive = s.state == "CONNECTED" and "ACTIVE" or "PASSIVE"
    return SOCKET_LINES:format(
        i - 1, s.handle, s.fd, s.state, passive, s.trap and "TRAP" or "NOTRAP", where(s),
        s.nodelay and "ZNODELAY" or "ZDELAY", s.zbfsize,
        s.protocol == "LOCAL" and 0 or C.caret_mumps__io_get(s.fd, 114), delimiters(s))
end

function K.describe(d)
    local t = { ("OPEN SOCKET TOTAL=%d CURRENT=%d "):format(#d.sockets, d.index - 1) }
    for i, s in ipairs(d.sockets) do
        t[#t + 1] = socket_lines(i, s)
    end
    return table.concat(t, "\n")
end

return M
