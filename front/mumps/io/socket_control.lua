-- socket_control.lua - WRITE /WAIT /LISTEN /PASS /BLOCK /TLS of SOCKET devices.
local C = require "mumps.host"
local ffi = require "ffi"
local B = require "mumps.io.base"
local K = require "mumps.io.socket"
local S = require "mumps.io.sockets"

local M = {}

local choose, add, current, index_of, need = K.choose, K.add, K.current, K.index_of, K.need

local fds, what = ffi.new "int[1024]", ffi.new "int[1024]"

local function tested(timeout, ok)
    if timeout ~= nil then
        require("mumps.runtime.test").t = ok and 1 or 0
    end
end

local function describe_ready(s)
    if s.state == "LISTENING" then
        return S.listening(s)
    end
    return "READ|" .. s.handle .. "|" .. s.remote
end

-- Which sockets are ready now, or before the deadline: a list, oldest choice first.
local function wait_ready(d, deadline, handle)
    local list, buffered = {}, {}
    for _, s in ipairs(d.sockets) do
        if not handle or s.handle == handle then
            list[#list + 1] = s
            fds[#list - 1], what[#list - 1] = s.fd, 1
            if S.unread(s) > 0 then
                buffered[#buffered + 1] = s
            end
        end
    end
    local ms = #buffered > 0 and 0 or B.left_until(deadline)
    local n, ready = C.caret_mumps__io_wait(fds, what, #list, ms), {}
    if n == B.WOKEN then
        B.heed()
    end
    if n <= 0 then
        return buffered
    end
    for i, s in ipairs(list) do
        if what[i - 1] ~= 0 or S.unread(s) > 0 then
            ready[#ready + 1] = s
        end
    end
    table.sort(ready, function(a, b) return (a.chosen or 0) < (b.chosen or 0) end)
    return ready
end

local turn = 0

-- One of the ready sockets becomes current; the others are told by $ZKEY.
local function pick(d, ready)
    local s = table.remove(ready, 1)
    turn = turn + 1
    s.chosen = turn
    d.pending = {}
    local others = {}
    for _, other in ipairs(ready) do
        others[#others + 1] = describe_ready(other)
        d.pending[other.handle] = other.state == "LISTENING" or nil
    end
    d.zkey = table.concat(others, ";")
    if s.state == "LISTENING" then
        local new = S.accept(s)
        return new and add(d, new, "CONNECT|" .. new.handle .. "|" .. new.remote) ~= nil
    end
    choose(d, index_of(d, s.handle))
    d.key = describe_ready(s)
    return true
end

local control = {}

function control.WAIT(d, timeout, _, handle)
    B.flush(d)
    require("mumps.io.device").flush()
    d.key, d.zkey = "", ""
    local deadline = B.deadline(timeout)
    local name = handle ~= nil and require("mumps.values.number").str(handle) or nil
    if name then
        need(d, name)
    elseif #d.sockets == 0 then
        return B.fail(d, "NOSOCKETINDEV")
    end
    local picked
    repeat
        local ready = wait_ready(d, deadline, name)
        picked = #ready > 0 and pick(d, ready)
    until picked or deadline and C.caret_mumps__io_ticks() >= deadline
    tested(timeout, picked)
end

function control.LISTEN(d, depth)
    local s = current(d)
    if s.state ~= "LISTENING" and s.state ~= "BOUND" then
        return B.fail(d, "LISTENPASSBND")
    end
    C.caret_mumps__io_listen(s.fd, depth and require("mumps.values.number").int(depth) or 5)
    s.state, d.key = "LISTENING", S.listening(s)
end

function control.BLOCK(d, how)
    local word = require("mumps.values.number").str(how or "")
    if word:upper() ~= "OFF" then
        return B.fail(d, "SOCKBLOCKERR", "expression must be \"OFF\"")
    end
    current(d).nonblocking, d.patience = true, 1000
end

function control.TLS(d)
    return B.fail(d, "TLSDLLNOOPEN")
end

local function passing(d)
    local s = current(d)
    if s.state ~= "CONNECTED" then
        return B.fail(d, "CONNSOCKREQ")
    elseif s.protocol ~= "LOCAL" then
        return B.fail(d, "LOCALSOCKREQ")
    end
    return s
end

local function from_pool(d, handle)
    local name = handle ~= nil and require("mumps.values.number").str(handle) or ""
    return name ~= "" and S.pool[name] or B.fail(d, name == "" and "NOSOCKHANDLE" or "SOCKNOTFND", name)
end

-- WRITE /PASS(pid, timeout, handle...)
function control.PASS(d, pid, timeout, ...)
    local s = passing(d)
    local peer = C.caret_mumps__io_peer_pid(s.fd)
    if pid ~= nil and require("mumps.values.number").int(pid) ~= peer then
        return B.fail(d, "PEERPIDMISMATCH", tostring(peer), tostring(pid))
    end
    local handles = { ... }
    if #handles == 0 then
        return B.fail(d, "NOSOCKHANDLE")
    end
    for _, handle in ipairs(handles) do
        local gift = from_pool(d, handle)
        local text = gift.handle .. "\n"
        local rc = C.caret_mumps__io_pass(s.fd, gift.fd, text, #text)
        if rc < 0 then
            return B.fail_tail(d, "%YDB-I-TEXT, " .. B.strerror(-rc), "SOCKPASS")
        end
        S.pool[gift.handle] = nil
        S.close(gift)
    end
    tested(timeout, true)
end

-- What WRITE /name does; names may be abbreviated.
function M.control(d, name, ...)
    for word, f in pairs(control) do
        if word:sub(1, #name) == name then
            return f(d, ...)
        end
    end
    if name == "EOF" then
        return B.flush(d)
    end
    return B.fail(d, "INVCTLMNE")
end

return M
