-- params.lua - what the deviceparameters do to a device that is open: for all devices, and for records.
--
-- A parameter that a device does not know is ignored, so that one text fits all devices.  What decides how
-- a device is opened at all (READONLY, COMMAND, LISTEN ...) is read by the module that opens it.
local C = require "mumps.host"
local B = require "mumps.io.base"

local P = {}

local WIDTH_MAX = 1048576

local function int(value)
    return require("mumps.values.number").int(value)
end

local common = {}

function common.EXCEPTION(d, value)
    require("mumps.runtime.trap").compile(value)
    d.exception = value ~= "" and value or nil
end

function common.LENGTH(d, value)
    local n = int(value)
    if n < 0 then
        return B.fail(d, "DEVPARMNEG")
    end
    d.length = n
end

function common.WRAP(d)
    d.wrap = true
end

function common.NOWRAP(d)
    d.wrap = false
end

-- An empty CHSET is the process's own.
function common.CHSET(d, value)
    common.ICHSET(d, value)
    common.OCHSET(d, value)
end

local function charset(d, value)
    local name = value:upper()
    if not B.utf8 then -- bytes are what they are
        return name
    elseif name ~= "M" and name ~= "UTF-8" and not name:find "^UTF%-16[LB]?E?$" and name ~= "" then
        return B.fail(d, "BADCHSET", value)
    end
    return name
end

local function is_wide(name)
    return B.utf8 and require("mumps.io.wide").is(name) or nil
end

function common.ICHSET(d, value)
    d.ichset = charset(d, value)
    d.wide_in = is_wide(d.ichset)
end

function common.OCHSET(d, value)
    d.ochset = charset(d, value)
    d.wide_out = is_wide(d.ochset)
end

local record = setmetatable({}, { __index = common })

function record.RECORDSIZE(d, value)
    local n = int(value)
    if n <= 0 then
        return B.fail(d, "RMWIDTHPOS")
    elseif n > WIDTH_MAX then
        return B.fail(d, "RMWIDTHTOOBIG")
    end
    d.width, d.width_is_size = n, true
end

function record.WIDTH(d, value)
    record.RECORDSIZE(d, value)
    d.wrap, d.width_is_size = true, false
end

-- STREAM counts as long as the format is not fixed.
function record.FIXED(d)
    d.fixed = true
end

function record.NOFIXED(d)
    d.fixed = false
end

-- Of a file that is open.
function record.READONLY(d)
    d.readonly = true
end

function record.NOREADONLY(d)
    d.readonly = false
end

function record.WRITEONLY(d)
    d.writeonly = true
end

function record.NOSTREAM(d)
    d.stream = false
end

function record.VARIABLE(d)
    d.fixed = false
end

function record.STREAM(d)
    d.stream = true
end

-- In M mode no character is left over: records are filled with blanks.
function record.PAD(d, value)
    local code = int(value) % 256
    if require("mumps.values.mode").utf8 then d.pad = string.char(code) end
end

function record.FFLF(d)
    d.nofflf = false
end

function record.NOFFLF(d)
    d.nofflf = true
end

function record.FOLLOW(d)
    d.follow = true
end

function record.NOFOLLOW(d)
    d.follow = false
end

local function move(d, at, whence)
    if not d.regular then
        return
    end
    local base = d.fd >= 0 and d.fd or d.ofd
    if d.n > 0 then
        B.flush(d)
    end
    d.class.settle(d)
    local to, size = C.caret_mumps__io_seek(base, at, whence), C.caret_mumps__io_size(base)
    if to < 0 or to > size then -- no further than to its ends
        C.caret_mumps__io_seek(base, to < 0 and 0 or size, 0)
    end
    if d.wrote and d.status == "" then
        d.status = "0"
    end
    d.zeof, d.reading = 0, "moved"
end

function record.REWIND(d)
    if d.regular then
        move(d, 0, 0)
        d.x, d.y, d.wrote = 0, 0, false
    end
end

function record.APPEND(d)
    move(d, 0, 2)
end

function record.SEEK(d, value)
    local sign, digits = value:match "^([+-]?)(%d+)$"
    if not sign then
        return B.fail(d, "SDSEEKERR", ("SEEK value %s invalid."):format(value == "" and '""' or value))
    end
    if d.n > 0 then
        B.flush(d)
    end
    if d.regular and C.caret_mumps__io_size(d.fd) == 0 then
        return -- without any place nothing changes, not even $ZEOF
    end
    local n = tonumber(digits) * (d.fixed and d.width or 1)
    move(d, sign == "-" and -n or n, sign == "" and 0 or 1)
    d.x, d.y, d.wrote = 0, 0, false
end

function record.TRUNCATE(d)
    if not d.regular then
        return
    end
    if d.n > 0 then
        B.flush(d)
    end
    d.class.settle(d)
    local at = C.caret_mumps__io_seek(d.ofd, 0, 1)
    if C.caret_mumps__io_truncate(d.ofd, at) < 0 then
        return B.fail(d, "IOERROR", "ftruncate", "TRUNCATE", "mumps.io.params", "0")
    end
    if d.reading == true then -- after a READ: that was the end
        d.zeof = 1
    end
end

local terminal = setmetatable({}, { __index = common })

function terminal.WIDTH(d, value)
    local n = int(value)
    if n > WIDTH_MAX then
        return B.fail(d, "TTWIDTHTOOBIG")
    end
    d.width, d.wrap = n > 0 and n or 255, n > 0
end

local function add(into, from)
    return setmetatable({}, {
        __index = function(_, name) return from[name] or into[name] end,
    })
end

local SYNONYMS = { ZWIDTH = "WIDTH", ZLENGTH = "LENGTH", ZWRAP = "WRAP", ZNOWRAP = "NOWRAP",
    INREWIND = "REWIND",
    OUTREWIND = "REWIND", INSEEK = "SEEK", OUTSEEK = "SEEK" }

-- The table of what a device of that kind knows; a kind's own parameters come first.
function P.of(kind, own)
    local base = kind == "RM" and record or kind == "TT" and terminal or common
    return own and add(base, own) or base
end

-- Applies the parameters to device d, in order.  `skip`: names that are not for now.
function P.apply(d, params, skip)
    local known = d.class.known(d)
    local text = require("mumps.values.number").str
    for _, p in ipairs(params or {}) do
        local name = SYNONYMS[p[1]] or p[1]
        local f = not (skip and skip[name]) and known[name] or nil
        if f then
            f(d, p[2] ~= nil and text(p[2]) or nil)
        end
    end
    d.class.set_limit(d)
end

-- The parameters as a table by name: true or the value's text.
function P.named(params)
    local text = require("mumps.values.number").str
    local named = {}
    for _, p in ipairs(params or {}) do
        named[SYNONYMS[p[1]] or p[1]] = p[2] ~= nil and text(p[2]) or true
    end
    return named
end

-- EXCEPTION of the parameters of an OPEN counts for what goes wrong while opening, too.
function P.exception(d, named)
    if type(named.EXCEPTION) == "string" then
        common.EXCEPTION(d, named.EXCEPTION)
    end
end

return P
