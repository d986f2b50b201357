-- file.lua - OPEN and CLOSE of files, FIFOs and the null device.
local C = require "mumps.host"
local B = require "mumps.io.base"
local P = require "mumps.io.params"
local R = require "mumps.io.record"

local F = {}

local READ, WRITE, CREATE, TRUNCATE, NONBLOCK = 1, 2, 4, 8, 16
local ENOENT, EACCES = 2, 13

local known = P.of("RM")

function R.known()
    return known
end

local ACCESS = { READONLY = true, WRITEONLY = true }

-- How a file is opened.  Of READONLY and WRITEONLY the last one decides.
local function how(params, named)
    local last
    for _, p in ipairs(params or {}) do
        last = ACCESS[p[1]] and p[1] or last
    end
    local emptied = named.NEWVERSION and TRUNCATE or 0
    if last == "READONLY" then
        return READ + emptied
    end
    return (last and WRITE or READ + WRITE) + CREATE + emptied
end

-- A file that may only be read is opened for that, as long as nothing says it must be written.
local function try(d, path, params, named)
    local fd = C.caret_mumps__io_open(path, how(params, named))
    if fd < 0 then
        return B.fail_errno(d, -fd)
    end
    return fd
end

local RIGHTS = { OWNER = 64, SYSTEM = 64, GROUP = 8, WORLD = 1 }

local function bits(text)
    local set = text:upper()
    return (set:find "R" and 4 or 0) + (set:find "W" and 2 or 0) + (set:find "X" and 1 or 0)
end

-- OWNER, GROUP and WORLD: the rights of these users of the file.
function F.protect(fd, named)
    local mode = C.caret_mumps__io_mode(fd)
    local changed = false
    for name, unit in pairs(RIGHTS) do
        local text = named[name]
        if type(text) == "string" then
            local old = math.floor(mode / unit) % 8
            mode, changed = mode + (bits(text) - old) * unit, true
        end
    end
    if changed then
        C.caret_mumps__io_chmod(fd, mode)
    end
end

local ON_APPEND = { TRUNCATE = true }

local function regular(name, path, params, named)
    local d = B.new(name, "RM", R)
    P.exception(d, named)
    if C.caret_mumps__io_path_kind(path) == 100 then
        return B.fail(d, "GTMEISDIR", path)
    end
    local fd = try(d, path, params, named)
    d.fd, d.ofd = fd, fd
    d.regular = C.caret_mumps__io_kind(fd) == 102
    d.path = path
    F.protect(fd, named)
    P.apply(d, params, named.APPEND and ON_APPEND)
    d.reading = false
    R.set_limit(d)
    return d
end

local function fifo(name, path, params, named)
    local d = B.new(name, "FF", R)
    P.exception(d, named)
    local kind = C.caret_mumps__io_path_kind(path)
    if kind == -ENOENT and not named.READONLY then
        C.caret_mumps__io_fifo(path)
    end
    local fd = C.caret_mumps__io_open(path, READ + WRITE + NONBLOCK)
    if fd == -EACCES then
        fd = C.caret_mumps__io_open(path, (named.READONLY and READ or WRITE) + NONBLOCK)
    end
    if fd < 0 then
        return B.fail_errno(d, -fd)
    end
    d.fd, d.ofd, d.nonblock, d.path = fd, named.READONLY and -1 or fd, true, path
    P.apply(d, params)
    return d
end

local function null(name, params, named)
    local d = B.new(name, "NL", require("mumps.io.null").class)
    P.exception(d, named)
    d.fd = C.caret_mumps__io_open("/dev/null", READ)
    P.apply(d, params)
    return d
end

-- OPEN of what is neither a PIPE nor a SOCKET.
function F.open(name, params)
    local named = P.named(params)
    local path = B.path(nil, name)
    local kind = C.caret_mumps__io_path_kind(path)
    if kind == 110 then
        return null(name, params, named)
    elseif kind == 112 or named.FIFO then
        return fifo(name, path, params, named)
    end
    return regular(name, path, params, named)
end

-- A file keeps the name that OPEN gave it for what follows in the same CLOSE.
local function rename(d, to, replace)
    if to == d.path and C.caret_mumps__io_path_kind(to) > 0 then
        return 0
    end
    return C.caret_mumps__io_rename(d.path, to, replace and 1 or 0)
end

local ON_CLOSE = {
    RENAME = function(d, to) return rename(d, to, false) end,
    REPLACE = function(d, to) return rename(d, to, true) end,
    DELETE = function(d) return C.caret_mumps__io_unlink(d.path) end,
}

local function shut(d)
    if d.fd >= 0 then
        C.caret_mumps__io_close(d.fd)
    end
    if d.ofd >= 0 and d.ofd ~= d.fd then
        C.caret_mumps__io_close(d.ofd)
    end
    d.fd, d.ofd = -1, -1
end

-- What CLOSE can't do, before it has done anything else.
function R.close_check(d, params)
    local text = require("mumps.values.number").str
    P.apply(d, params)
    for _, p in ipairs(d.path and params or {}) do
        local f = ON_CLOSE[p[1]]
        local rc = f and f(d, p[2] ~= nil and text(p[2]) or nil) or 0
        if rc < 0 then
            return B.fail_errno_of(d, -rc)
        end
    end
end

function R.close(d, params)
    local named = P.named(params)
    d.class.complete(d)
    if d.fd >= 0 or d.ofd >= 0 then
        F.protect(d.fd >= 0 and d.fd or d.ofd, named)
    end
    shut(d)
end

F.shut = shut

-- ZSHOW "D": what is said of a device after its name.
local function quoted(text)
    return require("mumps.values.names").quote(text)
end

local FORM = { NL = "", FF = "FIFO ", RM = "RMS " }

local function form(d)
    if d.pipe then
        return "PIPE "
    elseif d.principal then
        return d.what == "p" and "FIFO " or "RMS "
    end
    return FORM[d.kind]
end

function R.describe(d)
    local t = { "OPEN ", form(d) }
    local function add(condition, text)
        if condition then
            t[#t + 1] = text .. " "
        end
    end
    add(d.fixed, "FIXED")
    add(d.stream and not d.fixed, "STREAM")
    add(d.shell, "SHELL=" .. quoted(d.shell or ""))
    add(d.command, "COMMAND=" .. quoted(d.command or ""))
    add(d.stderr_name, "STDERR=" .. quoted(d.stderr_name or ""))
    add(d.independent, "INDEPENDENT")
    add(d.parsed, "PARSE")
    add(d.readonly, "READ")
    add(d.width ~= 32767, (d.width_is_size and "REC=" or "WIDTH=") .. d.width)
    add(not d.wrap, "NOWRAP")
    if d.exception then
        t[#t + 1] = "EXCE=" .. quoted(d.exception)
    end
    return table.concat(t)
end

return F
