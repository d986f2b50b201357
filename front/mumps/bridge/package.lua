-- mumps.bridge.package: packages of C functions for external calls, by their tables.
--
-- $ydb_xc_NAME, or $GTMXC_NAME, names the table of package NAME; without a name $ydb_xc or $GTMXC.  Its first
-- line is a shared library, the others are
--
--     name: type function(I:type, O:type [n], IO:type, ...) [: SIGSAFE]
--     GTMSHLIBEXIT = function                                  called when the program ends
--
-- A call is made by LuaJIT's FFI, from code that is never compiled, so that the function may call M.

local C = require "mumps.host"
local ffi = require "ffi"
local xcall = require "mumps.bridge.xcall"
local types = require "mumps.bridge.types"
local str = require("mumps.values.number").str

local package = {}

local MAXSTRLEN = 1048576

local function fail(...)
    return require("mumps.runtime.error").fail(...)
end

local function expand(text)
    return (text:gsub("%$([%a_][%w_]*)", function(name) return os.getenv(name) or "" end))
end

-- -------------------------------------------------------------- the table

local MOST = 32
local directions = {I = true, O = true, IO = true}

-- The type at p, as far as one is told there, and what follows.
local function type_at(line, p)
    local name, stars, after = line:match("^%s*([%w_]*)%s*(%**)()", p)
    return types.parse(name .. stars), after
end

local function is_string(t)
    return t.kind == "text" or t.kind == "buffer" or t.kind == "string" and t.pointer == 1
end

-- [n] at p, if it is there.
local function room_at(line, p, t)
    local inside, bracket, after = line:match("^%s*%[([^%]]*)(%]?)()", p)
    if not inside then return p end
    if not t.output then return fail "ZCPREALLVALPAR" end
    if inside:find "%D" then return fail "ZCPREALLNUMEX" end
    if bracket == "" then return fail "ZCCSQRBR" end
    if not is_string(t) then return fail "ZCPREALLVALSTR" end
    t.room = tonumber(inside) or 0
    if t.room > MAXSTRLEN + 1 then return fail "ZCPREALLVALINV" end
    return after
end

local function can_be_passed(t)
    if t.kind == "void" or t.kind == "status" then return false end
    if t.kind == "function" then return t.pointer == 0 end
    return t.pointer > 0 or t.kind == "int" or t.kind == "real"
end

local function can_be_returned(t)
    if t.kind == "void" or t.kind == "status" then return t.pointer == 0 end
    return t.kind == "int" or t.kind ~= "function" and t.pointer > 0
end

local function parameter(line, p)
    local direction, after = line:match("^%s*(%u+)%s*:()", p)
    if not directions[direction] then return fail "ZCRCALLNAME" end
    local t, at = type_at(line, after)
    if not t or not can_be_passed(t) then return fail "ZCUNTYPE" end
    t.input, t.output = direction ~= "O", direction ~= "I"
    return t, room_at(line, at, t)
end

