-- Names with subscripts as text: $NAME, $QUERY, $QLENGTH, $QSUBSCRIPT, and values as ZWRITE writes them.
--
-- A canonical name: an environment perhaps, a name, and in parentheses what is a canonical number or
-- strings in quotes and $C(...) joined by `_`.
local ffi = require "ffi"
local C = require "mumps.host"
local fail = require "mumps.values.fail"
local number = require "mumps.values.number"
local mode = require "mumps.values.mode"
local buffer = require "mumps.values.buffer"

local str, int, key = number.str, number.int, number.key
local str2zwr, zwr2str = C.caret_m__str2zwr, C.caret_m__zwr2str
local type, find, sub, byte = type, string.find, string.sub, string.byte

local N = {}
local length = ffi.new("size_t[1]")

-- Names and quoted texts can be longer than strings: ZWRITE and messages have them whole, functions give them
-- checked.
N.checked = require("mumps.values.text").checked

-- ------------------------------------------------------------------- values

-- At most 256 codes in one pair of parentheses.
local function in_parts(call, codes)
    local parts, count, first = {}, 0, 1
    for at in codes:gmatch("()," ) do
        count = count + 1
        if count % 256 == 0 then
            parts[#parts + 1] = call .. codes:sub(first, at - 1) .. ")"
            first = at + 1
        end
    end
    if count < 256 then return nil end
    parts[#parts + 1] = call .. codes:sub(first) .. ")"
    return table.concat(parts, "_")
end

local function quote_slow(s)
    local cap = #s * 6 + 64
    local room = buffer(cap)
    str2zwr(s, #s, mode.utf8, room, cap, length)
    local text = ffi.string(room, length[0])
    if #s <= 256 then return text end
    return (text:gsub("(%$Z?CH?%()([%d,]+)%)", in_parts))
end

local quoted, n_quoted = {}, 0

local function quote_new(s)
    local q = quote_slow(s)
    if #s > 64 then return q end
    if n_quoted == 2048 then quoted, n_quoted = {}, 0 end
    quoted[s], n_quoted = q, n_quoted + 1
    return q
end

-- A value as ZWRITE writes it: canonical numbers bare.
local function quote(v)
    if type(v) == "number" then return str(v) end
    return quoted[v] or quote_new(v)
end
N.quote = quote

-- The value of such a text; "" if it is none.
function N.unquote(text)
    text = str(text)
    local cap = #text * 2 + 64
    local room = buffer(cap)
    if zwr2str(text, #text, mode.utf8, room, cap, length) ~= 0 then return "" end
    return ffi.string(room, length[0])
end

function N.zwrite(v, back)
    v = str(v)
    if back and number.truth(back) then return N.unquote(v) end
    return N.checked(quote(v))
end

-- NAME(subscript,...) of the first n subscripts.
function N.name(name, n, subs)
    if n == 0 then return name end
    if n == 1 then return name .. "(" .. quote(subs[1]) .. ")" end
    local parts = {}
    for i = 1, n do parts[i] = quote(subs[i]) end
    return name .. "(" .. table.concat(parts, ",") .. ")"
end

-- ------------------------------------------------------------------ reading

-- The end of a string in quotes that begins at `at`.
local function string_end(s, at)
    while true do
        at = find(s, '"', at + 1, true)
        if not at then return nil end
        if byte(s, at + 1) ~= 34 then return at end
        at = at + 1
    end
end

local function chars_end(s, at)
    local _, last = find(s, "^%$[Zz]?[Cc][Hh]?[Aa]?[Rr]?%(%d+[%d,]*%)", at)
    if not last or find(s, ",[,)]", at) == last - 1 then return nil end
    return last
end

local function text_end(s, at)
    while true do
        local last
        if byte(s, at) == 34 then last = string_end(s, at) else last = chars_end(s, at) end
        if not last or byte(s, last + 1) ~= 95 then return last end
        at = last + 2
    end
end

-- $CHAR and $ZCHAR in full become $C and $ZCH, which the way back understands.
local function decode(text)
    return N.unquote((text:gsub("%$([Zz]?)[Cc][Hh]?[Aa]?[Rr]?%(", function(z)
        return z == "" and "$C(" or "$ZCH("
    end)))
end

-- As a number is written, of any length.
local function canonical(text)
    if text == "0" then return true end
    local whole, fraction = text:match("^-?(%d*)(.*)$")
    if whole:find("^0") or whole .. fraction == "" then return false end
    return fraction == "" or (fraction == "." and whole ~= "") or fraction:find("^%.%d*[1-9]$") ~= nil
end

-- The subscript at `at`: its value and the position after it.
local function subscript(s, at)
    local first = byte(s, at)
    if first == 34 or first == 36 then
        local last = text_end(s, at)
        if not last then return nil end
        return decode(sub(s, at, last)), last + 1
    end
    local _, last, text = find(s, "^([-.%d]+)", at)
    if not last or not canonical(text) then return nil end
    return key(text), last + 1
end

local function subscripts(s, at, parsed)
    local n = 0
    repeat
        local value, after = subscript(s, at)
        if not value then return nil end
        n = n + 1
        parsed[n] = value
        local mark = byte(s, after)
        at = after + 1
    until mark ~= 44
    if byte(s, at - 1) ~= 41 or at - 1 ~= #s then return nil end
    parsed.n = n
    return parsed
end

-- The position after an environment that begins at 2, and the first string of it.
local function environment(s)
    local close = byte(s, 2) == 124 and 124 or 93
    local value, after = subscript(s, 3)
    if not value then return nil end
    if close == 93 and byte(s, after) == 44 then
        local second
        second, after = subscript(s, after + 1)
        if not second then return nil end
    end
    if byte(s, after) ~= close then return nil end
    return after + 1, value
end

local function parse(s)
    local at, parsed = 1, { n = 0, name = "" }
    if byte(s) == 94 then
        at = 2
        if byte(s, 2) == 124 or byte(s, 2) == 91 then
            at, parsed.env = environment(s)
            if not at then return nil end
        end
        parsed.name = "^"
    end
    local _, last, name = find(s, "^(%%?%w*)", at)
    if name == "" or find(name, "^%d") then return nil end
    parsed.name = parsed.name .. name
    if last == #s then return parsed end
    if byte(s, last + 1) ~= 40 then return nil end
    return subscripts(s, last + 2, parsed)
end

local function not_canonic(s)
    local text = quote(s)
    return fail("NOCANONICNAME", find(text, '["$]') and text or '"' .. text .. '"')
end

-- {n = subscripts, env =, name =, ...}; fails if it is not a canonical name.
function N.parse(s)
    return parse(s) or not_canonic(s)
end

function N.qlength(s)
    return N.parse(str(s)).n
end

function N.qsubscript(s, n)
    n = int(n)
    if n < -1 then return fail("NOSUBSCRIPT", tostring(n)) end
    local parsed = N.parse(str(s))
    if n == -1 then return parsed.env or "" end
    if n == 0 then return parsed.name end
    return parsed[n] or ""
end

return N
