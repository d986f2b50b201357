--- Calls of M by Lua programs: db:ci and db:require, and those of the module `yottadb`.
--
--     local m = db:require "calls.ci"      -- or the text of such a file, which has a colon
--     print(m.add(1, 2))
--
-- Lines are name: type label^routine(I:type, O:type, IO:type [n], ...).  A function takes one argument for
-- each parameter; it returns the value of the routine unless that is void, then its O and IO parameters.
-- Integers wrap at the width of their type; texts are cut at n.
--
-- for_module{refused, failed, check} makes the two functions of a module: refused(name, operand) raises what
-- is wrong with a prototype, failed(code, text) what M said; code 0: M can't be loaded. check(...), which may
-- be nil, raises if M can't be given one of these arguments.

local core = require "caret.core"

local callin = {}

local unpack = table.unpack or unpack -- luacheck: ignore 143

local WIDTH = {int = 32, uint = 32, long = 64, ulong = 64, int64 = 64, uint64 = 64}
local TEXT = {char = true, string = true, buffer = true}
local tointeger = math.tointeger or function(x) return x end

-- ------------------------------------------------------------ prototypes

local DIRECTIONS = {I = true, O = true, IO = true}
local TYPE = "^([%w_]*)%s*(%**)%s*%[?%s*(%d*)%s*%]?%s*(.*)$" -- ydb_char_t*[20], and what is after it

-- Refusals are those of ydb_ci's reader; this one also takes results by value, and room in them.
local function type_of(name, stars, room, wrong, refused)
    name = name:gsub("^ydb_", ""):gsub("^gtm_", ""):gsub("_t$", "")
    local known = WIDTH[name] or TEXT[name] or name == "float" or name == "double" or name == "void"
    if not known or #stars > 1 or name == "void" and stars ~= "" then refused(wrong) end
    return {name = name, pointer = stars ~= "", room = tonumber(room)}
end

local function parameter(text, refused)
    local direction, rest = text:match "^%s*(%u+)%s*:%s*(.*)$"
    if not DIRECTIONS[direction] then refused "CIDIRECTIVE" end
    local name, stars, room, after = rest:match(TYPE)
    local t = type_of(name, stars, room, "CIUNTYPE", refused)
    if t.name == "void" or TEXT[t.name] and not t.pointer then refused "CIUNTYPE" end
    if after ~= "" then refused "CIRPARMNAME" end
    t.input, t.output = direction ~= "O", direction ~= "I"
    if t.output and not t.pointer then refused "CIPARTYPE" end
    return t
end

