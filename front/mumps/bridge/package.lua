-- mumps.bridge.package: packages of C functions for external calls, by their tables.
--
-- $ydb_xc_NAME, or $GTMXC_NAME, names the table of package NAME; without a name $ydb_xc or $GTMXC.  Its first
-- line is a shared library, the others are
--
--     name: type function(I:type, O:type [n], IO:type, ...) [: SIGSAFE]
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

local function parameter(text)
    local direction, name, room = text:match "^%s*(%a+)%s*:%s*([%w_]+%s*%**)%s*%[?%s*(%d*)%s*%]?%s*$"
    if not direction then return fail "ZCUNTYPE" end
    local t = types.parse(name)
    direction = direction:upper()
    if not t or t.kind == "void" then return fail "ZCUNTYPE" end
    if direction ~= "I" and direction ~= "O" and direction ~= "IO" then return fail "ZCUNKQUAL" end
    if tonumber(room) and tonumber(room) > MAXSTRLEN then return fail "ZCPREALLVALINV" end
    t.input, t.output, t.room = direction ~= "O", direction ~= "I", tonumber(room)
    return t
end

local function entry(line)
    local name, rest = line:match "^%s*([%%%w%^_]+)%s*(.*)$"
    if not name then return fail "ZCENTNAME" end
    rest = rest:match "^:%s*(.*)$" or fail "ZCCOLON"
    local result, routine, parameters = rest:match "^([%w_]+%s*%**)%s*([%w_]+)%s*(%b())"
    if not result then return fail "ZCRCALLNAME" end
    local e = {name = name, routine = routine, result = types.parse(result) or fail "ZCRTNTYP"}
    for p in parameters:sub(2, -2):gmatch "[^,]+" do
        if p:find "%S" then e[#e + 1] = parameter(p) end
    end
    return e
end

-- ----------------------------------------------------------------- values

-- What is passed for a parameter: C's value, and what must live as long.
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
    local bytes, len, cap = room_for(t, v)
    local cell = ffi.new("caret_mumps__string[1]", {{t.input and len or cap, bytes}})
    return cell, {cell, bytes}
end

function pass.buffer(t, v)
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

local function checked(text, e, t)
    if t.room and #text > t.room then fail("EXCEEDSPREALLOC", t.room, e.name, #text) end
    if #text > MAXSTRLEN then fail "MAXSTRLEN" end
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
    if r == nil then return fail("XCRETNULLREF", e.name) end
    local v = taken[t.kind](t, r)
    if t.kind == "text" then C.free(r[0].address) elseif t.kind == "buffer" then C.free(r[0].buf_addr) end
    if t.kind == "string" and t.pointer == 2 then C.free(r[0]) end
    C.free(r)
    return v
end

local function call(e, n, ...)
    if n > #e then fail("ZCARGMSMTCH", n, #e) end
    local given, values, keep = {...}, {}, {}
    for i, t in ipairs(e) do
        values[i], keep[i] = pass[t.kind](t, xcall.value(given[i]))
    end
    local r = e.pointer(n, unpack(values, 1, #e))
    for i, t in ipairs(e) do
        if t.output and i <= n and t.pointer > 0 then
            local v = taken[t.kind](t, values[i])
            xcall.set(given[i], type(v) == "string" and checked(v, e, t) or v)
        end
    end
    return result_of(e, r), keep and nil
end

jit.off(call)

local function bind(library, e)
    local address = C.dlsym(library, e.routine)
    if address == nil then return nil end
    e.pointer = ffi.cast(declaration(e), address)
    return function(n, ...) return (call(e, n, ...)) end
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

-- The package of that name; "": the one without.  Functions that the library has not are missing when called.
function package.open(name)
    local list, source = lines_of(table_of(name))
    local path = expand(list[1]:match "^%s*(.-)%s*$")
    local library = C.dlopen(path, 1)
    if library == nil then
        local why = ffi.string(C.dlerror())
        require("mumps.runtime.error").fail_with(",%YDB-I-TEXT, " .. why, "DLLNOOPEN", path)
    end
    local p = {functions = {}, path = source}
    for i = 2, #list do
        local e = entry(list[i])
        p.functions[e.name] = bind(library, e)
    end
    return p
end

return package
