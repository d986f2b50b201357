--- Trees as JSON and back, exactly: n:json([options]), n:setjson(text).  Loaded when first used.
--
-- What the database has no word for is inferred, and where that would be wrong it is marked:
--
--   JSON            in the tree
--   number          a value that is a number in canonical form: 5, -1.5, .5 (0.5 in JSON), 1.5E300; any
--                   number of digits, and nothing goes through floating point
--   true false null the values true, false and null
--   string          any other value.  One that reads as something above has the mark "string"
--   array           children 1..n and no value.  An empty one is the mark "array" alone
--   object          other children.  An empty one, or one whose members are named "1".."n", has the mark
--                   "object".  The member "__" is the node's own value
--
-- A mark is the value of the child "__json" of what it marks.  Marks also hold while a program changes the
-- tree: what has the mark "array" stays one, with null for what is missing, as long as its children
-- are numbers from 1 up and most of them are there.
--
-- Members named like that: a key "__json" is the subscript "___json", one more "_" each time; the subscript
-- "__" is the key "___", and so on.
--
-- Bytes that are not UTF-8 are written as Python's surrogateescape has it, a lone surrogate for each: byte FF
-- is "\udcff".  Other lone surrogates are refused.  Members come in the order of the database.  -0 becomes 0.
--
-- JSON libraries turn numbers into floating point and back (2^53 + 1 is lost, and so is the 17th digit), and
-- neither dkjson nor lua-cjson can be told not to; the little that is needed here is all that is here.

local core = require "caret.core"
local trees = require "caret.trees"

local get, set, kill, data = core.methods.get, core.methods.set, core.methods.kill, core.methods.data
local pairs_of, subscripts_of = core.methods.pairs, core.methods.subscripts
local misuse, typename, shown = core.misuse, core.typename, core.shown
local byte, char, find, match = string.byte, string.char, string.find, string.match
local rep, sub_of, concat = string.rep, string.sub, table.concat

local json = {}

local MARK = "__json"
local MARKS = {array = true, object = true, string = true, ["object string"] = true}
local WORDS = {["true"] = true, ["false"] = true, ["null"] = true}
local MOST, LEAST = 47, -42 -- where the point may be without an exponent, as for floats: below 1E47, 1E-43

-- ------------------------------------------------------------------ numbers

-- The canonical text of sign, digits before and after the point, exponent.
local function canonical(sign, whole, fraction, exponent)
    local digits, point = whole .. fraction, #whole + exponent
    local zeros, last = #match(digits, "^0*"), #digits - #match(digits:reverse(), "^0*")
    digits, point = sub_of(digits, zeros + 1, last), point - zeros
    local n = #digits
    if n == 0 then
        return "0"
    elseif point < LEAST or point > MOST then
        local rest = n > 1 and "." .. sub_of(digits, 2) or ""
        return ("%s%s%sE%d"):format(sign, sub_of(digits, 1, 1), rest, point - 1)
    elseif point >= n then
        return sign .. digits .. rep("0", point - n)
    elseif point > 0 then
        return sign .. sub_of(digits, 1, point) .. "." .. sub_of(digits, point + 1)
    end
    return sign .. "." .. rep("0", -point) .. digits
end

-- Has an exponent, as text, over nine digits, zeros in front not counted?
local function is_far(exponent) return #match(exponent, "0*(%d*)$") > 9 end