-- What is after the label: "(I:type, ...)".
local function parameters(p, text, refused)
    local list = text:match "^%s*%((.*)$"
    if not list then refused(text:find "%S" and "CIRPARMNAME" or "CIENTNAME") end
    list = list:match "^%s*(.-)%s*%)" or list .. ")" -- of no type
    for one in (list ~= "" and list .. "," or ""):gmatch "([^,]*)," do
        p[#p + 1] = parameter(one, refused)
        if p[#p].output then p.references = p.references + 2 ^ (#p - 1) end
    end
    if #p > 32 then refused "CIMAXPARAM" end
end

local function prototype(line, refused)
    local name, rest = line:match "^%s*([%%%w_]+)%s*(.*)$"
    if not name then refused "CIRCALLNAME" end
    if not rest:find "^:" then refused "COLON" end
    local result, stars, room, after = rest:match("^:%s*(.*)$"):match(TYPE)
    local p = {result = type_of(result, stars, room, "CIRTNTYP", refused), references = 0}
    local entry, list = after:match "^([%%%w^]*)(.*)$"
    if not entry:find "^[%%%w]*%^?[%%%w]*$" or entry == "" then refused "CIENTNAME" end
    p.entry = p.result.name ~= "void" and "$$" .. entry or entry
    parameters(p, list, refused)
    return name, p
end

-- ----------------------------------------------------------------- values

-- An integer as its width has it.
local function wrap(n, t)
    local bits = WIDTH[t.name]
    if bits == 64 then return tointeger(n) or n end
    n = n % 2 ^ bits
    if t.name == "int" and n >= 2 ^ (bits - 1) then n = n - 2 ^ bits end
    return tointeger(n) or n
end

local function number_of(text)
    local digits = text:match "^%s*([+-]*%d*%.?%d*[Ee]?[+-]?%d*)" or ""
    return tonumber(digits) or tonumber((digits:match "^[+-]*%d*%.?%d*")) or 0
end

local function to_lua(text, t)
    text = text or ""
    if TEXT[t.name] then return t.room and text:sub(1, t.room) or text end
    local n = number_of(text)
    if not WIDTH[t.name] then return n end
    return wrap(n < 0 and math.ceil(n) or math.floor(n), t)
end

-- A number with all its digits if it is an integer below 2^53, else as Lua writes it, with the E of M.
local function written(n)
    if n == math.floor(n) and math.abs(n) < 2 ^ 53 then return ("%.0f"):format(n + 0) end -- no -0
    return (tostring(n):gsub("e", "E"))
end

local function to_m(v, t)
    if not t.input or v == nil then return "" end
    if type(v) == "boolean" then v = v and 1 or 0 end
    if TEXT[t.name] then return type(v) == "number" and written(v) or tostring(v) end
    local n = tonumber(v) or number_of(tostring(v))
    if WIDTH[t.name] then n = wrap(n < 0 and math.ceil(n) or math.floor(n), t) end
    return (written(n):gsub("^(%-?)0%.", "%1."))
end

-- ------------------------------------------------------------------ calls

-- true, value, arguments; or what went wrong is raised.
local function checked(failed, ok, code, text, ...)
    if not ok then failed(code, text) end
    return code, text, ...
end

local function collect(p, value, ...)
    local out = {}
    if p.result.name ~= "void" then out[1] = to_lua(value, p.result) end
    for i, t in ipairs(p) do
        if t.output then out[#out + 1] = to_lua((select(i, ...)), t) end
    end
    return unpack(out)
end

local function caller(db, p, failed, check)
    return function(...)
        if check then check(...) end
        local args = {}
        for i, t in ipairs(p) do args[i] = to_m((select(i, ...)), t) end
        return collect(p, checked(failed, core.call_m(db(), p.entry, p.references, unpack(args))))
    end
end

local function text_of(prototypes, refused)
    if prototypes:find(":", 1, true) then return prototypes end
    local file = io.open(prototypes)
    local text = file and file:read "*a" -- nil: it is a folder
    if file then file:close() end
    return text or refused("CITABOPN", prototypes)
end

function callin.for_module(module)
    local refused, failed = module.refused, module.failed
    local made = {}

    -- A table of functions, each calling a routine; db() is asked for the database at each call.
    function made.require(db, prototypes)
        local functions = {}
        for whole in text_of(prototypes, refused):gmatch "[^\n]+" do
            local line = whole:gsub("//.*$", "")
            if line:find "%S" then
                local name, p = prototype(line, refused)
                functions[name] = caller(db, p, failed, module.check)
            end
        end
        return functions
    end

    -- DO LABEL^ROUTINE with these texts and numbers, or the value of $$LABEL^ROUTINE.
    function made.ci(db, entry, ...)
        local args = {...}
        for i = 1, select("#", ...) do args[i] = to_m(args[i], {name = "string", input = true}) end
        return (checked(failed, core.call_m(db(), entry, 0, unpack(args))))
    end
    return made
end

-- ---------------------------------------------------- of the module caret

local function refused(name, operand)
    local code = core.m.constants()["YDB_ERR_" .. name]
    error("M: " .. core.m.message(code, operand and "Unable to open call-in table: " .. operand or nil), 0)
end

local function failed(_, text)
    error("M: " .. text:gsub("^%-?%d+,[^,]*,", ""), 0)
end

local PASSED = {string = true, number = true, boolean = true, ["nil"] = true}

local function check_arguments(...)
    for i = 1, select("#", ...) do
        local v = select(i, ...)
        if not PASSED[type(v)] then
            core.misuse(("argument %d of a routine of M is a string, a number or a boolean, not a %s"):format(
                i, core.typename(v)))
        end
    end
end

local own = callin.for_module {refused = refused, failed = failed, check = check_arguments}

local function check_text(what, v)
    if type(v) == "string" then return end
    core.misuse(("%s is told as text, not by a %s"):format(what, core.typename(v)))
end

function callin.require(db, prototypes)
    core.path(db) -- raises if it is none, or closed
    check_text("a call-in table", prototypes)
    return own.require(function() return db end, prototypes)
end

function callin.ci(db, entry, ...)
    core.path(db)
    check_text("a routine of M", entry)
    check_arguments(...)
    return own.ci(function() return db end, entry, ...)
end

return callin