-- After the parenthesis at p - 1.
local function parameters(e, line, p)
    local mark = line:match("^%s*%)", p)
    while not mark or mark == "," do
        e[#e + 1], p = parameter(line, p)
        mark, p = line:match("^%s*([,)])()", p)
        if not mark then return fail "ZCRPARMNAME" end
    end
    if #e > MOST then return fail "ZCMAXPARAM" end
end

-- Of names 31 bytes count, as in M.
local function known_as(name)
    return (name:gsub("[^^]+", function(part) return part:sub(1, 31) end))
end

local function entry(line)
    local name, p = line:match "^%s*([%%%w%^_]+)()"
    if not name then return fail "ZCENTNAME" end
    p = line:match("^%s*:()", p) or fail "ZCCOLON"
    local e = {name = known_as(name)}
    e.result, p = type_at(line, p)
    if not e.result or not can_be_returned(e.result) then return fail "ZCRTNTYP" end
    e.routine, p = line:match("^%s*([%w_]+)()", p)
    if not e.routine then return fail "ZCRCALLNAME" end
    p = line:match("^%s*%(()", p) or fail "ZCRPARMNAME"
    parameters(e, line, p)
    return e
end

-- NAME = VALUE: the function that is called at the end; nil: the line is another one.
local function keyword(line)
    local name, value = line:match "^%s*([%w_]+)%s*=%s*(.-)%s*$"
    if not name then return nil end
    if name:upper() ~= "GTMSHLIBEXIT" then return fail "ZCINVALIDKEYWORD" end
    if value == "" then return fail "ZCCLNUPRTNMISNG" end
    return value
end

-- ----------------------------------------------------------------- values

-- What is passed for a parameter: C's value, and what must live as long.  A text of which there is none is no
-- address, but where the function is to write one.
local function is_none(t, v)
    return not t.room and t.input and (v == nil or v == "" and t.kind == "text")
end

local function room_for(t, v)
    local text = t.input and v ~= nil and str(v) or ""
    local cap = math.max(#text, t.output and (t.room or MAXSTRLEN) or 0)
    local bytes = ffi.new("char[?]", cap + 1)
    ffi.copy(bytes, text, #text)
    return bytes, #text, cap
end

local pass = {}

function pass.int(t, v)
    local n = types.integer(t.input and v or 0, t)
    if t.pointer == 0 then return n end
    local cell = ffi.new(t.c .. "[1]", n)
    return cell, cell
end

function pass.real(t, v)
    local x = types.real(t.input and v or 0)
    if t.pointer == 0 then return x end
    local cell = ffi.new(t.c .. "[1]", x)
    return cell, cell
end

function pass.string(t, v)
    local bytes = room_for(t, v)
    if t.pointer < 2 then return bytes, bytes end
    local cell = ffi.new("char *[1]", bytes)
    return cell, {cell, bytes}
end

function pass.text(t, v)
    if is_none(t, v) then
        local none = ffi.new "caret_mumps__string[1]"
        return none, {none}
    end
    local bytes, len, cap = room_for(t, v)
    local cell = ffi.new("caret_mumps__string[1]", {{t.input and len or cap, bytes}})
    return cell, {cell, bytes}
end

function pass.buffer(t, v)
    if is_none(t, v) then
        local none = ffi.new "caret_mumps__buffer[1]"
        return none, {none}
    end
    local bytes, len, cap = room_for(t, v)
    local cell = ffi.new("caret_mumps__buffer[1]", {{cap, len, bytes}})
    return cell, {cell, bytes}
end

pass["function"] = function(_, v)
    return C.caret_mumps__callback(tonumber(v) or 0)
end

-- What a parameter is after the call.
local taken = {}

function taken.int(_, cell) return types.of_integer(cell[0]) end
function taken.real(t, cell) return types.of_real(tonumber(cell[0]), t.digits) end
function taken.string(t, cell)
    local p = t.pointer == 2 and cell[0] or cell
    if p == nil then return "" end
    return ffi.string(p)
end
function taken.text(_, cell)
    return cell[0].address ~= nil and ffi.string(cell[0].address, cell[0].length) or ""
end
function taken.buffer(_, cell)
    return cell[0].buf_addr ~= nil and ffi.string(cell[0].buf_addr, cell[0].len_used) or ""
end

-- The address of a text that was passed, where the function could have put another one.
local address_of = {}

function address_of.text(cell) return cell[0].address end
function address_of.buffer(cell) return cell[0].buf_addr end

local function checked(text, e, t, cell, keep)
    if #text > MAXSTRLEN then fail "MAXSTRLEN" end
    local own = not address_of[t.kind] or address_of[t.kind](cell) == keep[2]
    if own and t.room and #text > t.room then fail("EXCEEDSPREALLOC", t.room, e.name, #text) end
    return text
end

-- ------------------------------------------------------------------ calls

local function declaration(e)
    local list = {"int"}
    for i, t in ipairs(e) do
        list[i + 1] = t.kind == "function" and "void *" or t.c .. (" *"):rep(t.pointer)
    end
    local r = e.result
    local result = r.kind == "void" and "void" or r.c .. (" *"):rep(r.pointer)
    return ("%s (*)(%s)"):format(result, table.concat(list, ", "))
end

-- What the function returned; memory that it made of ydb_malloc() is ours.
local function result_of(e, r)
    local t = e.result
    if t.kind == "void" then return nil end
    if t.kind == "status" then return r == 0 and 0 end
    if t.pointer == 0 then return types.of_integer(r) end
    if r == nil then return t.kind == "buffer" and "" or fail("XCRETNULLREF", e.name) end
    local v = taken[t.kind](t, r)
    if t.kind == "text" then C.free(r[0].address) elseif t.kind == "buffer" then C.free(r[0].buf_addr) end
    if t.kind == "string" and t.pointer == 2 then C.free(r[0]) end
    C.free(r)
    if type(v) == "string" and #v > MAXSTRLEN then return fail "MAXSTRLEN" end
    return v
end

-- The value of an argument.  Only what is written alone need not have one.
local function value_of(t, argument)
    local v = xcall.value(argument)
    if v == nil and type(argument) == "table" and t.input then return xcall.undefined(argument) end
    return v
end

local function check_rooms(e)
    for i, t in ipairs(e) do
        if t.output and not t.input and is_string(t) and not t.room then
            return fail("ZCNOPREALLOUTPAR", i, e.package, e.name)
        end
    end
end

local function call(e, n, ...)
    if n > #e then fail("ZCARGMSMTCH", n, #e) end
    check_rooms(e)
    local given, values, keep = {...}, {}, {}
    for i, t in ipairs(e) do
        values[i], keep[i] = pass[t.kind](t, value_of(t, given[i]))
    end
    local r = e.pointer(n, unpack(values, 1, #e))
    for i, t in ipairs(e) do
        if t.output and i <= n and t.pointer > 0 then
            local v = taken[t.kind](t, values[i])
            if is_string(t) then v = checked(v, e, t, values[i], keep[i]) end
            xcall.set(given[i], v)
        end
    end
    return result_of(e, r), keep and nil
end

jit.off(call)

local function bind(library, e)
    local address = C.dlsym(library, e.routine)
    if address == nil then return nil end
    e.pointer = ffi.cast(declaration(e), address)
    return function(n, ...) return (call(e, math.max(n, 0), ...)) end
end

-- ------------------------------------------------------------------- open

local function table_of(name)
    local tail = name ~= "" and "_" .. name or ""
    local variable = "ydb_xc" .. tail
    local path = os.getenv(variable) or os.getenv("GTMXC" .. tail)
    if not path or path == "" then return fail("ZCCTENV", variable) end
    return path
end

local function lines_of(path)
    local file = io.open(expand(path))
    if not file then return fail("ZCCTOPN", path) end
    local list = {}
    for line in file:lines() do
        line = line:gsub("//.*$", list[1] and "" or "%0"):gsub("%s+$", "")
        if line:find "%S" then list[#list + 1] = line end
    end
    file:close()
    if #list == 0 then return fail("ZCCTNULLF", path) end
    return list, path
end

local function library_of(path)
    local library = C.dlopen(path, 1)
    if library ~= nil then return library end
    local why = ffi.string(C.dlerror())
    return require("mumps.runtime.error").fail_with(",%YDB-I-TEXT, " .. why,
        "DLLNOOPEN", path)
end

local function at_end(library, name)
    local address = C.dlsym(library, name)
    if address == nil then return fail("DLLNORTN", name) end
    return ffi.cast("void (*)(void)", address)
end

-- $GTM_CALLIN_START: where the callbacks are, for functions that have them not as parameters.  In a host,
-- whose threads may be reading the environment, it is not set.
local CALLBACKS = 6
local callbacks

local function tell_callbacks()
    if callbacks or _G.package.loaded["mumps.bridge.callin"] then return end
    callbacks = ffi.new("void *[?]", CALLBACKS)
    for i = 0, CALLBACKS - 1 do callbacks[i] = C.caret_mumps__callback(i) end
    local address = tonumber(ffi.cast("intptr_t", callbacks))
    C.caret_mumps__setenv("GTM_CALLIN_START", ("%.0f"):format(address), 1)
end

-- The package of that name; "": the one without.  Functions that the library has not are missing when called.
function package.open(name)
    tell_callbacks()
    local list, source = lines_of(table_of(name))
    local library = library_of(expand(list[1]:match "^%s*(.-)%s*$"))
    local p = {functions = {}, routines = {}, path = source}
    for i = 2, #list do
        local last = keyword(list[i])
        if last then
            p.close = at_end(library, last)
        else
            local e = entry(list[i])
            e.package = name
            p.functions[e.name], p.routines[e.name] = bind(library, e), e.routine
        end
    end
    return p
end

return package
