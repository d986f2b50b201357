-- Make the table of commands: lua commands.lua FOLDER TABLE HEADER. command.c includes the table, call.h the
-- header, which declares the functions.
--
-- FOLDER/GROUP.lua returns the rows of a group:
--
--     {"name", arity, "flags", "categories", since = "1.0.0", time = "O(1)", keys = {...}}
--
-- name         of a subcommand with its container: "client|list"; rows of subcommands are in the field `sub`
-- arity        arguments with the name itself; negative: at least so many
-- flags        words of `flags` below
-- categories   of ACL, but for those that follow from flags: read, write, admin, dangerous, pubsub, fast,
--              slow, blocking.  The commands of nodes have one of their own, caret
-- alone        true: it has no other categories than those that are written
-- keys         "flags; where they begin; how they are found", each:
--                  index N | keyword WORD N | unknown
--                  range LAST STEP LIMIT | keynum INDEX FIRST STEP | unknown
-- movable      true: keys depend on other arguments
-- plain        true: the function is not called in a transaction; else it is, if it has the flag write or
--              readonly
-- func         name of the C function; else serve__cmd_ and the name, with _ for -, | and .
-- tips, doc_flags, deprecated = {since, instead}: what COMMAND and COMMAND DOCS tell
--
-- The lines that tell what a command does are in FOLDER/summaries.lua; each command has one.
--
-- Their arguments are in FOLDER/arguments.lua.
--
-- The functions are declared weak: one that is not defined anywhere is NULL, and its command not there yet.

io.output(arg[2])
local function print(text) io.write(text, "\n") end

local flags = {
    "write", "readonly", "denyoom", "module", "admin", "pubsub", "noscript", "blocking", "loading", "stale",
    "skip_monitor", "skip_slowlog", "asking", "fast", "no_auth", "may_replicate", "no_mandatory_keys",
    "no_async_loading", "no_multi", "movablekeys", "allow_busy",
}
local PLAIN = 1 << 30
local categories = {
    "keyspace", "read", "write", "set", "sortedset", "list", "hash", "string", "bitmap", "hyperloglog", "geo",
    "stream", "pubsub", "admin", "fast", "slow", "blocking", "dangerous", "connection", "transaction",
    "scripting", "caret",
}
local keyflags = {
    "RO", "RW", "OW", "RM", "access", "update", "insert", "delete", "not_key", "incomplete", "variable_flags",
}
local groups = {
    "bitmap", "caret", "cluster", "connection", "generic", "geo", "hash", "hyperloglog", "list", "pubsub",
    "scripting", "server", "set", "sorted_set", "stream", "string", "transactions",
}

local function bits(names, words, row)
    local sum = 0
    for word in words:gmatch("%S+") do
        local found
        for i, name in ipairs(names) do
            if name == word then found = 1 << (i - 1) end
        end
        if not found then error(row[1] .. ": unknown word " .. word) end
        sum = sum | found
    end
    return sum
end

local function has(row, word) return (" " .. row[3] .. " "):find(" " .. word .. " ", 1, true) ~= nil end

