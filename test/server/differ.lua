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
-- Of a topic, `unordered` names commands whose answer is a set, with `width(words)` elements of a flat array
-- that belong together; `hidden` those that are sent but not compared; `makers` makes up words of its own;
-- `alike` is asked about answers that differ, and is told how it was asked ("end": by chance, and so do the
-- data from now on), and `ends_exec` whether redis-server may end the connection within EXEC of a list of
-- commands. The state of both is compared at the end of each sequence by the `probes`, and if there are some
-- by DEBUG DIGEST. `before(connection)` is called before each.
-- With DIFFER_HISTORY in the environment a difference is told with all that was sent before it.
-- A connection that a server ends is made anew; the other has to end as well.
--
-- Three of four sequences are sent as pipelines, but of a topic with `alone`: a third of these as they are,
-- a third in MULTI, and a third by scripts.
--
-- A topic with `messages` compares pushes too: those that come with the answer, up to that of a PING, in any
-- order, and apart from them the answers. A template is one command or several there, with a word `;`
-- between. `second` makes of a second connection one that listens; SECOND is its number. All that it gets
-- is compared at the end of a sequence, up to what the command `fence` sends it, which has the word `fence`
-- in it.

local check = require "check"
local resp = require "resp"

local rounds, seed = tonumber(arg[1]) or 300, tonumber(arg[2]) or os.time() % 1000000 -- a test has one seed
local topics = {}
for i = 3, #arg do topics[#topics + 1] = arg[i] end
if #topics == 0 then -- every file of templates
    for file in io.popen("ls differ_*.lua"):lines() do
        topics[#topics + 1] = file:match("^differ_(.*)%.lua$")
    end
end

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

-- An answer with the elements of each array, set and map in order of their bytes; `width`: so many of a flat
-- array belong together.  And the place after it.
local function sorted(bytes, width, at)
    local kind, n, from = bytes:match("^([*~%%$])(%d+)\r\n()", at)
    if not kind then return bytes:match("^([^\r]*\r\n)()", at) end
    if kind == "$" then return bytes:sub(at, from + n + 1), from + n + 2 end
    local t, flat = {}, true
    for i = 1, kind == "%" and 2 * n or n do
        flat = flat and not bytes:match("^[*~%%]", from)
        t[i], from = sorted(bytes, width, from)
    end
    local step = kind == "%" and 2 or flat and width or 1
    local groups = {}
    for i = 1, #t, step do groups[#groups + 1] = table.concat(t, "", i, math.min(i + step - 1, #t)) end
    table.sort(groups)
    return kind .. n .. "\r\n" .. table.concat(groups), from
end

local function shown(words)
    local t = {}
    for i, word in ipairs(words) do
        t[i] = ("%q"):format(#word > 60 and word:sub(1, 50) .. "...(" .. #word .. ")" or word)
    end
    return table.concat(t, " ")
end

local ours, theirs
local our_second, their_second = {}, {} -- {connection, number}
local history -- of a sequence
local sent, sequences, differences = 0, 0, 0

local function is_push(frame)
    local kind = frame:match("^[>*]3\r\n%$%d+\r\n(%a+)\r\n") or frame:match("^%*4\r\n%$8\r\n(pmessage)\r\n")
    return frame:match("^>") or kind and (kind:match("scribe$") or kind:match("message$"))
end

-- The answer to PING fence, also of a client that listens by RESP2; others have the word in them too.
local fence_answers = {["$5\r\nfence\r\n"] = true, ["*2\r\n$4\r\npong\r\n$5\r\nfence\r\n"] = true}

-- Send the commands among the words; the pushes that come, and after them the answers.
local function exchange(c, words, second)
    local one, pushes, answers = {}, {}, {}
    for i = 1, #words + 1 do
        if i > #words or words[i] == ";" then
            c:write(unpack(one))
            one = {}
        else
            one[#one + 1] = words[i] == "SECOND" and second.number or words[i]
        end
    end
    for _ = 1, 2 do -- some pushes go out when the server has nothing else to do
        c:write("PING", "fence")
        while true do
            local frame = c:frame()
            if fence_answers[frame] then break end
            local to = is_push(frame) and pushes or answers
            to[#to + 1] = frame
        end
    end
    table.sort(pushes) -- patterns that fit have no order
    return table.concat(pushes) .. table.concat(answers)
end

-- It listens no more when this returns: a worker that has not seen its end yet would count it.
local function leave(c)
    if not c then return end
    pcall(function()
        c:write("RESET")
        repeat until c:frame() == "+RESET\r\n"
    end)
    c:close()
end

local function connect()
    leave(ours)
    leave(theirs)
    ours, theirs = check.connect(), assert(resp.connect(os.getenv("REDIS_SOCKET")))
end

-- The answers, "ended" where a server has ended the connection: then both are new.
local function ask(topic, words, protocol)
    local a_fine, a, b_fine, b
    if topic.messages then
        a_fine, a = pcall(exchange, ours, words, our_second)
        b_fine, b = pcall(exchange, theirs, words, their_second)
    else
        a_fine, a = pcall(ours.raw, ours, unpack(words))
        b_fine, b = pcall(theirs.raw, theirs, unpack(words))
    end
    if a_fine and b_fine then return a, b end
    connect()
    ours("HELLO", protocol)
    theirs("HELLO", protocol)
    return a_fine and a or "ended", b_fine and b or "ended"
end

-- Redis makes a skiplist of every sorted set that SORT reads, and it stays one.
local function sorted_before(words, a, b)
    return words[1]:lower() == "object" and a:find("listpack") and b:find("skiplist") and
        table.concat(history, " "):find('"sort', 1, true)
end

-- Are the answers a and b to a command the same?  False: the sequence ends.
local function compare(topic, words, what, a, b)
    local name = words[1]:lower()
    sent = sent + 1
    history[#history + 1] = shown(words)
    if topic.hidden[name] then return true end
    if topic.unordered[name] then
        local width = topic.width and topic.width(words) or 1
        a, b = sorted(a, width, 1), sorted(b, width, 1)
    end
    local verdict = a == b or sorted_before(words, a, b) or topic.alike and topic.alike(words, a, b, what)
    if verdict then return verdict ~= "end" end
    differences = differences + 1
    print(("%s: %s\n   ours  %q\n   redis %q"):format(what, shown(words), a:sub(1, 300), b:sub(1, 300)))
    if os.getenv("DIFFER_HISTORY") then print("   " .. table.concat(history, "\n   ")) end
    return false
end

local function same(topic, words, what)
    return compare(topic, words, what, ask(topic, words, what:match("RESP(%d)") or "2"))
end

-- The answers to commands that are sent together; "ended" from where the server has ended the connection.
local function ask_many(c, list)
    local bytes, answers = {}, {}
    for i, words in ipairs(list) do bytes[i] = resp.encode(unpack(words)) end
    c:send(table.concat(bytes))
    local fine, frame = true, nil
    for i = 1, #list do
        if fine then
            fine, frame = pcall(c.frame, c)
        end
        answers[i] = fine and frame or "ended"
    end
    return answers
end

local function same_together(topic, list, what)
    local a, b = ask_many(ours, list), ask_many(theirs, list)
    local ended, fine, i = a[#list] == "ended" or b[#list] == "ended", true, 0
    while fine and i < #list do
        i = i + 1
        fine = compare(topic, list[i], what .. ", pipelined", a[i], b[i])
    end
    if ended then connect() end
    return fine and not ended
end

-- The place after the answer that begins at `at`.
local function after(bytes, at)
    local kind, n, from = bytes:match("^([*~%%$=])(%d+)\r\n()", at)
    if not kind then return bytes:match("^[^\r]*\r\n()", at) end
    if kind == "$" or kind == "=" then return from + n + 2 end
    for _ = 1, kind == "%" and 2 * n or n do from = after(bytes, from) end
    return from
end

-- In MULTI: the answers of EXEC one by one; nil if it has none.
local function elements(frame)
    local n, at = frame:match("^%*(%d+)\r\n()")
    if not n then return nil end
    local t = {}
    for i = 1, n do
        local from = at
        at = after(frame, from)
        t[i] = frame:sub(from, at - 1)
    end
    return t
end

-- What ends MULTI, or can't be in it as it is elsewhere, or changes what is answered from then on.
local not_in_multi = {multi = true, exec = true, discard = true, watch = true, reset = true, hello = true}

-- What compares the answers of a transaction that are not those of its commands.
local function of_multi(topic, all)
    return {hidden = {}, unordered = {}, alike = function(words, _, b)
        return words[1] == "EXEC" and b == "ended" and topic.ends_exec and topic.ends_exec(all) and "end"
    end}
end

local function same_in_multi(topic, list, what)
    local all = {{"MULTI"}}
    for _, words in ipairs(list) do
        if not not_in_multi[words[1]:lower()] then all[#all + 1] = words end
    end
    all[#all + 1] = {"EXEC"}
    local a, b = ask_many(ours, all), ask_many(theirs, all)
    local ended = a[#all] == "ended" or b[#all] == "ended"
    local x, y = elements(a[#all]), elements(b[#all])
    local fine, k, queued, plain = true, 0, "+QUEUED\r\n", of_multi(topic, all)
    what = what .. ", in MULTI"
    for i, words in ipairs(all) do
        if not fine then break end
        if x and y and a[i] == queued and b[i] == queued then
            k = k + 1
            fine = compare(topic, words, what, x[k] or "nothing", y[k] or "nothing")
        elseif not x or not y or i < #all then
            fine = compare(plain, words, what, a[i], b[i])
        end
    end
    if ended then connect() end
    return fine and not ended
end

-- Each by a script, whose error is its answer, in RESP2 or RESP3.
local by_script = {
    "return redis.call(unpack(ARGV))", "return redis.pcall(unpack(ARGV))",
    "redis.setresp(3) return redis.call(unpack(ARGV))",
    "local a = redis.pcall(unpack(ARGV)) return type(a) == 'table' and a.err or a",
}
-- Maps and sets of RESP3 are tables of Lua, whose order is any.
local function lines_of(bytes)
    local t = {}
    for line in bytes:gmatch("[^\n]*\n?") do t[#t + 1] = line end
    table.sort(t)
    return table.concat(t)
end

local function same_in_scripts(topic, list, what)
    local all, script = {}, any(by_script)
    for i, words in ipairs(list) do all[i] = {"EVAL", script, "0", unpack(words)} end
    local a, b = ask_many(ours, all), ask_many(theirs, all)
    local ended, fine, i = a[#list] == "ended" or b[#list] == "ended", true, 0
    while fine and i < #list do
        i = i + 1
        local x, y = a[i], b[i]
        local tables = script:find("setresp", 1, true)
        if tables and (lines_of(x) == lines_of(y) or list[i][1]:lower() == "xinfo") then x = y end
        fine = compare(topic, list[i], what .. ", by " .. script, x, y)
    end
    if ended then connect() end
    return fine and not ended
end

local function load_topic(name)
    local topic = dofile("differ_" .. name .. ".lua")
    for word, make in pairs(topic.makers or {}) do makers[word] = make end
    for _, field in ipairs({"unordered", "hidden"}) do
        local set = {}
        for _, word in ipairs(topic[field] or {}) do set[word] = true end
        topic[field] = set
    end
    return topic
end

local function listen(topic, c, second, protocol)
    leave(second.connection)
    second.connection = c
    second.number = c("CLIENT", "ID")
    c("HELLO", protocol)
    topic.second(c)
end

-- All that the second connection got until the fence.
local function heard(topic, c, second)
    local t = {}
    c(unpack(topic.fence))
    repeat
        t[#t + 1] = second.connection:frame()
    until t[#t]:find("fence", 1, true)
    return table.concat(t)
end

local function compare_heard(topic, what)
    for _, c in ipairs({ours, theirs}) do
        c("RESET")
        c("SELECT", "0")
    end
    local a, b = heard(topic, ours, our_second), heard(topic, theirs, their_second)
    if a == b or topic.alike_heard and topic.alike_heard(a, b) then return end
    differences = differences + 1
    local at = 1
    while a:byte(at) == b:byte(at) do at = at + 1 end
    at = math.max(1, at - 80)
    print(("%s: the second connection, from byte %d on\n   ours  %q\n   redis %q"):format(what, at,
        a:sub(at, at + 200), b:sub(at, at + 200)))
    if os.getenv("DIFFER_HISTORY") then print("   " .. table.concat(history, "\n   ")) end
end

-- Does it wait longer than anybody here does, such as "BLOCK 0"?
local function endless(words)
    for i = 1, #words - 1 do
        local ms = words[i]:upper() == "BLOCK" and tonumber(words[i + 1])
        if ms and (ms == 0 or ms > 1000) then return true end
    end
    return false
end

local function made_up(topic, template)
    local words
    repeat
        words = {}
        pick(template, words)
        if not topic.exact and math.random(8) == 1 then spoil(words) end
    until not endless(words)
    return words
end

-- Sent alone: docs/server.md tells what differs of POST, and redis-server takes long for the other.
local alone = {post = true, pfselftest = true}

-- Commands for a pipeline: many are like the one before, or the same, for servers may run those together.
local function made_up_pipeline(topic)
    local list, template = {}, nil
    for i = 1, math.random(2, 40) do
        local n = math.random(8)
        if not template or n == 1 then
            repeat template = any(topic) until not alone[template:match("^%S+")]
        end
        list[i] = n > 4 and list[i - 1] or made_up(topic, template)
    end
    return list
end

local ways = {false, same_together, same_in_multi, same_in_scripts}

-- One sequence of commands on empty databases; stops at the first difference.
local function sequence(topic, name, round)
    local protocol = tostring(math.random(2, 3))
    if topic.messages then connect() end
    history = {}
    for _, c in ipairs({ours, theirs}) do
        c("RESET")
        c("CONFIG", "SET", "maxmemory", "0", "timeout", "0", "hash-max-listpack-entries", "512",
            "hash-max-listpack-value", "64", "set-max-intset-entries", "512", -- a topic sets them
            "hz", "500") -- redis-server notices so often in a second that a time is over
        c("FLUSHALL")
        if topic.before then topic.before(c) end
        c("HELLO", protocol)
    end
    if topic.second then
        listen(topic, check.connect(), our_second, protocol)
        listen(topic, assert(resp.connect(os.getenv("REDIS_SOCKET"))), their_second, protocol)
    end
    local way = not topic.messages and not topic.alone and ways[math.random(4)]
    for step = 1, way and 6 or 60 do
        local what = ("%s, seed %d, round %d, step %d, RESP%s"):format(name, seed, round, step, protocol)
        if way then
            if not way(topic, made_up_pipeline(topic), what) then return end
        elseif not same(topic, made_up(topic, any(topic)), what) then
            return
        end
    end
    if topic.second then
        compare_heard(topic, ("%s, seed %d, round %d"):format(name, seed, round))
        return
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
    if topic.probes then
        same(topic, {"DEBUG", "DIGEST"}, ("%s, seed %d, all data after round %d"):format(name, seed, round))
    end
end

math.randomseed(seed)
connect()
for _, name in ipairs(topics) do
    local topic = load_topic(name)
    for round = 1, rounds do
        if differences >= 10 then break end
        sequences = sequences + 1
        sequence(topic, name, round)
    end
    if topic.messages then connect() end -- what listens gets messages among the answers of the next topic
end
print(("%d commands, seed %d"):format(sent, seed))
print(("%d passed, %d failed"):format(sequences - differences, differences))
os.exit(differences == 0 and 0 or 1)
