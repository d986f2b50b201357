-- JSON between the page and the server: whole values, as the page's own JSON.parse and JSON.stringify have
-- them.
--
-- lib/json.lua prints what commands know beforehand; here tables of any form come and go, null among them.  A
-- request that is nested deeper than DEEPEST, or is not JSON, is refused with the place where that is seen.

local quote = require("caret.json").quote

local json = {}

--- In a table: null, which a Lua table can't hold.
json.null = setmetatable({}, {__tostring = function() return "null" end})

local LIST = {} -- metatable of a list that may be empty

local DEEPEST = 32

--- A list, which is [] when it is empty.
function json.list(t)
    return setmetatable(t or {}, LIST)
end

-- ------------------------------------------------------------------ writing

--- Text in UTF-8, with a mark for each byte that is none.
function json.readable(text)
    local pieces, at = {}, 1
    while true do
        local ok, bad = utf8.len(text, at)
        if ok then break end
        pieces[#pieces + 1], at = text:sub(at, bad - 1) .. "\u{FFFD}", bad + 1
    end
    return at == 1 and text or table.concat(pieces) .. text:sub(at)
end

local write

local function write_table(t, out)
    if #t > 0 or getmetatable(t) == LIST then
        out[#out + 1] = "["
        for i = 1, #t do
            if i > 1 then out[#out + 1] = "," end
            write(t[i], out)
        end
        out[#out + 1] = "]"
        return
    end
    local sign = "{"
    for name, value in pairs(t) do
        out[#out + 1] = sign .. quote(json.readable(name)) .. ":"
        write(value, out)
        sign = ","
    end
    out[#out + 1] = sign == "{" and "{}" or "}"
end

local function number_text(n)
    if math.type(n) == "integer" then return ("%d"):format(n) end
    return n == n and n ~= math.huge and n ~= -math.huge and ("%.14g"):format(n) or "null"
end

function write(value, out)
    local kind = type(value)
    if kind == "string" then
        out[#out + 1] = quote(json.readable(value))
    elseif kind == "number" then
        out[#out + 1] = number_text(value)
    elseif kind == "table" and value ~= json.null then
        write_table(value, out)
    else
        out[#out + 1] = kind == "boolean" and tostring(value) or "null"
    end
end

--- Any value as JSON; texts as json.readable() has them.
function json.encode(value)
    local out = {}
    write(value, out)
    return table.concat(out)
end

-- ------------------------------------------------------------------ reading

local read

local function bad(at, what)
    error({json = ("at byte %d: %s"):format(at, what)}, 0)
end

local function skip(s, at)
    return s:match("^[ \t\r\n]*()", at)
end

local ESCAPES = {b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", ['"'] = '"', ["\\"] = "\\", ["/"] = "/"}

-- \uXXXX at `at`; a pair of surrogates is one character, a lone one is refused.
local function read_unicode(s, at)
    local high = tonumber(s:match("^%x%x%x%x", at) or bad(at, "four hex digits are wanted"), 16)
    if high < 0xd800 or high > 0xdfff then return utf8.char(high), at + 4 end
    local low = tonumber(s:match("^\\u(%x%x%x%x)", at + 4) or "0", 16)
    if high > 0xdbff or low < 0xdc00 or low > 0xdfff then bad(at, "half of a surrogate pair") end
    return utf8.char(0x10000 + ((high - 0xd800) << 10) + low - 0xdc00), at + 10
end

local function read_string(s, at)
    local pieces = {}
    while true do
        local run, sign, after = s:match('^([^"\\%c]*)(["\\])()', at)
        if not run then bad(at, "a string does not end") end
        pieces[#pieces + 1] = run
        if sign == '"' then return table.concat(pieces), after end
        local letter = s:sub(after, after)
        if letter == "u" then
            pieces[#pieces + 1], at = read_unicode(s, after + 1)
        else
            pieces[#pieces + 1], at = ESCAPES[letter] or bad(after, "no such escape"), after + 1
        end
    end
end

local function read_list(s, at, depth)
    local list = json.list()
    at = skip(s, at)
    if s:sub(at, at) == "]" then return list, at + 1 end
    while true do
        list[#list + 1], at = read(s, at, depth)
        local sign, after = s:match("^[ \t\r\n]*([,%]])()", at)
        if not sign then bad(at, "',' or ']' is missing") end
        at = after
        if sign == "]" then return list, at end
    end
end

local function read_object(s, at, depth)
    local object = {}
    at = skip(s, at)
    if s:sub(at, at) == "}" then return object, at + 1 end
    while true do
        local start = s:match('^[ \t\r\n]*"()', at) or bad(at, "a name is missing")
        local name, after = read_string(s, start)
        at = s:match("^[ \t\r\n]*:()", after) or bad(after, "':' is missing")
        object[name], at = read(s, at, depth)
        local sign, next_at = s:match("^[ \t\r\n]*([,}])()", at)
        if not sign then bad(at, "',' or '}' is missing") end
        at = next_at
        if sign == "}" then return object, at end
    end
end

local WORDS = {["true"] = true, ["false"] = false, ["null"] = json.null}

function read(s, at, depth)
    if depth > DEEPEST then bad(at, "it is nested too deeply") end
    at = skip(s, at)
    local sign = s:sub(at, at)
    if sign == '"' then return read_string(s, at + 1) end
    if sign == "{" then return read_object(s, at + 1, depth + 1) end
    if sign == "[" then return read_list(s, at + 1, depth + 1) end
    local word = s:match("^%a+", at)
    if word and WORDS[word] ~= nil then return WORDS[word], at + #word end
    local text = s:match("^-?%d+%.?%d*[eE]?[+-]?%d*", at)
    local number = text and (math.tointeger(tonumber(text)) or tonumber(text))
    if not number then bad(at, "a value is missing") end
    return number, at + #text
end

--- The value; or nil and what is wrong.
function json.decode(text)
    if not utf8.len(text) then return nil, "it is not UTF-8" end
    local ok, value, at = pcall(read, text, 1, 0)
    if not ok then return nil, type(value) == "table" and value.json or tostring(value) end
    at = skip(text, at)
    if at <= #text then return nil, ("at byte %d: something comes after the end"):format(at) end
    return value
end

return json
