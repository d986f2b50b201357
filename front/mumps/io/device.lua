-- device.lua - the device commands: WRITE READ OPEN USE CLOSE, as emitted code calls them.
--
-- WRITE to a device copies bytes into its buffer; the buffer goes to the system when it is full, and before
-- anything that waits: READ, HANG, USE of another device, LOCK, ZSYSTEM, JOB, CLOSE, HALT.  Where somebody
-- may look at the other end while the program computes (a terminal, a pipe, a socket) each line end and each
-- end of a WRITE flushes, too, BURST times in a MOMENT: so what a program writes now and then is seen at
-- once, and a program that writes without end is not slowed down by the system.
local ffi = require "ffi"
local C = require "mumps.host"
local B = require "mumps.io.base"
local P = require "mumps.io.params"

local coarse_ticks = C.caret_mumps__io_coarse_ticks
local copy, tostring, type, format = ffi.copy, tostring, type, string.format
local CAP = B.CAP
local MOMENT = 20 -- milliseconds: what a reader of a pipe does not notice
local BURST = 32

local D = {}

local current, principal

-- Columns of a text on the virtual page of a device: bytes, but what a terminal shows where it is UTF-8, that
-- is nothing of control characters.
local columns = function(text) return #text end
if require("mumps.values.mode").utf8 then
    local width = require("mumps.values.utf8").width
    columns = function(text, d)
        return text:find "[%c\128-\255]" and d.ochset ~= "M" and not d.fixed and width(text) or #text
    end
end
B.columns = columns

local function text_of(v)
    if type(v) == "string" then
        return v
    end
    return v < 1e14 and v > -1e14 and tostring(v) or format("%.0f", v)
end

local floor = math.floor

-- A whole number that is not negative goes into the buffer digit by digit: no string is made.
local function write_digits(d, v)
    local len, rest = 1, v
    while rest >= 10 do
        rest = floor(rest / 10)
        len = len + 1
    end
    local x, n = d.x + len, d.n
    if x > d.limit or n + len > CAP then
        return d.class.write(d, text_of(v))
    end
    local buf = d.buf
    for i = n + len - 1, n, -1 do
        rest = floor(v / 10)
        buf[i] = 48 + (v - rest * 10)
        v = rest
    end
    d.n, d.x, d.wrote = n + len, x, true
end

-- WRITE v
function D.write(v)
    if type(v) == "number" and v >= 0 then
        return write_digits(current, v)
    end
    local s = type(v) == "string" and v or text_of(v)
    local d = current
    local len = #s
    local x, n = d.x + columns(s, d), d.n
    if x <= d.limit and n + len <= CAP then
        copy(d.buf + n, s, len)
        d.n, d.x, d.wrote = n + len, x, true
        return
    end
    return d.class.write(d, s)
end

local function soon(d)
    if d.n == 0 then
        return
    end
    if d.flushes == BURST then
        local now = coarse_ticks()
        if now - d.moment <= MOMENT then
            return
        end
        d.moment, d.flushes = now, 0
    end
    d.flushes = d.flushes + 1
    B.flush(d)
end

-- A WRITE ends, not by a line end.
function D.written()
    if current.eager then
        soon(current)
    end
end

-- WRITE !
function D.newline()
    local d = current
    local n = d.n
    if d.plain and d.limit >= 0 and n < CAP then
        d.buf[n] = 10
        d.n, d.x, d.wrote = n + 1, 0, true
        local y = d.y + 1
        if y >= d.length and d.length > 0 then
            y = y % d.length
        end
        d.y = y
    else
        d.class.newline(d)
    end
    if d.eager then
        soon(d)
    end
end

