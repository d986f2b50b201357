-- zsocket.lua - $ZSOCKET: what there is to know of a SOCKET device and its sockets.
local C = require "mumps.host"
local B = require "mumps.io.base"
local D = require "mumps.io.device"
local S = require "mumps.io.sockets"

local Z = {}

local function str(v)
    return require("mumps.values.number").str(v)
end

local function setting(letter)
    return function(s) return C.caret_mumps__io_get(s.fd, letter:byte()) end
end

-- Of one socket.
local OF = {
    BLOCKING = function(s) return s.nonblocking and 0 or 1 end,
    DESCRIPTOR = function(s) return s.fd end,
    HOWCREATED = function(s) return s.created end,
    IOERROR = function(s) return s.trap and 1 or 0 end,
    KEEPALIVE = setting "k", KEEPCNT = setting "c", KEEPIDLE = setting "i", KEEPINTVL = setting "v",
    LOCALADDRESS = function(s) return s.here end,
    LOCALPORT = function(s) return s.protocol == "LOCAL" and "" or s.port end,
    MOREREADTIME = function(s) return s.morereadtime or "" end,
    OPTIONS = function(s) return s.options or "" end,
    PARENT = function(s) return s.parent or "" end,
    PROTOCOL = function(s) return s.protocol end,
    REMOTEADDRESS = function(s) return s.remote end,
    REMOTEPORT = function(s) return s.rport ~= 0 and s.rport or "" end,
    SNDBUF = setting "s",
    SOCKETHANDLE = function(s) return s.handle end,
    STATE = function(s) return s.state end,
    TLS = function() return "" end,
    ZBFSIZE = function(s) return s.zbfsize end,
    ZDELAY = function(s) return s.nodelay and 0 or 1 end,
    ZFF = function(s) return s.zff or "" end,
    ZIBFSIZE = setting "r",
}

function OF.DELIMITER(s, which)
    if which == nil then
        return #s.delimiters
    end
    return s.delimiters[require("mumps.values.number").int(which) + 1] or ""
end

local function pool()
    local list = {}
    for _, s in pairs(S.pool) do
        list[#list + 1] = s
    end
    table.sort(list, function(a, b) return a.handle < b.handle end)
    return { sockets = list, index = 0, kind = "SO" }
end

function Z.device(v)
    if v == nil then
        return pool()
    end
    local d = str(v) == "" and D.current() or D.find(str(v))
    if not d then
        return B.fail(nil, "IONOTOPEN")
    elseif d.kind ~= "SO" then
        return B.fail(nil, "ZSOCKETNOTSOCK")
    end
    return d
end

local function index_of(d, handle)
    for i, s in ipairs(d.sockets) do
        if s.handle == handle then
            return i - 1
        end
    end
    return ""
end

-- $ZSOCKET(device, keyword, index, delimiter)
function Z.zsocket(name, keyword, index, which)
    local word = str(keyword):upper()
    local d = Z.device(name)
    if word == "CURRENTINDEX" then
        return d.index - 1
    elseif word == "NUMBER" then
        return #d.sockets
    elseif word == "INDEX" then
        return index_of(d, str(index or ""))
    elseif not OF[word] then
        return B.fail(nil, "ZSOCKETATTR", str(keyword))
    end
    local at = index ~= nil and require("mumps.values.number").int(index) + 1 or d.index
    local s = d.sockets[at]
    return s and OF[word](s, which) or ""
end

return Z