-- Categories that follow from flags.
local function implied(row)
    if row.alone then return bits(categories, row[4], row) end
    local words = {row[4], has(row, "fast") and "fast" or "slow"}
    if has(row, "write") then words[#words + 1] = "write" end
    if has(row, "readonly") and not row[4]:find("scripting", 1, true) then words[#words + 1] = "read" end
    if has(row, "admin") then words[#words + 1] = "admin dangerous" end
    if has(row, "pubsub") then words[#words + 1] = "pubsub" end
    if has(row, "blocking") then words[#words + 1] = "blocking" end
    return bits(categories, table.concat(words, " "), row)
end

local function quoted(text) return text and ('"%s"'):format(text:gsub('[\\"]', "\\%0")) or "NULL" end

local function spec(text, row)
    local words, begin, find = text:match("^(.-); (.-); (.-)$")
    local kind, a, b = begin:match("^(%a+) ?(%S*) ?(%S*)$")
    local how, x, y, z = find:match("^(%a+) ?(%S*) ?(%S*) ?(%S*)$")
    local keyword, from = "NULL", "0"
    if kind == "index" then from = a elseif kind == "keyword" then keyword, from = quoted(a), b end
    if how == "unknown" then x, y, z = 0, 0, 0 end
    return ("{%d, SERVE__BEGIN_%s, SERVE__FIND_%s, %s, %s, %s, %s, %s}"):format(
        bits(keyflags, words, row), kind:upper(), how:upper(), keyword, from, x, y, z),
        kind == "index" and how == "range" and {from, x, y}
end

-- Ranges that follow one another are told as one.
local function joined(have, range)
    if not range then return have end
    local first, last, step = tonumber(range[1]), tonumber(range[2]), tonumber(range[3])
    if last >= 0 then last = last + first end
    if not have then return {first, last, step} end
    if first == have[2] + 1 and step == have[3] then have[2] = last end
    return have
end

local main, all, parents = {}, {}, {}
for _, group in ipairs(groups) do
    local rows = dofile(arg[1] .. "/" .. group .. ".lua")
    for _, row in ipairs(rows) do
        row.group = group:gsub("_", "-")
        main[#main + 1] = row
    end
end
table.sort(main, function(a, b) return a[1] < b[1] end)
for _, row in ipairs(main) do all[#all + 1] = row end
for i = 1, #main do
    for _, row in ipairs(main[i].sub or {}) do
        row.group = main[i].group
        main[i].place = main[i].place or #all
        all[#all + 1] = row
        parents[row] = i - 1
    end
end

local summaries = {}
for name, text in dofile(arg[1] .. "/summaries.lua"):gmatch("([^\n:]+): ([^\n]+)") do
    summaries[name] = text
end
for _, row in ipairs(all) do
    row.summary = summaries[row[1]] or error(row[1] .. " has no summary")
    summaries[row[1]] = nil
end
if next(summaries) then error(next(summaries) .. " is the summary of no command") end

local syntax = dofile(arg[1] .. "/arguments.lua")
for _, row in ipairs(all) do
    row.arguments = syntax.of[row[1]] and syntax.parse(syntax.of[row[1]])
    syntax.of[row[1]] = nil
end
if next(syntax.of) then error(next(syntax.of) .. " has arguments, and is not a command") end

local function names(variable, list, reach)
    print(("%sconst char *const %s[] = {"):format(reach or "", variable))
    for _, name in ipairs(list) do print(("    %s,"):format(quoted(name))) end
    print("    NULL};")
end

local function text_of(word) return word and word ~= "" and quoted(word) or "NULL" end

-- The array of a list of arguments; those of its parts are before it.
local function argument_list(variable, list)
    for i, a in ipairs(list) do
        if a.parts then argument_list(variable .. "_" .. i, a.parts) end
    end
    print(("static const struct serve__argument %s[] = {"):format(variable))
    for i, a in ipairs(list) do
        print(("    {%s, %s, %s, %s, %s, %s, %d, %s},"):format(quoted(a.name), quoted(a.type),
            quoted(a.token), text_of(a.since), text_of(a.deprecated), tonumber(a.key) or -1, a.flags,
            a.parts and variable .. "_" .. i or "NULL"))
    end
    print("    {0}};")
end

print("/* Made by commands.lua. */")
local header = {"/* Made by commands.lua: the functions of commands. */", "struct serve__call;"}
names("serve__flag_names", flags)
names("serve__category_names", categories)
names("serve__keyflag_names", keyflags)
for i, row in ipairs(all) do
    row.func = row.func or "serve__cmd_" .. row[1]:gsub("[|.-]", "_")
    print(("serve__function %s __attribute__((weak));"):format(row.func))
    header[#header + 1] = ("int %s(struct serve__call *q);"):format(row.func)
    if row.keys then
        print(("static const struct serve__keyspec keys%d[] = {"):format(i))
        for _, text in ipairs(row.keys) do
            local c, range = spec(text, row)
            print("    " .. c .. ",")
            row.range = joined(row.range, range)
        end
        print("};")
    end
    if row.arguments then argument_list("arguments" .. i, row.arguments) end
    if row.tips then
        names(("tips%d"):format(i), row.tips, "static ")
    end
end
print("const struct serve__command serve__commands[] = {")
for i, row in ipairs(all) do
    local word = bits(flags, row[3], row)
    if row.movable then word = word | bits(flags, "movablekeys", row) end
    if row.plain or not (has(row, "write") or has(row, "readonly")) then word = word | PLAIN end
    local first, last, step = 0, 0, 0
    if row.range then first, last, step = table.unpack(row.range) end
    print(("    {%s, %s, %s, %d, 0x%x, 0x%x, %s, %d, %d, %d, %d, %s,"):format(
        quoted(row[1]:match("[^|]+$")), quoted(row[1]), row.func, row[2], word, implied(row),
        row.keys and "keys" .. i or "NULL", row.keys and #row.keys or 0, first, last, step,
        row.tips and "tips" .. i or "NULL"))
    print(("     %s, %s, %d, %d, %s, %s, %s, %s, %s, %s, %s, %s},"):format(
        parents[row] and "serve__commands + " .. parents[row] or "NULL",
        row.place and "serve__commands + " .. row.place or "NULL", row.sub and #row.sub or 0, i - 1,
        quoted(row.group), quoted(row.since), quoted(row.time), quoted(row.summary), quoted(row.doc_flags),
        quoted(row.deprecated and row.deprecated[1]), quoted(row.deprecated and row.deprecated[2]),
        row.arguments and "arguments" .. i or "NULL"))
end
print("};")
print(("const unsigned serve__nmain = %d, serve__ncommands = %d;"):format(#main, #all))
io.output(arg[3])
print(table.concat(header, "\n"))
