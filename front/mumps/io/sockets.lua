-- sockets.lua - single sockets: making them, their addresses, what is read of them, and the pool of
-- detached ones.
--
--     fd handle state   state: LISTENING, CONNECTED, BOUND
--     text at           bytes read and not yet taken: from byte `at` of text on
--     delimiters        texts that end a READ; the first is what WRITE ! sends
--     trap              IOERROR="TRAP": what goes wrong is an M error
--     remote rport here port protocol     addresses as texts
local ffi = require "ffi"
local C = require "mumps.host"
local B = require "mumps.io.base"

local S = { pool = {} } -- pool: handle -> socket

local room, port = ffi.new "char[65536]", ffi.new "int[1]"
local count = 0
local AGAIN, TIMED_OUT, IN_USE = -11, -110, -98
local PAUSE = 20 -- milliseconds between two attempts to connect or bind

local function new_handle()
    count = count + 1
    return ("h%.0f%d"):format(C.caret_mumps__io_clock(0), count)
end

local function address(fd, peer)
    if C.caret_mumps__io_address(fd, peer, room, 4096, port) < 0 then
        return "", 0
    end
    return ffi.string(room), port[0]
end

local function protocol_of(protocol, s)
    return protocol == "TCP" and s.here:find ":" and "TCP6" or protocol
end

-- Fills in what the system knows of a socket.
function S.learn(s)
    s.here, s.port = address(s.fd, 0)
    s.protocol = protocol_of(s.protocol, s)
    if s.state ~= "CONNECTED" and (s.here == "::" or s.here == "0.0.0.0") then
        s.here = ""
    end
    if s.state == "CONNECTED" then
        s.remote, s.rport = address(s.fd, 1)
        if s.protocol == "LOCAL" then
            s.remote = s.remote ~= "" and s.remote or s.here
        end
    end
    return s
end

function S.new(fd, state, created, protocol, handle)
    local s = { fd = fd, handle = handle or new_handle(), state = state, text = "", at = 1, delimiters = {},
        created = created, protocol = protocol, remote = "", rport = 0, zbfsize = 1024 }
    return S.learn(s)
end

local RESOLVE = -90000 -- results below: no such name

local function refused(d, rc, mnemonic)
    if rc < RESOLVE then
        return B.fail_tail(d, "%YDB-I-TEXT, Name or service not known", "GETADDRINFO")
    end
    return B.fail_tail(d, "%YDB-I-TEXT, " .. B.strerror(-rc), mnemonic)
end

-- "host:port:TCP", "port:TCP", "[v6]:port:TCP", "path:LOCAL" -> protocol, host or path, port
function S.parse(d, text, listen)
    local path = text:match "^(.*):[Ll][Oo][Cc][Aa][Ll]$"
    if path then
        return "LOCAL", path
    end
    local rest, protocol = text:match "^(.*):([^:]*)$"
    if rest and protocol:upper() ~= "TCP" and not (protocol:match "^%d+$" and rest:find "%.") then
        local names_port = rest:find ":" or (listen and rest or protocol):find "^%d+$"
        return B.fail(d, names_port and "PROTNOTSUP" or "INVPORTSPEC", protocol)
    end
    local host, number = (rest or ""):match "^%[?(.-)%]?:(%d+)$"
    if not host and listen then
        host, number = "", (rest or ""):match "^(%d+)$"
    end
    if not number and not listen then
        if rest and not rest:find ":" and protocol:find "^%d+$" then
            return B.fail(d, "PROTNOTSUP", protocol)
        end
        return B.fail(d, rest and rest:find ":" and "INVADDRSPEC" or "INVPORTSPEC")
    elseif not number or tonumber(number) > 65535 then
        return B.fail(d, "INVPORTSPEC")
    elseif host == "" and not listen then
        return refused(d, RESOLVE - 1)
    end
    return "TCP", host, number
end

-- Tries f until it gives a descriptor, or the deadline: the descriptor or nil.
local function insist(d, deadline, mnemonic, f)
    while true do
        local left = deadline and math.max(deadline - C.caret_mumps__io_ticks(), 0) or 1000
        local rc = f(left)
        if rc >= 0 then
            return rc
        elseif rc < RESOLVE or rc ~= AGAIN and rc ~= TIMED_OUT and rc ~= IN_USE and rc ~= -111 and rc ~= -2
            and rc ~= -115 then
            return refused(d, rc, mnemonic)
        elseif deadline and C.caret_mumps__io_ticks() >= deadline then
            return nil
        end
        B.sleep_until(C.caret_mumps__io_ticks() + PAUSE)
    end
