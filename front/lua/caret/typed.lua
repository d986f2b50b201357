--- Typed values: a class of nodes whose numbers, booleans, strings and small tables come back as they
-- went in.
--
--     local node = require "caret.typed".new(db)
--     node("^t").on.__ = true
--     print(node("^t").on.__)              --> true
--
-- What is stored is text that other readers can make something of:
--
--     5, 0.5           its decimal text, as every node stores it
--     "text"           the text
--     "5", "\1..."     \1s and the text: what would be read as something else
--     true, false      \1true, \1false
--     {1, nil, "x"}    \1[1,null,"x"]: JSON; keys from 1 on, what is missing in between is null
--     {a = {b = 2}}    \1{"a":{"b":2}}: JSON; keys are strings
--
-- So a number is what incr counts with, and what was stored without types is read as numbers and strings.
-- Text that begins with \1 and is none of these is a string.

local caret = require "caret"
local trees = require "caret.trees"
local core = require "caret.core"

local misuse, typename, short_number = core.misuse, core.typename, core.short_number
local unpack = table.unpack or unpack -- luacheck: ignore
local byte, find, format, match, sub = string.byte, string.find, string.format, string.match, string.sub

local DEPTH, SIZE = 32, 65536 -- of a table: tables in tables, bytes of text

local typed = {}

-- ------------------------------------------------------------------ numbers

-- Does the text look like a number that Caret wrote?  Whatever Lua reads it: writers and readers must agree.
local function looks_like_number(s)
    local first = byte(s, 1)
    if not first or first > 57 then return false end
    return s == "0" or find(s, "^%-?[1-9]%d*$") or find(s, "^%-?%.%d*[1-9]$")
        or find(s, "^%-?[1-9]%d*%.%d*[1-9]$") or find(s, "^%-?[%d.]+E[+-]?%d+$")
end

-- The digits of a number's text that count.
local function digits_of(s)
    return (match(s, "^[^Ee]*"):gsub("[^%d]", ""):gsub("^0+", ""):gsub("0+$", ""))
end

local NORMAL = 2 ^ -1022 -- floats from there on keep any 15 digits

-- The number, or the text of one that no number of this Lua is.
local function number_of(s)
    local v = core.number(s)
    if not v then return s end
    if find(s, "^%-?%d+$") then
        if format(math.type and math.type(v) == "integer" and "%d" or "%.0f", v) == s then return v end
    elseif v - v == 0 and #digits_of(s) <= 15 and (v >= NORMAL or v <= -NORMAL) then
        return v
    end
    return core.stored(v) == s and v or s
end

-- ------------------------------------------------------------------ tables

