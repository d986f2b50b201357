-- principal.lua - $PRINCIPAL: standard input and output as one device of M.
--
-- If the two are different things they are two devices inside: the one of output, whose `input` is the other.
local ffi = require "ffi"
local C = require "mumps.host"
local B = require "mumps.io.base"

local P = {}

local room = ffi.new "char[4096]"

-- $PRINCIPAL's output is gone: an error once, and the end of the process the second time, as nothing can be
-- told.
function P.lost(d, number)
    if d.lost then
        d.n, d.ofd, d.discard = 0, -1, true
        io.stderr:write("%YDB-F-NOPRINCIO, Unable to WRITE principal device: ", B.strerror(number), "\n")
        os.exit(1)
    end
    d.lost = true
end

local function env(name)
    local text = C.caret_mumps__io_env(name)
    return text ~= nil and ffi.string(text) or nil
end

local function side(fd, name)
    local kind = C.caret_mumps__io_kind(fd)
    kind = kind > 0 and string.char(kind) or "f"
    if kind == "s" then
        return require("mumps.io.socket").principal(name, fd)
    end
    local class = kind == "t" and "mumps.io.terminal" or "mumps.io.record"
    local d = B.new(name, kind == "t" and "TT" or "RM", require(class))
    d.what, d.principal, d.regular = kind, true, kind == "f"
    d.stream, d.wrap = kind ~= "t", kind == "t"
    return d
end

local function tty_name(fd)
    if C.caret_mumps__io_tty_name(fd, room, 4096) == 0 then
        return ffi.string(room)
    end
end

-- Makes it, once.
function P.open()
    local name = env "ydb_principal" or env "gtm_principal"
    local given = name and name ~= "" and name or nil
    name = given or tty_name(0) or "0"
    local out = side(1, name)
    local socket = out.kind == "SO"
    local together = C.caret_mumps__io_same(0, 1) == 1
    if not socket then
        out.ofd = 1
    end
    if not together then
        out.input = side(0, name)
        out.input.fd = 0
    elseif not socket then
        out.fd = 0
    end
    out.device_name, out.given = tty_name(0) or "0", given
    for _, d in ipairs { out, out.input } do
        if d.class.start then
            d.class.start(d)
        end
        d.class.set_limit(d)
    end
    return out
end

return P
