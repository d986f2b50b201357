-- mumps.bridge.mlua: the package mlua: M calls Lua.
--
--     $&mlua.lua(code,.output,handle,a1,...,a8)   0, or -1 and what is wrong in output
--     $&mlua.open(.output,flags)                  handle of a new state; 0: output tells why not
--     $&mlua.close(handle)                        0; -1: there was none; -2: closed already; without: all
--     $&mlua.version()                            302: of MLua's interface
--     $&mlua.nanoseconds(processor)               of a clock; if true, of the process's time on processors
--
-- Code is compiled once for each text.  ">name.field" calls a function instead, found in the globals without
-- metamethods.  $MLUA_INIT is run in each state: code, or "@file".  The Lua is LuaJIT's, 5.1 with extensions.

local C = require "mumps.host"
local errors = require "mumps.runtime.error"
local xcall = require "mumps.bridge.xcall"
local new_state = require("mumps.bridge.state").new
local str = require("mumps.values.number").str

local mlua = {functions = {}}

local MOST, LONGEST, CACHED = 8, 1048576, 1000
local IGNORE_INIT = 2

local byte, type, rawget = string.byte, type, rawget

local states = {} -- [handle] = {globals, cache, cached}; false: closed; [0] is the one without a handle
local value, set = xcall.value, xcall.set

-- ----------------------------------------------------------------- states

local function run_init(E)
    local init = os.getenv "MLUA_INIT"
    if not init or init == "" then return true end
    local f, why
    if init:sub(1, 1) == "@" then
        f, why = E.loadfile(init:sub(2))
    else
        f, why = E.loadstring(init, "=MLUA_INIT")
    end
    if not f then return false, why end
    return pcall(f)
end

local function make(flags)
    local s = {globals = new_state(), cache = {}, cached = 0}
    if math.floor(flags / IGNORE_INIT) % 2 == 0 then
        local ok, why = run_init(s.globals)
        if not ok then return nil, why end
    end
    return s
end

local function state_of(handle)
    if handle == nil or handle == "" or handle == 0 or handle == "0" then
        if not states[0] then
            local s, why = make(0)
            if not s then return nil, "Lua: MLUA_INIT: " .. tostring(why) end
            states[0] = s
        end
        return states[0]
    end
    local s = states[tonumber(handle) or -1]
    if not s then return nil, "MLua: supplied luaState (" .. str(handle) .. ") is invalid" end
    return s
end

-- ------------------------------------------------------------------- code

local function keep(s, code, what)
    if s.cached >= CACHED then s.cache, s.cached = {}, 0 end
    s.cache[code], s.cached = what, s.cached + 1
    return what
end

-- ">a.b": the names, which are kept; a global may be another function tomorrow.
local function path_of(s, code)
    local path = {}
    for part in code:sub(2):gmatch "[^.]+" do path[#path + 1] = part end
    return keep(s, code, path)
end

-- What they name: a field of a field of the globals.
local function named(s, path, code)
    local f = s.globals
    for i = 1, #path do
        if type(f) ~= "table" then break end
        f = rawget(f, path[i])
    end
    if type(f) == "function" then return f end
    return nil, ("Lua: could not find function '%s'"):format(code:sub(2))
end

local function compiled(s, code)
    local known = s.cache[code]
    if type(known) == "function" then return known end
    if known or byte(code) == 62 then return named(s, known or path_of(s, code), code) end
    local f, why = s.globals.loadstring(code, "=mlua(code)")
    if not f then return nil, why:find "^Lua: " and why or "Lua: " .. why end
    return keep(s, code, f)
end

-- A result as an M value.
local function to_m(v)
    local kind = type(v)
    if kind == "string" then return #v > LONGEST and v:sub(1, LONGEST) or v end
    if v == nil then return "" end
    if kind == "boolean" then return v and 1 or 0 end
    if kind ~= "number" then return "(" .. kind .. ")" end
    if v == math.floor(v) and v > -2 ^ 53 and v < 2 ^ 53 then return v == 0 and 0 or v end
    return (("%.14g"):format(v):gsub("e", "E"))
end

local function message(why)
    local text = type(why) == "string" and why or type(why) == "table" and why.text or "(" .. type(why) .. ")"
    return text:find "^M?Lua: " and text or "Lua: " .. text
end

local function tell(output, v)
    if type(output) == "table" then
        set(output, v)
    elseif v ~= "" then
        local device = require "mumps.io.device"
        device.write(v)
        device.newline()
    end
end

local function finish(output, ok, result)
    -- What M throws to leave its levels goes on.
    if not ok and errors.is_control(result) then error(result, 0) end
    if ok then
        tell(output, to_m(result))
        return 0
    end
    local text = message(result)
    if text == "Lua: not enough memory" then -- an error of M's, as for all that is short of it
        error(require("mumps.runtime.memory").out(), 0)
    end
    tell(output, text:sub(1, LONGEST))
    return -1
end

-- Arguments: what was left out is the empty string.
local function argument(v)
    v = value(v)
    return v == nil and "" or v
end

local function run(output, f, n, a, b, c, d, e, ...)
    if n <= 0 then return finish(output, pcall(f)) end
    if n == 1 then return finish(output, pcall(f, argument(a))) end
    if n == 2 then return finish(output, pcall(f, argument(a), argument(b))) end
    local list = {a, b, c, d, e, ...}
    for i = 1, n do list[i] = argument(list[i]) end
    return finish(output, pcall(f, unpack(list, 1, n)))
end

function mlua.functions.lua(n, code, output, handle, ...)
    if n < 1 then return errors.fail("ZCINPUTREQ") end
    if n - 3 > MOST then return errors.fail("ZCARGMSMTCH", n, MOST + 3) end
    local s, why = state_of(value(handle))
    if not s then return finish(output, false, why) end
    local f
    f, why = compiled(s, str(argument(code)))
    if not f then return finish(output, false, why) end
    return run(output, f, n - 3, ...)
end

-- ----------------------------------------------------- handles and clocks

function mlua.functions.open(n, output, flags)
    local s, why = make(n > 1 and tonumber(argument(flags)) or 0)
    if not s then
        tell(output, message(why))
        return 0
    end
    set(output, "")
    states[#states + 1] = s
    return #states
end

local function close_all()
    states = {}
    return 0
end

function mlua.functions.close(n, handle)
    if n < 1 then return close_all() end
    local h = tonumber(argument(handle)) or -1
    if h == 0 and states[0] then
        states[0] = nil
        return 0
    end
    if states[h] == nil then return -1 end
    if not states[h] then return -2 end
    states[h] = false
    while states[#states] == false do states[#states] = nil end
    return 0
end

function mlua.functions.version()
    return 302
end

function mlua.functions.nanoseconds(n, processor)
    local of_process = n > 0 and tonumber(argument(processor)) or 0
    return tonumber(C.caret_mumps__nanoseconds(of_process ~= 0))
end

return mlua
