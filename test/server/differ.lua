-- Random commands to our server and to redis-server, whose answers have to be the same, byte for byte.
--
--     sh test/server/run.sh WORKERS differ.lua --beside-redis [ROUNDS [SEED [TOPIC...]]]
--
-- What is sent comes from the templates of a topic, a list of lines, as in differ_string.lua:
--
--     set key value [NX|XX] [EX seconds|PX seconds000|KEEPTTL]
--
-- Lower-case words after the first are made up (`makers` below), others stand for themselves; [a|b] is one of
-- these or nothing, {a|b} one of these, and `...` repeats what is before it, zero to three times. Now and
-- then an argument is lost, doubled, or replaced by an odd one.
--
-- Of a topic, `unordered` names commands whose answer is a set; `hidden` those that are sent but not
-- compared; `alike` is asked about answers that differ. The state of both is compared at the end of each
-- sequence by the `probes`.

local check = require "check"
local resp = require "resp"

local rounds, seed = tonumber(arg[1]) or 300, tonumber(arg[2]) or os.time() % 1000000 -- a test has one seed
local topics = {}
for i = 3, #arg do topics[#topics + 1] = arg[i] end
if #topics == 0 then topics = {"string", "generic", "transactions", "server"} end

local pick
local function any(list) return list[math.random(#list)] end

local odd = {
    "", "-1", "0", "-0", "1.5", "007", "+1", " 1", "1 ", "abc", "9223372036854775807", "9223372036854775808",
    "-9223372036854775808", "1e3", "nan", "inf", "-inf", "0x10",
    "\0", "a\0b", "\r\n", "\255K", "\193s\0", "\193h\0",
    ("x"):rep(300), ("\0"):rep(150), ("1"):rep(40), "key:1", "*", "[", "\\", "1_000", "3.0e-5",
    "18446744073709551615",
    "\255K" .. ("y"):rep(32), ("k"):rep(200), ("k"):rep(201),
}

local makers = {
    key = function() return "key:" .. math.random(6) end,
    value = function()
        local n = math.random(6)
        if n == 1 then return tostring(math.random(-20, 20)) end
        if n == 2 then return tostring(math.random(-200, 200) / 8) end
        if n == 3 then return any(odd) end
        return ("abcdefghij"):rep(math.random(0, 8)):sub(math.random(3))
    end,
    field = function() return math.random(12) == 1 and any(odd) or "f" .. math.random(8) end,
    int = function() return tostring(math.random(-10, 10)) end,
    count = function() return tostring(math.random(0, 6)) end,
    index = function() return tostring(math.random(-12, 12)) end,
    float = function() return tostring(math.random(-100, 100) / 4) end,
    score = function()
        return math.random(10) == 1 and any({"inf", "-inf", "+inf"}) or tostring(math.random(-9, 9) / 2)
    end,
    seconds = function() return tostring(math.random(1000, 9000)) end,
    never = function() return tostring(math.random(-9, 0)) end,
    past = function() return tostring(math.random(-5, 5000000)) end,
    future = function() return tostring(4000000000 + math.random(1000)) end,
    pattern = function()
        return any({"*", "k*", "key:?", "key:[1-3]", "key:[^2]", "nothing", "\\k*", "*:*", "[", "k[e-e]y:1"})
    end,
    db = function() return tostring(math.random(0, 3)) end,
    word = function() return any({"get", "set", "nope", "client", "config", "LIST"}) end,
}

-- ------------------------------------------------------------ templates

-- Text of a group from `at`, which is after its opening bracket, to the closing one; and the place after it.
local function group(text, at)
    local depth = 1
    for i = at, #text do
        local c = text:sub(i, i)
        if c == "[" or c == "{" then depth = depth + 1 end
        if c == "]" or c == "}" then depth = depth - 1 end
        if depth == 0 then return text:sub(at, i - 1), i + 1 end
    end
    error("no end of a group in " .. text)
end

local function alternatives(text)
    local t, depth, from = {}, 0, 1
    for i = 1, #text do
        local c = text:sub(i, i)
        if c == "[" or c == "{" then depth = depth + 1 end
        if c == "]" or c == "}" then depth = depth - 1 end
        if c == "|" and depth == 0 then
            t[#t + 1] = text:sub(from, i - 1)
            from = i + 1
        end
    end
    t[#t + 1] = text:sub(from)
    return t
end

local function word_of(word)
    local zeros = word:match("^seconds(0+)$")
    if zeros then return makers.seconds() .. zeros end
    return makers[word] and makers[word]() or word
end

-- Append what the template says.
pick = function(text, out)
    local at = 1
    while true do
        at = text:match("^%s*()", at)
        if at > #text then return end
        local c = text:sub(at, at)
        local last -- which may be repeated
        if c == "[" or c == "{" then
            last, at = group(text, at + 1)
            if c == "{" or math.random(2) == 1 then pick(any(alternatives(last)), out) end
        else
            last, at = text:match("^([^%s%[{]+)()", at)
            out[#out + 1] = #out == 0 and last or word_of(last)
        end
        if text:sub(at, at + 2) == "..." then
            at = at + 3
            for _ = 1, math.random(0, 3) do pick(any(alternatives(last)), out) end
        end
    end
end

local function spoil(words)
    local i = math.random(#words)
    local n = math.random(4)
    if n == 1 and #words > 1 then
        table.remove(words, math.max(i, 2))
    elseif n == 2 then
        table.insert(words, math.random(2, #words + 1), words[i])
    elseif i > 1 then
        words[i] = any(odd)
    else
        words[#words + 1] = any(odd)
    end
end

-- ------------------------------------------------------------ comparing

-- The elements of an array in order of their bytes: "*2\r\n..." of bulks.
local function sorted(bytes)
    local t, head, at = {}, bytes:match("^([*~]%d+\r\n)()")
    if not head then return bytes end
    while at <= #bytes do
        local len, from = bytes:match("^%$(%d+)\r\n()", at)
        if not len then return bytes end
        t[#t + 1] = bytes:sub(from, from + tonumber(len) - 1)
        at = from + tonumber(len) + 2
    end
    table.sort(t)
    return head .. table.concat(t, "\0")
end

local function shown(words)
    local t = {}
    for i, word in ipairs(words) do
        t[i] = ("%q"):format(#word > 60 and word:sub(1, 50) .. "...(" .. #word .. ")" or word)
    end
    return table.concat(t, " ")
end

local ours, theirs
local sent, sequences, differences = 0, 0, 0

local function same(topic, words, what)
    local a, b = ours:raw(unpack(words)), theirs:raw(unpack(words))
    local name = words[1]:lower()
    sent = sent + 1
    if topic.hidden[name] then return true end
    if topic.unordered[name] then a, b = sorted(a), sorted(b) end
    if a == b or (topic.alike and topic.alike(words, a, b)) then return true end
    differences = differences + 1
    print(("%s: %s\n   ours  %q\n   redis %q"):format(what, shown(words), a:sub(1, 300), b:sub(1, 300)))
    return false
end

local function load_topic(name)
    local topic = dofile("differ_" .. name .. ".lua")
    for _, field in ipairs({"unordered", "hidden"}) do
        local set = {}
        for _, word in ipairs(topic[field] or {}) do set[word] = true end
        topic[field] = set
    end
    return topic
end

-- One sequence of commands on empty databases; stops at the first difference.
local function sequence(topic, name, round)
    local protocol = tostring(math.random(2, 3))
    for _, c in ipairs({ours, theirs}) do
        c("RESET")
        c("FLUSHALL")
        c("HELLO", protocol)
    end
    for step = 1, 60 do
        local words = {}
        pick(any(topic), words)
        if math.random(8) == 1 then spoil(words) end
        local what = ("%s, seed %d, round %d, step %d, RESP%s"):format(name, seed, round, step, protocol)
        if not same(topic, words, what) then return end
    end
    for _, template in ipairs(topic.probes or {}) do
        for i = 1, 6 do
            local words = {}
            for word in template:gmatch("%S+") do
                words[#words + 1] = word == "KEY" and "key:" .. i or word
            end
            local what = ("%s, seed %d, state after round %d"):format(name, seed, round)
            if not same(topic, words, what) then return end
        end
    end
end

math.randomseed(seed)
ours, theirs = check.connect(), assert(resp.connect(os.getenv("REDIS_SOCKET")))
for _, name in ipairs(topics) do
    local topic = load_topic(name)
    for round = 1, rounds do
        if differences >= 10 then break end
        sequences = sequences + 1
        sequence(topic, name, round)
    end
end
print(("%d commands, seed %d"):format(sent, seed))
print(("%d passed, %d failed"):format(sequences - differences, differences))
os.exit(differences == 0 and 0 or 1)
