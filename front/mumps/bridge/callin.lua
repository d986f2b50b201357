-- mumps.bridge.callin: M called from outside: call-in tables, LABEL^ROUTINE with texts (bridge/machine.c).
--
-- Lines of a table are
--
--     name: type label^routine(I:type, O:type, IO:type, ...)      // comment
--
-- Functions here return 0 and values, or a status and what is wrong, as $ZSTATUS has it.  Entries have
-- numbers, which stay good when another table becomes the current one.

local C = require "mumps.host"
local ffi = require "ffi"
local types = require "mumps.bridge.types"
local start = require "mumps.runtime.start"
local special = require "mumps.runtime.special"
local str = require("mumps.values.number").str

ffi.cdef "typedef union { int64_t i; double d; void *p; } caret_mumps__cell;"

local callin = {}

local entries = {} -- all, by number
local tables = {}  -- by handle: name -> entry
local current = 0  -- 0: that of the environment, under `default`
local default

local MOST = 32
local LONGEST = 31 -- of a name, in bytes that count

local function fail(...)
    return require("mumps.runtime.error").fail(...)
end

-- ----------------------------------------------------------------- errors

-- An M error as its status and its text; control that leaves M altogether.
local function status_of(e)
    local E = require "mumps.runtime.error"
    e = E.internal(e)
    if e.ended then return 2147483600, "ended by the caller" end -- CARET_M__ENDED
    if e.control == "halt" then os.exit(e.code or 0) end
    if e.control == "goto" then e = E.object "ZGOCALLOUTIN" end -- to a level before the call
    if e.control then return 2147483646, "TPRESTART" end -- YDB_TP_RESTART
    local place = e.place and e.place ~= "" and e.place or "(Call-In)"
    local text = ("%d,%s,%s"):format(e.code or 0, place, e.text or "")
    if special.writers.ZSTATUS then special.writers.ZSTATUS(text) end
    return -(e.code or 1), text
end

local function guarded(f)
    local function finish(ok, ...)
        if ok then return 0, ... end
        return status_of((...))
    end
    return function(...)
        return finish(pcall(f, ...))
    end
end

-- ----------------------------------------------------------------- tables

local directions = {I = true, O = true, IO = true}

local function parameter(text)
    local direction, rest = text:match "^%s*(%u+)%s*:%s*(.*)$"
    if not directions[direction] then return fail "CIDIRECTIVE" end
    local name, after = rest:match "^([%w_]*%s*%**)%s*%[?%s*%d*%s*%]?%s*(.*)$"
    local t = types.parse(name)
    if not t or t.kind == "void" or t.kind == "status" or t.kind == "function" then return fail "CIUNTYPE" end
    local plain = t.kind == "int" or t.kind == "real"
    if not plain and t.pointer ~= 1 then return fail "CIUNTYPE" end
    if after ~= "" then return fail "CIRPARMNAME" end
    t.input, t.output = direction ~= "O", direction ~= "I"
    if t.output and t.pointer == 0 then return fail "CIPARTYPE" end
    return t
end

