-- codec_scripts.lua: random calls of cjson, cmsgpack, struct and bit.  It runs in Redis by EVAL, and
-- here with our modules
-- in place of those; codec_compare.lua compares what both return.  ARGV: which of the parts, a seed,
-- how many calls.

-- luacheck: read globals cjson cmsgpack struct ARGV

local seed = tonumber(ARGV[2])
local function random(n) -- 1 to n; the same everywhere
    seed = (seed * 16807) % 2147483647
    return seed % n + 1
end

local function pick(list)
    return list[random(#list)]
end

local function repr(v, depth)
    depth = depth or 0
    if type(v) == "string" then
        return '"' .. v:gsub("[^%w%p ]", function(c) return string.format("\\%03d", c:byte()) end) .. '"'
    elseif type(v) == "number" then
        local whole = math.floor(v)
        if v ~= v or v == whole or math.abs(v) > 1e17 then
            return v ~= v and "nan" or string.format("%.17g", v)
        end
        return string.format("%d+%d", whole,
            (v - whole) * 2 ^ 30) -- LuaJIT rounds halves of the last digit otherwise
    elseif type(v) ~= "table" then
        return type(v) == "userdata" and "null" or type(v) == "function" and "function" or tostring(v)
    elseif depth > 40 then
        return "..."
    end
    local parts = {}
    for key, value in pairs(v) do
        parts[#parts + 1] = repr(key, depth + 1) .. "=" .. repr(value, depth + 1)
    end
    table.sort(parts)
    return "{" .. table.concat(parts, ",") .. "}"
end

local function call(f, ...)
    local results = {pcall(f, ...)}
    local parts = {}
    for i = 1, 12 do
        parts[i] = repr(results[i])
    end
    return table.concat(parts, " ")
end

local numbers = {
    0, 1, -1, 2, 5, 31, 32, 127, 128, 129, 255, 256, -32, -33, -127, -128, -129, 32767, 32768, -32768,
        -32769, 65535, 65536,
    2147483647, 2147483648, -2147483648, -2147483649, 4294967295, 4294967296, 2 ^ 52, 2 ^ 53, -2 ^ 53,
        2 ^ 63, -2 ^ 63, 2 ^ 64,
    1e15, 1e16, 1e17, 1e300, -1e300, 0.1, 0.5, 1.5, -2.75, 1 / 3, 1e-10, 3.4e38, 1e39, 100, 1000,
        123456789012347,
}

local function random_string()
    local length, bytes = pick({0, 1, 2, 3, 7, 20, 31, 32, 40, 255, 256, 300}), {}
    local any = random(2) == 1
    for i = 1, length do
        bytes[i] = string.char(any and random(256) - 1 or 31 + random(95))
    end
    return table.concat(bytes)
end

local function random_key()
    return pick({1, 2, 3, 4, 5, 7, 11, 12, -1, 0, 1.5, "a", "b", "key", "1", ""})
end

-- The order of a table's keys is each interpreter's own: with `ordered` there is one in each.
local ordered

local function random_value(depth)
    local kind = random(depth > 0 and 12 or 7)
    if kind <= 2 then
        return pick(numbers)
    elseif kind <= 4 then
        return random_string()
    elseif kind == 5 then
        return random(2) == 1
    elseif kind == 6 then
        return random(40) == 1 and pcall or nil
    elseif kind == 7 then
        return pick(numbers) + random(1000) / pick({1, 8, 10, 1000})
    end
    local t, n = {}, random(5) - 1
    if kind > 9 and ordered then
        n = 1
    end
    for i = 1, random(20) == 1 and (kind <= 9 or not ordered) and 40 or n do
        if kind <= 9 then
            t[i] = random_value(depth - 1)
            if ordered and t[i] == nil then
                t[i] = false -- with a hole it would be a map
            end
        else
            local value = random_value(depth - 1)
            t[random_key()] = value
        end
    end
    return t
end

-- A good text, often with damage.
local function damaged(text)
    for _ = 1, pick({0, 0, 1, 1, 2, 3}) do
        local at = random(#text + 1)
        local what = random(4)
        if what == 1 then
            text = text:sub(1, at - 1)
        elseif what == 2 then
            text = text:sub(1, at - 1) .. string.char(random(256) - 1) .. text:sub(at + 1)
        elseif what == 3 then
            text = text:sub(1, at - 1) .. text:sub(at + 1)
        else
            text = text:sub(1, at) .. pick({"[", "]", "{", "}", ",", ":",
                '"', "\\", "\\u00e9", "\\ud83d\\ude00", "\\ud800",
                "-", "0x1f", "1e5", "nan", "-inf", "true", "null", " ", "\n", "\0", "\193", "\220",
                    "\203"}) .. text:sub(at + 1)
        end
    end
    return text
end

local parts = {}

-- What a text of any order has in common with the others.
local function bytes_of(text)
    if #text > 4000 then
        return #text
    end
    local bytes = {text:byte(1, -1)}
    table.sort(bytes)
    return string.char(unpack(bytes))
end

function parts.cjson()
    ordered = false
    local good, any = pcall(cjson.encode, random_value(4))
    ordered = true
    local ok, text = pcall(cjson.encode, random_value(4))
    local again = call(cjson.decode, damaged(ok and text or pick({"[1,2]", '{"a":{"b":[true,null]}}',
        "[]", "{}"})))
    return repr(good and bytes_of(any)) .. repr(ok) .. repr(text) .. again
end

function parts.cmsgpack()
    ordered = false
    local any = cmsgpack.pack(random_value(4))
    ordered = true
    local values = {}
    for i = 1, random(3) do
        values[i] = random_value(4) or false
    end
    local text = cmsgpack.pack(unpack(values))
    local bad = damaged(text)
    return repr(bytes_of(any)) .. repr(text) .. call(cmsgpack.unpack, bad) .. call(cmsgpack.unpack_one,
        bad, random(5) - 2) ..
        call(cmsgpack.unpack_limit, bad, random(4) - 1, random(4) - 1)
end

local options = {"b", "B", "h", "H", "i", "I", "l", "L", "T", "f", "d", "x", "s", "c", "c0", "c3", "c12",
    "i1", "I2", "i3",
    "I5", "i7", "i8", "I8", "i9", "I16", "i32", "i33", "<", ">", "!", "!1", "!2", "!4", "!8", "!16",
        "!3", " ", "y", "=",
    "Bc0", "bc0", "Hs"}

function parts.struct()
    local format, values = {}, {}
    for i = 1, random(6) do
        local option = random(30) == 1 and pick(options) or options[random(#options - 12) % 25 + 1]
        format[i] = random(6) == 1 and pick(options) or option
        local number, part = pick(numbers), random(3) == 1 and random(100) / 8 or 0
        values[i] = format[i]:find("[sc]") and random_string() or number + (math.abs(number) < 1e12 and
            part or 0)
    end
    local text = table.concat(format)
    local packed = call(struct.pack, text, unpack(values))
    local ok, bytes = pcall(struct.pack, text, unpack(values))
    return text .. " " .. packed .. call(struct.size, text) ..
        call(struct.unpack, text, damaged(ok and bytes or random_string()), pick({1, 1, 1, 2, 3, 0, -1}))
end

function parts.bit()
    local f = pick({"tobit", "bnot", "band", "bor", "bxor", "lshift", "rshift", "arshift", "rol", "ror",
        "bswap", "tohex"})
    return f .. call(bit[f], pick(numbers) % 2 ^ 51, pick(numbers) % 2 ^ 31 + (f == "tohex" and -7 or 0),
        random(1000))
end

local answers = {}
for i = 1, tonumber(ARGV[3]) do
    answers[i] = parts[ARGV[1]]()
end
return answers