end

-- CONNECT: a socket, or nil when the time is over.
function S.connect(d, text, handle, deadline)
    local protocol, host, number = S.parse(d, text, false)
    local fd = insist(d, deadline, "OPENCONN", function(left)
        return protocol == "LOCAL" and C.caret_mumps__io_connect_local(host, left)
            or C.caret_mumps__io_connect_tcp(host, number or "", left)
    end)
    if not fd then
        return nil
    end
    local s = S.new(fd, "CONNECTED", "CONNECT", protocol, handle)
    return s, "ESTABLISHED|" .. s.handle .. "|" .. s.remote
end

-- LISTEN: a socket that listens, or nil when the time is over.
function S.listen(d, text, handle, deadline, named)
    local protocol, host, number = S.parse(d, text, true)
    if protocol == "LOCAL" and named.NEWVERSION then
        C.caret_mumps__io_unlink(host)
    end
    local fd = insist(d, deadline, "SOCKBIND", function()
        return protocol == "LOCAL" and C.caret_mumps__io_bind_local(host)
            or C.caret_mumps__io_bind_tcp(host, number or "")
    end)
    if not fd then
        return nil
    end
    C.caret_mumps__io_listen(fd, 5)
    local s = S.new(fd, "LISTENING", "LISTEN", protocol, handle)
    s.path = protocol == "LOCAL" and host or nil
    return s, S.listening(s)
end

function S.listening(s)
    return "LISTENING|" .. s.handle .. "|" .. (s.path or s.port)
end

-- A connection that waits at a listening socket, or nil.
function S.accept(s)
    local fd = C.caret_mumps__io_accept(s.fd)
    if fd < 0 then
        return nil
    end
    local new = S.new(fd, "CONNECTED", "ACCEPTED", s.protocol)
    new.parent, new.trap, new.delimiters, new.zff = s.handle, s.trap, s.delimiters, s.zff
    new.morereadtime = s.morereadtime
    return new
end

-- More bytes: their number, 0 at the end, nil at the deadline, or the negative error.
function S.fill(s, deadline)
    while true do
        local got = tonumber(C.caret_mumps__io_read(s.fd, room, 65536))
        if got > 0 then
            s.text, s.at = s.text:sub(s.at) .. ffi.string(room, got), 1
        end
        if got ~= AGAIN then
            return got
        elseif not B.wait(s.fd, 1, deadline) then
            return nil
        end
    end
end

function S.unread(s)
    return #s.text - s.at + 1
end

-- The first delimiter in what was read, from `from` on: where it begins, and it.
local function delimiter(s)
    local first, which
    for _, delim in ipairs(s.delimiters) do
        local at = s.text:find(delim, s.at, true)
        if at and (not first or at < first or at == first and #delim > #which) then
            first, which = at, delim
        end
    end
    return first, which
end

local function cut(s, n)
    local text = s.text:sub(s.at, s.at + n - 1)
    s.at = s.at + n
    if s.at > #s.text then
        s.text, s.at = "", 1
    end
    return text
end

-- What a READ of at most `max` bytes gives of what is there: text and delimiter, or nil for not yet.
local function ready(s, max, exact)
    local at, which = delimiter(s)
    local have = S.unread(s)
    local before = at and at - s.at or have
    if before >= max then
        return cut(s, max), ""
    elseif at then
        local text = cut(s, before)
        cut(s, #which)
        return text, which
    elseif not exact and #s.delimiters == 0 and have > 0 then
        return cut(s, have), ""
    end
end

-- READ: text, delimiter, why ("done", "timeout", "end"), and the error's number.
function S.read(s, max, exact, deadline)
    while true do
        local text, which = ready(s, max, exact)
        if text then
            return text, which, "done"
        end
        local got = S.fill(s, deadline)
        if not got then
            return cut(s, S.unread(s)), "", "timeout"
        elseif got <= 0 then
            local rest = cut(s, S.unread(s))
            return rest, "", rest == "" and "end" or "done", got < 0 and -got or 104
        end
    end
end

function S.close(s, delete)
    C.caret_mumps__io_close(s.fd)
    s.fd = -1
    if s.path and s.state == "LISTENING" and delete then
        C.caret_mumps__io_unlink(s.path)
    end
end

return S