-- A line of ZWRITE or ZSHOW: in parts of WIDTH bytes even on a device that does not wrap.
function D.line(text)
    local d = current
    local width = d.width
    if not d.wrap and width and width > 0 and #text > width and not B.utf8 then
        for at = 1, #text - width, width do
            D.write(text:sub(at, at + width - 1))
            D.newline()
        end
        text = text:sub(#text - (#text - 1) % width)
    end
    D.write(text)
    D.newline()
end

-- WRITE #
function D.formfeed()
    current.class.formfeed(current)
    if current.eager then
        soon(current)
    end
end

local int

local function to_int(v)
    if type(v) == "number" and v < 2147483648 and v > -2147483648 then
        return v
    end
    int = int or require("mumps.values.number").int
    return int(v)
end

-- WRITE ?v
function D.tab(v)
    local d, n = current, to_int(v)
    if n <= d.x then
        return
    end
    D.write((" "):rep(n - d.x))
    if n >= d.width and d.wrap then
        d.y, d.x = d.y + math.floor(n / d.width), n % d.width
        if d.length > 0 then
            d.y = d.y % d.length
        end
    else
        d.x = n
    end
end

local function char(n)
    if B.utf8 and current.ochset ~= "M" then
        return require("mumps.values.functions").CHAR(n)
    end
    return string.char(n % 256)
end

-- WRITE *v
function D.char(v)
    D.write(char(to_int(v)))
end

-- WRITE /name(...)
function D.control(name, ...)
    local f = current.class.control
    if f then
        return f(current, name:upper(), ...)
    end
end

-- What READ reads from, with all prompts on their way.
local function input()
    local d = current
    if d.n > 0 then
        B.flush(d)
    end
    if principal.n > 0 then
        B.flush(principal)
    end
    return d.input or d
end

local function answer(value, ok, timeout)
    if timeout == nil then
        return value, nil
    end
    return value, ok
end

-- READ v:timeout.  slot: a local variable without subscripts, which is empty while READ goes on, and after
-- its error.
function D.read(timeout, slot)
    local d = input()
    if slot then
        slot.c.v = ""
    end
    local value, ok = d.class.read(d, nil, B.deadline(timeout))
    return answer(value, ok, timeout)
end

-- READ v#n:timeout
function D.read_count(n, timeout, slot)
    local max = to_int(n)
    if max <= 0 then
        return B.fail(nil, "RDFLTOOSHORT")
    elseif max > 1048576 then
        return B.fail(nil, "RDFLTOOLONG")
    end
    local d = input()
    if slot then
        slot.c.v = ""
    end
    local value, ok = d.class.read(d, max, B.deadline(timeout))
    return answer(value, ok, timeout)
end

-- READ *v:timeout
function D.read_char(timeout)
    local d = input()
    local value, ok = d.class.read_char(d, B.deadline(timeout))
    return answer(value, ok, timeout)
end

local function select_device(d)
    if current ~= d and current.n > 0 then
        B.flush(current)
    end
    current = d
end

local function is_principal(name)
    return name == "0" or name == "" or name == principal.name or name == principal.device_name
end

local function find(name)
    if is_principal(name) then
        return principal
    end
    return B.devices[name]
end

-- Parameters with their names in full. Those that only the compiler knows do nothing.
local function full(params)
    if not params then return end
    local K = require "mumps.io.keywords"
    for _, p in ipairs(params) do
        p[1] = K.commands[p[1]] and p[1] or K.canonical(p[1]) or p[1]
    end
    return params
end

local OPENERS = { SOCKET = "mumps.io.socket", PIPE = "mumps.io.pipe", [""] = "mumps.io.file" }

-- The kind of a device that is not open yet. With FIFO a mnemonicspace does not count.
local function opener(space, params)
    for _, p in ipairs(params or {}) do
        if p[1] == "FIFO" then
            return "mumps.io.file"
        end
    end
    return OPENERS[space:upper()] or B.fail(nil, "INVMNEMCSPC", space)
end

-- What only the first OPEN of a file decides.
local ON_OPEN = { FIXED = true, NOFIXED = true, STREAM = true, VARIABLE = true, APPEND = true,
    NOSTREAM = true }

-- OPEN: true or false if there is a timeout.
function D.open(device, params, timeout, space)
    local name = text_of(device)
    params = full(params)
    if name == "YGTMSOCKETPOOL" then
        return B.fail(nil, "DEVNAMERESERVED", name)
    end
    local d, ok = find(name), true
    if d and d.class.reopen then
        ok = d.class.reopen(d, params, timeout)
    elseif d then
        P.apply(d, params, ON_OPEN)
    else
        d, ok = require(opener(space and text_of(space) or "", params)).open(name, params, timeout)
        if d then
            d.plain = d.plain or d.kind == "RM" and not d.fixed
            d.eager = d.eager or d.pipe or d.kind == "FF"
            B.devices[name] = d
        end
    end
    if timeout == nil then
        return nil
    end
    return ok ~= false
end

-- What USE changes at a device.
function D.settings(d, params)
    local use = d.class.use or P.apply
    return use(d, params)
end

-- USE
function D.use(device, params)
    local d = find(text_of(device))
    if not d then
        return B.fail(nil, "IONOTOPEN")
    end
    select_device(d)
    if params and #params > 0 then
        full(params)
        if d.input then
            D.settings(d.input, params)
        end
        D.settings(d, params)
    end
    if d.eager and d.n > 0 then
        B.flush(d)
    end
end

-- CLOSE
function D.close(device, params)
    local name = text_of(device)
    local d = find(name)
    if not d then
        return
    elseif d == principal then
        B.flush(d)
        return P.apply(d, full(params))
    end
    params = full(params)
    if d.class.close_part and d.class.close_part(d, params) then
        return
    end
    if current == d then
        current = principal
    end
    if d.class.close_check then -- an error there leaves it open
        d.class.close_check(d, params)
    end
    B.devices[name] = nil
    d.class.close(d, params)
end

-- Everything written so far reaches the system.
function D.flush()
    if principal.n > 0 then
        B.flush(principal)
    end
    if current ~= principal and current.n > 0 then
        B.flush(current)
    end
end

-- All but $PRINCIPAL.
function D.close_all()
    for name, d in pairs(B.devices) do
        B.devices[name] = nil
        pcall(d.class.close, d)
    end
    current = principal
end

-- HALT: closes all.
function D.finish()
    D.close_all()
    pcall(principal.class.complete, principal)
end

function D.x()
    return current.x
end

function D.y()
    return current.y
end

function D.io()
    return current.name
end

-- The current device, and $PRINCIPAL.
function D.current()
    return current
end

function D.principal()
    return principal
end

-- Direct mode, after an error: back to $PRINCIPAL.
function D.reset_to_principal()
    select_device(principal)
end

-- Current again, if it is still open.
function D.return_to(d)
    if d == principal or B.devices[d.name] == d then
        select_device(d)
    end
end

-- Ctrl-C, as USE has said at the terminal: an error by CTRAP; true: it does not count.
function D.takes_control_c()
    local d = principal.input or principal
    if d.ctrap and d.ctrap[3] then
        return B.fail(d, "CTRAP", "3")
    end
    return d.deaf
end

-- A line of text to $PRINCIPAL, as it is.
function D.principal_write(text)
    local before = current
    select_device(principal)
    D.write(text)
    D.newline()
    B.flush(principal)
    current = before
end

-- A message to standard error, after what was written before.
function D.stderr(text)
    D.flush()
    io.stderr:write(text)
end

function D.find(name)
    return find(name)
end

-- Another $PRINCIPAL than the standard descriptors.
function D.take_principal(d)
    principal, current, B.principal = d, d, d
end

-- Makes $PRINCIPAL of the standard descriptors; again, after JOB has changed these.
function D.start()
    B.utf8 = require("mumps.values.mode").utf8
    require "mumps.io.file"
    principal = require("mumps.io.principal").open()
    local what = principal.what
    principal.plain = principal.kind == "RM"
    principal.eager = what ~= "f" and what ~= "n"
    current = principal
    B.principal = principal
end

D.start()

return D