local escapes = {['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\t"] = "\\t", ["\r"] = "\\r"}

local function quoted(s)
    return '"' .. s:gsub('[%c"\\]', function(c) return escapes[c] or format("\\u%04x", byte(c)) end) .. '"'
end

-- A list's length, or nil: its keys are strings.
local function length_of(t)
    local length, names, count = 0, false, 0
    for key in pairs(t) do
        count = count + 1
        if type(key) == "string" then
            names = true
        elseif type(key) == "number" and key >= 1 and key % 1 == 0 and key <= SIZE then
            length = key > length and key or length
        else
            misuse("a table that is a value has the keys 1, 2 and so on, or strings; not " .. tostring(key))
        end
    end
    if names and length > 0 then misuse "a table that is a value has numbers or strings as keys, not both" end
    return not names and count > 0 and length or nil
end

local write

local function write_table(t, out, above)
    if core.isnode(t) then misuse "a node can't be in a value" end
    if above[t] then misuse "a table that is a value contains itself" end
    if above.depth >= DEPTH then misuse(("a table that is a value has %d levels at most"):format(DEPTH)) end
    above[t], above.depth = true, above.depth + 1
    local length = length_of(t)
    out[#out + 1] = length and "[" or "{"
    if length then
        for i = 1, length do
            if i > 1 then out[#out + 1] = "," end
            if type(t[i]) == "nil" then out[#out + 1] = "null" else write(t[i], out, above) end
        end
    else
        local names, comma = {}, ""
        for name in pairs(t) do names[#names + 1] = name end
        table.sort(names)
        for _, name in ipairs(names) do
            out[#out + 1] = comma .. quoted(name) .. ":"
            write(t[name], out, above)
            comma = ","
        end
    end
    out[#out + 1] = length and "]" or "}"
    above[t], above.depth = nil, above.depth - 1
end

function write(value, out, above)
    local kind = type(value)
    if kind == "table" then
        write_table(value, out, above)
    elseif kind == "string" then
        out[#out + 1] = quoted(value)
    elseif kind == "boolean" then
        out[#out + 1] = tostring(value)
    elseif kind == "number" and value - value == 0 then
        local integer = math.type and math.type(value) == "integer"
        local text = format(integer and "%d" or "%.17g", value == 0 and 0 or value) -- not -0, as outside
        text = text:gsub("[^%w+-]+", ".") -- the locale's point
        if math.type and not integer and find(text, "^%-?%d+$") then text = text .. ".0" end
        out[#out + 1] = text
    else
        misuse("in a table that is a value there can't be " .. (kind == "number" and tostring(value)
               or "a " .. typename(value)))
    end
end

-- Reading: each takes the text and a place, and gives a value and the place after it; a place of nil: it is
-- not what `write` wrote.
local read
local simple = {t = {"true", true}, f = {"false", false}, n = {"null", nil}}
local unescaped = {n = "\n", t = "\t", r = "\r"}

local function read_string(s, at)
    local from, escaped = at + 1, false
    at = find(s, '["\\]', from)
    while at and byte(s, at) == 92 do
        escaped = true
        at = find(s, '["\\]', at + 2)
    end
    if not at then return nil, nil end
    local text = sub(s, from, at - 1)
    if escaped then
        local foreign = false
        text = text:gsub("\\(.)(%x?%x?%x?%x?)", function(c, code)
            if c ~= "u" then return (unescaped[c] or c) .. code end
            foreign = foreign or not find(code, "^00%x%x$")
            return string.char((tonumber(code, 16) or 0) % 256)
        end)
        if foreign then return nil, nil end
    end
    return text, at + 1
end

local function read_items(s, at, close, depth)
    local t, i, name = {}, 0, close == "}"
    if depth > DEPTH then return nil, nil end
    if sub(s, at, at) == close then return t, at + 1 end
    while true do
        local key, value
        i = i + 1
        if name then
            if byte(s, at) ~= 34 then return nil, nil end
            key, at = read_string(s, at)
            if not at or sub(s, at, at) ~= ":" then return nil, nil end
            at = at + 1
        end
        value, at = read(s, at, depth)
        if not at then return nil, nil end
        t[key or i] = value
        local c = sub(s, at, at)
        if c == close then return t, at + 1 end
        if c ~= "," then return nil, nil end
        at = at + 1
    end
end

function read(s, at, depth)
    local c = sub(s, at, at)
    if c == '"' then return read_string(s, at) end
    if c == "[" then return read_items(s, at + 1, "]", depth + 1) end
    if c == "{" then return read_items(s, at + 1, "}", depth + 1) end
    local word = simple[c]
    if word then
        if sub(s, at, at + #word[1] - 1) ~= word[1] then return nil, nil end
        return word[2], at + #word[1]
    end
    local digits = match(s, "^[-+%d.e]+", at)
    local v = digits and core.number(digits:upper())
    return v, v and at + #digits
end

-- LuaJIT 2.1 beta 3 compiles such recursions wrong at times; see trees.lua.
if rawget(_G, "jit") then
    for _, f in ipairs {write_table, write, read_items, read} do require("jit").off(f) end
end

-- ------------------------------------------------------------------ values

--- What is stored for a value; nil for nil.
function typed.encode(value)
    local kind = type(value)
    if kind == "string" then
        if byte(value) == 1 or looks_like_number(value) then return "\1s" .. value end
        return value
    elseif kind == "boolean" then
        return value and "\1true" or "\1false"
    elseif kind == "number" or kind == "nil" then
        return value -- NaN and infinities are for set to refuse
    elseif kind ~= "table" or core.isnode(value) then
        misuse("a value must be a string, a number, a boolean or a table, not a " .. typename(value))
    end
    local out = {"\1"}
    write_table(value, out, {depth = 0})
    local text = table.concat(out)
    if #text > SIZE then
        misuse(("a table that is a value has %d bytes of text at most, not %d; see settree"):format(
            SIZE, #text))
    end
    return text
end

--- The value that is stored so.
function typed.decode(text)
    if type(text) ~= "string" then return text end
    local first = byte(text)
    if first ~= 1 then
        if not first or first > 57 then return text end
        return short_number(text) or (looks_like_number(text) and number_of(text)) or text
    end
    local kind = sub(text, 2, 2)
    if kind == "s" then return sub(text, 3) end
    if text == "\1true" then return true end
    if text == "\1false" then return false end
    if kind ~= "[" and kind ~= "{" then return text end
    local value, at = read(text, 2, 0)
    if at == #text + 1 then return value end
    return text
end

local encode, decode = typed.encode, typed.decode

-- A boolean, a table, or a string such as "5" in the words of a message; nil: it is none of these.
local function no_number(text)
    if not text or byte(text) ~= 1 then return nil end
    local value = decode(text)
    return type(value) == "string" and "the string " .. core.shown(value) or "a " .. type(value)
end

-- Raise if incr would take what is stored for nothing.
local function check_countable(text)
    local what = no_number(text)
    if not what then return end
    misuse(("incr adds to a number, not to %s: set a number first, 0 for example"):format(what))
end

core.check_countable = check_countable -- also for what counts by the database

-- ------------------------------------------------------------------ nodes

-- A walk that gives values as they went in.
local function decoding(step)
    return function()
        local node, value, name, depth = step()
        if node == nil then return nil end
        return node, decode(value), name, depth
    end
end

local function add_methods(class, super)
    function class.get(node, default)
        local text = super.get(node)
        if text == nil then return default end
        return decode(text)
    end
    function class.number(node, default)
        local what = no_number(super.get(node))
        if what then misuse(("the value is %s, not a number"):format(what)) end
        return super.number(node, default)
    end
    function class.set(node, ...)
        if select("#", ...) == 0 then return super.set(node) end
        local value = ...
        super.set(node, encode(value))
        return value
    end
    function class.put(node, ...)
        local at = select("#", ...)
        if at == 0 then return super.put(node) end
        local value, address = (select(at, ...)), {...}
        if at == 1 then return class.set(node, value) end
        address[at] = encode(value)
        super.put(node, unpack(address, 1, at))
        return value
    end
    function class.add(node, value)
        local added, there = super.add(node, encode(value))
        return added, decode(there)
    end
    function class.swap(node, value)
        return decode(super.swap(node, encode(value)))
    end
    function class.incr(node, ...)
        check_countable(super.get(node))
        return super.incr(node, ...)
    end
    for _, name in ipairs {"pairs", "range", "walk"} do
        local walk = super[name]
        class[name] = function(node, how) return decoding((walk(node, how))) end
    end
    function class.get_many(node, subs)
        local got = super.get_many(node, subs)
        for sub_, text in pairs(got) do got[sub_] = decode(text) end
        return got
    end
    function class.gettree(node, maxdepth, filter)
        trees.check_filter("gettree", filter)
        return super.gettree(node, maxdepth, function(n, name, text, recurse, depth)
            if filter then return filter(n, name, decode(text), recurse, depth) end
            return decode(text), recurse
        end)
    end
    function class.settree(node, tree, filter)
        trees.check_filter("settree", filter)
        return super.settree(node, tree, function(n, key, value)
            if filter then key, value = filter(n, key, value) end
            if type(value) ~= "table" then value = encode(value) end
            return key, value
        end)
    end
end

local knows = setmetatable({}, {__mode = "k"}) -- functions that make nodes of such a class

local function maker(from)
    if type(from) == "function" then return from end
    if type(from) ~= "userdata" or core.isnode(from) then
        misuse("typed.new needs a database, or a function that makes nodes, not a " .. typename(from))
    end
    core.path(from) -- raises if it is none, or closed
    return from.node
end

--- new(db or a function that makes nodes): a function that makes nodes of the class, as db.node does, and
-- the class.
function typed.new(from)
    local make = maker(from)
    local new, class, super = caret.inherit(make)
    if not knows[make] then add_methods(class, super) end
    knows[new] = true
    return new, class
end

return typed