-- What follows the label: "(I:type, ...)".
local function parameters(e, text)
    local list = text:match "^%s*%((.*)$"
    if not list then return fail(text:find "%S" and "CIRPARMNAME" or "CIENTNAME") end
    list = list:match "^%s*(.-)%s*%)" or list
    if not text:find(")", 1, true) then list = list .. ")" end -- of no type
    for p in (list ~= "" and list .. "," or ""):gmatch "([^,]*)," do
        e[#e + 1] = parameter(p)
    end
    if #e > MOST then fail "CIMAXPARAM" end
end

-- How machine.c takes each argument.
local function class(t)
    if t.pointer > 0 then return "p" end
    if t.kind == "real" then return "d" end
    return t.bits == 64 and "l" or "i"
end

local function classes_of(e)
    local list = {}
    if e.result.kind ~= "void" then list[1] = "p" end
    for _, t in ipairs(e) do list[#list + 1] = class(t) end
    return table.concat(list)
end

local function returns(t)
    if t.kind == "void" then return t.pointer == 0 end
    return t.pointer == 1 and t.kind ~= "status" and t.kind ~= "function"
end

local function entry(line)
    local name, rest = line:match "^%s*([%%%w_]+)%s*(.*)$"
    if not name then return fail "CIRCALLNAME" end
    if not rest:find("^:") then return fail "COLON" end
    local result, target, list = rest:match "^:%s*([%w_]*%s*%**)%s*([%%%w^]*)(.*)$"
    local e = {name = name, result = types.parse(result)}
    if not e.result or not returns(e.result) then return fail "CIRTNTYP" end
    e.result.output = true
    local label, routine = target:match "^([%%%w]*)%^?([%%%w]*)$"
    if not label or target == "" then return fail "CIENTNAME" end
    if not target:find("^", 1, true) then label, routine = nil, label end
    e.label, e.routine = label and label ~= "" and label:sub(1, LONGEST) or nil, routine:sub(1, LONGEST)
    parameters(e, list)
    e.classes = classes_of(e)
    entries[#entries + 1] = e
    e.number = #entries
    return e
end

local function expand(text)
    return (text:gsub("%$([%a_][%w_]*)", function(name) return os.getenv(name) or "" end))
end

local function read(path)
    local file = io.open(expand(path))
    if not file then return fail("CITABOPN", path) end
    local text, why, errno = file:read "*a"
    file:close()
    if not text then return require("mumps.runtime.error").fail_errno(errno, (why:gsub("^.*: ", ""))) end
    local found = {}
    for line in text:gmatch "[^\n]+" do
        line = line:gsub("//.*$", "")
        if line:find "%S" then
            local e = entry(line)
            found[e.name] = e
        end
    end
    return found
end

local function table_now()
    if current ~= 0 then return tables[current] end
    if not default then
        local path = os.getenv "ydb_ci" or os.getenv "GTMCI"
        if not path or path == "" then return fail("CITABENV", "ydb_ci/GTMCI") end
        default = read(path)
    end
    return default
end

local function find(name)
    return table_now()[name] or fail("CINOENTRY", name)
end

callin.open = guarded(function(path)
    tables[#tables + 1] = read(path)
    return #tables
end)

callin.use = guarded(function(handle)
    local before = current
    if handle ~= 0 and not tables[handle] then
        return fail("PARAMINVALID", "Invalid new_handle", "ydb_ci_tab_switch()")
    end
    current = handle
    return before
end)

callin.signature = guarded(function(name, number)
    local e = number ~= 0 and entries[number] or find(name)
    return e.number, e.classes
end)

-- One bit for each argument, the first is the lowest.
callin.masks = guarded(function(name)
    local into, out = 0, 0
    for i, t in ipairs(find(name)) do
        into = into + (t.input and 2 ^ (i - 1) or 0)
        out = out + (t.output and 2 ^ (i - 1) or 0)
    end
    return into, out
end)

-- -------------------------------------------------------------- arguments

local function invalid(what, i)
    return fail("PARAMINVALID", ("%s argument %d"):format(what, i), "ydb_ci()")
end

-- What of an argument can't be read, or written: before M runs, as nothing is to happen then.
local function check(t, cell, i)
    if t.pointer == 0 then return end
    local texts = t.kind == "string" or t.kind == "text" or t.kind == "buffer"
    if cell.p == nil and (t.output or not texts) then return invalid("NULL", i) end
    if t.kind == "buffer" and t.input and cell.p ~= nil then
        local b = ffi.cast("caret_mumps__buffer *", cell.p)
        local wrong = b.len_used > b.len_alloc or b.len_used > 0 and b.buf_addr == nil
        if wrong then return invalid("Invalid", i) end
    end
end

local enter = {}

function enter.int(t, cell)
    if t.pointer == 0 then return types.of_integer(ffi.cast(t.c, cell.i)) end
    return types.of_integer(ffi.cast(t.c .. " *", cell.p)[0])
end

function enter.real(t, cell)
    local x = t.pointer == 0 and cell.d or ffi.cast(t.c .. " *", cell.p)[0]
    return types.of_real(tonumber(x), t.digits)
end

function enter.string(_, cell)
    return cell.p ~= nil and ffi.string(ffi.cast("char *", cell.p)) or ""
end

function enter.text(_, cell)
    local s = ffi.cast("caret_mumps__string *", cell.p)
    return s ~= nil and s.address ~= nil and ffi.string(s.address, s.length) or ""
end

function enter.buffer(_, cell)
    local b = ffi.cast("caret_mumps__buffer *", cell.p)
    return b ~= nil and b.buf_addr ~= nil and ffi.string(b.buf_addr, b.len_used) or ""
end

local leave = {}

function leave.int(t, cell, v)
    ffi.cast(t.c .. " *", cell.p)[0] = types.integer(v, t)
end

function leave.real(t, cell, v)
    ffi.cast(t.c .. " *", cell.p)[0] = types.real(v)
end

function leave.string(_, cell, v)
    local text = str(v)
    ffi.copy(ffi.cast("char *", cell.p), text, #text + 1)
end

function leave.text(_, cell, v, i)
    local s, text = ffi.cast("caret_mumps__string *", cell.p), str(v)
    local n = math.min(#text, tonumber(s.length))
    if n > 0 and s.address == nil then return invalid("Invalid", i) end
    if n > 0 then ffi.copy(s.address, text, n) end
    s.length = n
end

function leave.buffer(_, cell, v, i)
    local b, text = ffi.cast("caret_mumps__buffer *", cell.p), str(v)
    b.len_used = #text
    if #text > b.len_alloc then return fail("INVSTRLEN", #text, tonumber(b.len_alloc)) end
    if #text > 0 and b.buf_addr == nil then return invalid("Invalid", i) end
    if #text > 0 then ffi.copy(b.buf_addr, text, #text) end
end

-- A variable that no name leads to, to be passed by reference.
local function variable(v)
    return {name = "", c = {v = v, a = false, s = false, n = 0, b = false}}
end

local value_of = require("mumps.bridge.xcall").value

-- ------------------------------------------------------------------ calls

local last -- session of the last call, as a number

-- Places remember the session they work in; each thread of the program has its own.  It is returned.
local function reselect()
    local globals = package.loaded["mumps.data.globals"]
    if not globals then return nil end
    local s = C.caret_mumps__session("", 0)
    local session = tonumber(ffi.cast("intptr_t", s))
    if last and last ~= session and globals.reselect then globals.reselect() end
    last = session
    return s
end

-- What differs from a program: nothing shows errors by a BREAK, and there is no command that began it.
local begun

local function begin()
    begun = true
    require("mumps.runtime.level").first = ""
    local trap = require "mumps.runtime.trap"
    if trap.ztrap == "B" then trap.ztrap = "" end
end

local function prepare()
    start.load()
    if not begun then begin() end
    local s = reselect()
    special.look_at_maxtptime()
    if special.writers.ECODE then special.writers.ECODE("") end
    return s
end

local function finish()
    if special.writers.ECODE then special.writers.ECODE("") end
    local device = package.loaded["mumps.io.device"]
    if device then device.flush() end
end

-- ^ROUTINE with arguments is the label of that name.
local function first_label(routine)
    return require("mumps.runtime.routine").label_line(routine, routine) and routine or nil
end

-- ZGOTO 1:ENTRY goes on there in place of the routine.
local function gone_on(ok, v)
    local there = not ok and type(v) == "table" and v.control == "goto" and v.fn
    if not there or v.level ~= 0 or v.halt then return ok, v end
    local e = require("mumps.runtime.call").at_level(v.fn)
    if e then return gone_on(false, e) end
    return true
end

local function invoke(label, routine, args, n, kind)
    local s, tp = prepare(), require "mumps.data.tp"
    if not label and n then label = first_label(routine) end
    local before, own = tp.enter(s)
    local ok, v = gone_on(pcall(require("mumps.runtime.call").m, label, routine, args, n, kind))
    tp.exit(before, own)
    finish()
    if not ok then error(v, 0) end
    return v
end

-- Arguments are counted from 1, what the routine quits with is argument 0.
local function take(e, cells, first)
    local args = {}
    if first == 0 then check(e.result, cells[0], 0) end
    for i, t in ipairs(e) do
        check(t, cells[i + first], i)
        local v = t.input and enter[t.kind](t, cells[i + first]) or nil
        args[i] = t.output and variable(v) or v
    end
    return args
end

-- What has no value in the end is left as it is.
local function give(e, cells, first, args, v)
    for i, t in ipairs(e) do
        local after = t.output and value_of(args[i])
        if after then leave[t.kind](t, cells[i + first], after, i) end
    end
    if first == 0 and v ~= nil then leave[e.result.kind](e.result, cells[0], v, 0) end
end

-- A routine that quits without the value of its entry leaves the caller's as it is; after ZGOTO 0 all are.
local function ended(ok, v)
    if ok then return true, v end
    local plain = type(v) == "table" and v.m == "QUITARGREQD" and v.place == ""
    if not plain and not (type(v) == "table" and v.zgoto) then error(v, 0) end
    return plain
end

local function call(number, pointer)
    local e, cells = entries[number], ffi.cast("caret_mumps__cell *", pointer)
    local first, n = e.result.kind == "void" and -1 or 0, #e
    local args = take(e, cells, first)
    local gives, v = ended(pcall(invoke, e.label, e.routine, args, n > 0 and n or nil,
        first == 0 and "$$" or "DO"))
    if gives then give(e, cells, first, args, v) end
end

jit.off(call)
callin.call = guarded(call)

local function after_halt(ok, v)
    if not ok and not (type(v) == "table" and v.control == "halt" and not v.ended) then error(v, 0) end
    return ok and v or nil
end

-- Where machine.c asks for the end of a call, and what looks there.
callin.raised = require("mumps.runtime.interrupt").raised
callin.heed = require("mumps.runtime.interrupt").heed

-- After each external call `said` tells what the functions of libyottadb.so which it called failed with.
function callin.hear(said)
    require("mumps.bridge.xcall").said = said
end

-- Which program JOB starts.
function callin.jobs_by(program)
    rawset(C, "program", program)
end

-- HALT ends the call, and not the program, which is none of M's.
local function halted(f, ...)
    return after_halt(pcall(f, ...))
end

-- What a DO has instead of a value: what it wrote, if that is collected.
local function written(collects)
    local text = collects and require("mumps.io.collect").finish()
    return text and text ~= "" and text
end

-- One of a host that has others to serve: nothing of it is left.
local function alone(...)
    start.load()
    local fresh = require "mumps.bridge.fresh"
    fresh.begin()
    require("mumps.io.collect").begin()
    local ok, v = pcall(invoke, ...)
    fresh.leave()
    if not ok then error(v, 0) end
    return v
end

-- LABEL^ROUTINE, or $$LABEL^ROUTINE, with texts, those of the bits of `references` by reference: a table
-- of the value as text, false after a DO, and what the arguments are then.
callin.run = guarded(function(text, args, references, collects)
    local dollars, entry_text = text:match "^(%$?%$?)(.*)$"
    local label, offset, routine = start.entry(entry_text)
    if not routine or offset then return fail("LABELEXPECTED") end
    local n = #args
    for i = 1, n do
        if math.floor(references / 2 ^ (i - 1)) % 2 == 1 then args[i] = variable(args[i]) end
    end
    local v = halted(collects and alone or invoke, label, routine, args, n > 0 and n or nil,
        dollars == "$$" and "$$" or "DO")
    local said = written(collects)
    local values = {dollars == "$$" and v ~= nil and str(v) or dollars == "" and said or false}
    for i = 1, n do
        local after = value_of(args[i])
        values[i + 1] = after ~= nil and str(after) or false
    end
    return values
end)

return callin