-- The JSON number for a value, nil if it is not the canonical text of one.
local function number_of(value)
    if #value < 16 and find(value, "^%-?[1-9]%d*$") or value == "0" then
        return value
    end
    local sign, whole, at = match(value, "^(%-?)(%d*)()") -- in steps: one pattern would go back and forth
    local fraction, after = match(value, "^%.(%d+)()", at)
    local exponent = match(value, "^E(%-?%d+)$", after or at)
    if whole == "" and not fraction or (after or at) <= #value and not exponent
        or exponent and is_far(exponent)
        or canonical(sign, whole, fraction or "", tonumber(exponent or 0)) ~= value then
        return nil
    end
    return whole == "" and sign .. "0" .. sub_of(value, #sign + 1) or value
end

-- ------------------------------------------------------------------ strings

local ESCAPES = {['"'] = '\\"', ["\\"] = "\\\\", ["\b"] = "\\b", ["\f"] = "\\f", ["\n"] = "\\n",
    ["\r"] = "\\r", ["\t"] = "\\t"}
local MEANINGS = {['"'] = '"', ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n", r = "\r", t = "\t"}

-- Length of the UTF-8 character at i of bytes above 127; nil if there is none.
local function utf8_length(s, i)
    local first, second = byte(s, i, i + 1)
    local low, high, length = 0x80, 0xbf, nil
    if first >= 0xc2 and first <= 0xdf then length = 2
    elseif first >= 0xe0 and first <= 0xef then length = 3
    elseif first >= 0xf0 and first <= 0xf4 then length = 4
    end
    if first == 0xe0 then low = 0xa0 elseif first == 0xf0 then low = 0x90 end
    if first == 0xed then high = 0x9f elseif first == 0xf4 then high = 0x8f end
    if not length or not second or second < low or second > high then
        return nil
    end
    for k = i + 2, i + length - 1 do
        local c = byte(s, k)
        if not c or c > 0xbf then return nil end
    end
    return length
end

-- A run of bytes above 127: those that are not UTF-8 get their escape.
local function clean(run)
    local pieces, i = {}, 1
    while i <= #run do
        local length = utf8_length(run, i)
        pieces[#pieces + 1] = length and sub_of(run, i, i + length - 1) or ("\\udc%02x"):format(byte(run, i))
        i = i + (length or 1)
    end
    return concat(pieces)
end

local function quote(s)
    if find(s, '[%z\1-\31"\\\127]') then
        s = s:gsub('[%z\1-\31"\\\127]', function(c) return ESCAPES[c] or ("\\u%04x"):format(byte(c)) end)
    end
    if find(s, "[\128-\255]") then
        s = s:gsub("[\128-\255]+", clean)
    end
    return '"' .. s .. '"'
end

local function utf8_char(c)
    if c < 0x80 then return char(c) end
    if c < 0x800 then return char(0xc0 + (c - c % 64) / 64, 0x80 + c % 64) end
    local last, rest = 0x80 + c % 64, (c - c % 64) / 64
    local middle, top = 0x80 + rest % 64, (rest - rest % 64) / 64
    if c < 0x10000 then return char(0xe0 + top, middle, last) end
    return char(0xf0 + (top - top % 64) / 64, 0x80 + top % 64, middle, last)
end

-- ------------------------------------------------------------------ writing

-- The key for a subscript.
local function key_of(sub)
    if type(sub) == "number" then return ("%d"):format(sub) end
    if find(sub, "^__+$") then return sub .. "_" end
    if find(sub, "^___+json$") then return sub_of(sub, 2) end
    return sub
end

local function scalar(value, is_string)
    return not is_string and (WORDS[value] and value or number_of(value)) or quote(value)
end

-- How many elements an array of the node's children has: their subscripts are 1 to n, or nearly if it is
-- marked as one.  nil: it is none.
local function length_of(node, marked)
    local count, highest = 0, 0
    for sub in subscripts_of(node) do
        if sub ~= MARK then
            if type(sub) ~= "number" or sub < 1 or not marked and sub ~= count + 1 then return nil end
            count, highest = count + 1, sub
        end
    end
    if highest > 2 * count + 8 then return nil end
    return highest
end

local function mark_of(node)
    local mark = node(MARK)
    local text = get(mark)
    if data(mark) >= 10 or text and not MARKS[text] then
        misuse(("json: %s is kept for marks: array, object, string, object string"):format(tostring(mark)))
    end
    return text
end

local write

-- A line break and the indentation of that level, if wanted.
local function break_line(w, level)
    if w.indent then w[#w + 1] = "\n" .. rep(w.indent, level) end
end

local function write_array(w, node, length, level)
    local expected = 1
    w[#w + 1] = "["
    for child, value, sub in pairs_of(node) do
        -- the mark is after all numbers; others if it was changed meanwhile
        if type(sub) ~= "number" or sub < expected or sub > length then break end
        for i = expected, sub do
            if i > 1 then w[#w + 1] = "," end
            break_line(w, level + 1)
            if i < sub then w[#w + 1] = "null" else write(w, child, value, level + 1) end
        end
        expected = sub + 1
    end
    if length > 0 then break_line(w, level) end
    w[#w + 1] = "]"
end

local function write_object(w, node, own, level)
    local opened = #w + 1
    w[opened] = "{"
    local function member(key)
        if #w > opened then w[#w + 1] = "," end
        break_line(w, level + 1)
        w[#w + 1] = quote(key)
        w[#w + 1] = w.indent and ": " or ":"
    end
    if own then
        member("__")
        w[#w + 1] = own
    end
    for child, value, sub in pairs_of(node) do
        if sub ~= MARK then
            member(key_of(sub))
            write(w, child, value, level + 1)
        end
    end
    if #w > opened then break_line(w, level) end
    w[#w + 1] = "}"
end

-- A node, which exists and has that value.
function write(w, node, value, level)
    if data(node) < 10 then
        w[#w + 1] = scalar(value)
        return
    end
    local mark = mark_of(node)
    local own = value and scalar(value, mark and find(mark, "string"))
    local length = length_of(node, mark == "array")
    local is_object = mark and find(mark, "object")
    if length == 0 and not is_object and (value or mark ~= "array") then
        w[#w + 1] = own or "null"
    elseif length and not value and not is_object then
        write_array(w, node, length, level)
    else
        write_object(w, node, own, level)
    end
end

json.quote = quote -- any bytes as a JSON string

--- The node and what is below it as JSON text; nil if there is nothing.
-- @param[opt] options indent: a number of spaces, or what to indent with; without it all is on one line
function json.json(node, options)
    local w, present = {}, data(node)
    if options ~= nil and typename(options) ~= "table" then
        misuse("the options of json are a table, not a " .. typename(options))
    end
    for name, value in pairs(options or {}) do
        if name ~= "indent" then
            misuse(("json has no option %s; there is indent"):format(shown(tostring(name))))
        end
        local spaces = type(value) == "number"
        if type(value) ~= "string" and not spaces then
            misuse("option indent of json is a number of spaces or a string, not a " .. typename(value))
        elseif spaces and not (value >= 0 and value < 1000) then
            misuse(("option indent of json is a number of spaces from 0 to 999, not %s"):format(value))
        end
        w.indent = spaces and rep(" ", math.floor(value)) or value
    end
    if present == 0 then return nil end
    write(w, node, get(node), 0)
    return concat(w)
end

-- ------------------------------------------------------------------ reading

-- r: text, and n operations: nodes[i] gets values[i].

local function bad(r, pos, what)
    local _, lines = sub_of(r.text, 1, pos - 1):gsub("\n", "")
    local column = find(sub_of(r.text, 1, pos - 1):reverse(), "\n", 1, true) or pos
    misuse(("SYNTAX: the JSON text at line %d, column %d: %s"):format(lines + 1, column, what))
end

local function found(r, pos)
    local c = sub_of(r.text, pos, pos)
    return c == "" and "the end" or find(c, "[%w%p]") and "'" .. c .. "'" or ("byte %d"):format(byte(c))
end

local function put(r, node, value)
    local n = r.n + 1
    r.n, r.nodes[n], r.values[n] = n, node, value
end

local function skip(r, pos)
    return match(r.text, "^[ \t\r\n]*()", pos)
end

local function hex4(r, pos)
    local digits = match(r.text, "^%x%x%x%x", pos)
    return tonumber(digits or bad(r, pos, "four hexadecimal digits are missing"), 16)
end

-- What "\u" at pos - 2 stands for, and the place after.
local function read_u(r, pos)
    local c = hex4(r, pos)
    if c < 0xd800 or c > 0xdfff then return utf8_char(c), pos + 4 end
    if c >= 0xdc80 and c <= 0xdcff then return char(c - 0xdc00), pos + 4 end
    local low = c < 0xdc00 and sub_of(r.text, pos + 4, pos + 5) == "\\u" and hex4(r, pos + 6)
    if not low or low < 0xdc00 or low > 0xdfff then bad(r, pos - 2, "half of a surrogate pair") end
    return utf8_char(0x10000 + (c - 0xd800) * 0x400 + low - 0xdc00), pos + 10
end

-- The string whose quote is at pos, and the place after it.
local function read_string(r, pos)
    local text, pieces, from = r.text, nil, pos + 1
    while true do
        local at = find(text, '["\\%z\1-\31]', from)
        if not at then bad(r, pos, "this string has no end") end
        local c = sub_of(text, at, at)
        local run = sub_of(text, from, at - 1)
        if c == '"' then
            if not pieces then return run, at + 1 end
            pieces[#pieces + 1] = run
            return concat(pieces), at + 1
        elseif c ~= "\\" then
            bad(r, at, "a control character in a string")
        end
        pieces = pieces or {}
        pieces[#pieces + 1] = run
        local e = sub_of(text, at + 1, at + 1)
        if e == "u" then
            pieces[#pieces + 1], from = read_u(r, at + 2)
        else
            pieces[#pieces + 1], from = MEANINGS[e] or bad(r, at, "no such escape"), at + 2
        end
    end
end

local function read_number(r, pos)
    local text = r.text
    local sign, whole, at = match(text, "^(%-?)(%d+)()", pos)
    if not sign then bad(r, pos, "a value was expected, not " .. found(r, pos)) end
    if #whole > 1 and sub_of(whole, 1, 1) == "0" then bad(r, pos, "a number with a leading zero") end
    local fraction, after = match(text, "^%.(%d+)()", at)
    at = after or at
    local exponent
    exponent, after = match(text, "^[eE]([+-]?%d+)()", at)
    at = after or at
    if find(text, "^[%w.+-]", at) then bad(r, at, "no number goes on with " .. found(r, at)) end
    local number = not (exponent and is_far(exponent))
        and canonical(sign, whole, fraction or "", tonumber(exponent or 0))
    if not number or is_far(match(number, "E(.*)$") or "") then
        bad(r, pos, "an exponent of over nine digits")
    end
    return number, at
end

-- A value that is neither array nor object, whether it needs the mark "string", and the place after.
local function read_scalar(r, pos)
    if byte(r.text, pos) == 34 then
        local s, at = read_string(r, pos)
        return s, (WORDS[s] or number_of(s)) and true, at
    end
    local word, at = match(r.text, "^(%a+)()", pos)
    if word then
        return WORDS[word] and word or bad(r, pos, ("no such value: '%s'"):format(word)), false, at
    end
    word, at = read_number(r, pos)
    return word, false, at
end

local read

local function read_array(r, node, pos)
    local n = 0
    pos = skip(r, pos + 1)
    if byte(r.text, pos) == 93 then
        put(r, node(MARK), "array")
        return pos + 1
    end
    while true do
        n = n + 1
        pos = skip(r, read(r, node(n), pos))
        local c = byte(r.text, pos)
        if c == 93 then return pos + 1 end
        if c ~= 44 then bad(r, pos, "',' or ']' was expected, not " .. found(r, pos)) end
        pos = skip(r, pos + 1)
    end
end

-- The subscript for a key; nil: the node's own value.
local function subscript_of(key)
    if key == "__" then return nil end
    if find(key, "^___+$") then return sub_of(key, 2) end
    if find(key, "^__+json$") then return "_" .. key end
    return key
end

-- o: count, highest of the subscripts if all are numbers, own, is_string.
local function read_member(r, node, pos, o)
    if byte(r.text, pos) ~= 34 then bad(r, pos, "a key was expected, not " .. found(r, pos)) end
    local key, at = read_string(r, pos)
    local sub = subscript_of(key)
    if o.keys[key] then bad(r, pos, ("the second member %s of one object"):format(shown(key))) end
    o.keys[key] = true
    at = skip(r, at)
    if byte(r.text, at) ~= 58 then bad(r, at, "':' was expected, not " .. found(r, at)) end
    at = skip(r, at + 1)
    if sub then
        o.count = o.count + 1
        o.highest = find(sub, "^[1-9]%d*$") and #sub < 16 and math.max(o.highest, tonumber(sub)) or math.huge
        return read(r, node(sub), at)
    end
    if find(r.text, "^[[{]", at) then bad(r, at, "'__' is the node's own value, no array or object") end
    o.own, o.is_string, at = read_scalar(r, at)
    put(r, node, o.own)
    return at
end

local function read_object(r, node, pos)
    local o = {count = 0, highest = 0, keys = {}}
    pos = skip(r, pos + 1)
    while byte(r.text, pos) ~= 125 or next(o.keys) do
        pos = skip(r, read_member(r, node, pos, o))
        local c = byte(r.text, pos)
        if c == 125 then break end
        if c ~= 44 then bad(r, pos, "',' or '}' was expected, not " .. found(r, pos)) end
        pos = skip(r, pos + 1)
    end
    local mark = (o.own and o.count == 0 or not o.own and o.count == o.highest) and "object"
    if o.is_string then mark = mark and "object string" or "string" end
    if mark then put(r, node(MARK), mark) end
    return pos + 1
end

-- Read the value at pos for the node; the place after it.
function read(r, node, pos)
    local c = byte(r.text, pos)
    if c == 91 then return read_array(r, node, pos) end
    if c == 123 then return read_object(r, node, pos) end
    local value, is_string, at = read_scalar(r, pos)
    put(r, node, value)
    if is_string then put(r, node(MARK), "string") end
    return at
end

local function replace(node, r)
    kill(node)
    for i = 1, r.n do
        set(r.nodes[i], r.values[i])
    end
end

--- Replace the node and what is below it by what the JSON text says, as one transaction.  A text that is
-- wrong raises, and says where; nothing was changed then.
-- @return the node
function json.setjson(node, text)
    data(node) -- raises if it is not a node
    if type(text) ~= "string" then
        misuse("setjson needs JSON text, not a " .. typename(text))
    end
    local r = {text = text, n = 0, nodes = {}, values = {}}
    local at = skip(r, read(r, node, skip(r, find(text, "^\239\187\191") and 4 or 1)))
    if at <= #text then bad(r, at, "the end was expected, not " .. found(r, at)) end
    trees.atomically(replace, node, r)
    return node
end

return json
