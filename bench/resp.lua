-- bench/resp.lua FOLDER "NAME:PORT:PID ..." [-r ROUNDS] [-s SHARE] [--json] [ROW...]: what bench/resp.sh
-- runs.
--
-- A row sends one command, many times, by redis-benchmark: 50 connections, so many requests at a time each.
-- It tells the nanoseconds of processor time that the server took for a request: those of all threads of all
-- its processes, before and after, from /proc/PID/task/*/schedstat. Requests per second are in the JSON, but
-- redis-benchmark needs a core of its own for them to mean something.

local MILLION = 1000000

-- Lines of commands for redis-cli --pipe; # is the number of the line, from 0, in 12 digits.
local function lines(n, format)
    return function(write)
        for i = 0, n - 1 do write((format:gsub("#", ("%012d"):format(i))) .. "\n") end
    end
end

local strings = lines(MILLION, "SET key:# xxx")
local numbers = lines(MILLION, "SET key:# 12")
local list = lines(MILLION, "RPUSH list xxx")
local members = lines(MILLION, "ZADD zset # member:#")
local entries = lines(MILLION // 2, "XADD stream 2-# f v")

local ten = "for i=1,10 do redis.call('incr',KEYS[1]) end return 1"
local arithmetic = "local x=0 for i=1,1000 do x=(x*31+i)%1000003 end return x"

-- name, command; `at`: requests in thousands, by how many are sent at a time; `bar`: what one worker may take
-- as share of what redis-server takes, by the same; `before`: what is there; `again`: each time.
-- __rand_int__ is below `keys`, a million if not given.
local rows = {
    {"ping", "PING", at = {[1] = 100, [64] = 2000}, bar = {[1] = 1.05}},
    {"get hot", "GET key:000000000000", before = lines(1, "SET key:# xxx"),
        at = {[1] = 100, [16] = 500, [64] = 2000}, bar = {[1] = 1.05, [64] = 0.5}},
    {"get", "GET key:__rand_int__", before = strings,
        at = {[1] = 100, [16] = 500, [64] = 1000}, bar = {[1] = 1.05, [16] = 0.87, [64] = 0.67}},
    {"set", "SET key:__rand_int__ xxx", before = strings,
        at = {[1] = 100, [16] = 500, [64] = 1000}, bar = {[1] = 1.05, [64] = 0.83}},
    {"incr", "INCR key:__rand_int__", before = numbers,
        at = {[1] = 100, [16] = 500, [64] = 1000}, bar = {[1] = 1.05, [64] = 0.77}},
    {"incr one", "INCR counter", at = {[1] = 100, [64] = 1000}, bar = {[1] = 1.05, [64] = 0.77}},
    {"hset", "HSET hash field:__rand_int__ xxx", keys = 100000,
        at = {[1] = 100, [64] = 1000}, bar = {[64] = 0.67}},
    {"sadd", "SADD set member:__rand_int__", keys = 100000,
        at = {[1] = 100, [64] = 1000}, bar = {[64] = 0.67}},
    {"lpush", "LPUSH list xxx", at = {[1] = 100, [64] = 1000}, bar = {[64] = 1.1}},
    {"rpop", "RPOP list", before = list, again = true, at = {[64] = 1000}, bar = {[64] = 1.1}},
    {"zadd", "ZADD zset __rand_int__ member:__rand_int__", keys = 100000,
        at = {[1] = 100, [64] = 500}, bar = {[64] = 0.9}},
    {"zrank", "ZRANK zset member:__rand_int__", before = members, at = {[64] = 200}, bar = {[64] = 1.4}},
    {"xadd", "XADD stream * field xxx", at = {[1] = 100, [64] = 1000}, bar = {}},
    {"xreadgroup", "XREADGROUP GROUP g c COUNT 1 STREAMS stream >", before = entries, group = true,
        again = true, at = {[64] = 400}, bar = {}},
    {"xack", "XACK stream g 2-__rand_int__", keys = 500000, before = entries, group = true, delivered = true,
        again = true, at = {[64] = 400}, bar = {}},
    {"eval get", {"EVAL", "return redis.call('get',KEYS[1])", "1", "key:__rand_int__"}, keys = 1000,
        before = lines(1000, "SET key:# xxx"), at = {[1] = 100, [64] = 500}, bar = {[64] = 0.2}},
    {"eval incr 10", {"EVAL", ten, "1", "key:__rand_int__"}, keys = 1000,
        at = {[1] = 100, [64] = 200}, bar = {[64] = 0.4}},
    {"eval arithmetic", {"EVAL", arithmetic, "0"}, at = {[1] = 20, [64] = 50}, bar = {[64] = 0.4}},
}
local depths = {1, 16, 64}

-- ------------------------------------------------------------- processes

local function quoted(word) return "'" .. word:gsub("'", "'\\''") .. "'" end

local function output(command)
    local pipe = assert(io.popen(command))
    local text = pipe:read("a")
    pipe:close()
    return text
end

local function content(path)
    local file = io.open(path)
    local text = file and file:read("a") or ""
    if file then file:close() end
    return text
end

-- Nanoseconds of processor time of a process, of all its threads, and of its children.
local function cpu(pid)
    local ns = 0
    for thread in output("ls /proc/" .. pid .. "/task"):gmatch("%d+") do
        local task = "/proc/" .. pid .. "/task/" .. thread
        ns = ns + (tonumber(content(task .. "/schedstat"):match("^%d+")) or 0)
        for child in content(task .. "/children"):gmatch("%d+") do ns = ns + cpu(child) end
    end
    return ns
end

local function words_of(command)
    if type(command) == "table" then return command end
    local words = {}
    for word in command:gmatch("%S+") do words[#words + 1] = word end
    return words
end

local function text_of(command)
    local words = {}
    for i, word in ipairs(words_of(command)) do words[i] = quoted(word) end
    return table.concat(words, " ")
end

local function ask(server, command)
    return output(("redis-cli -p %s %s 2>&1"):format(server.port, text_of(command)))
end

-- ------------------------------------------------------------ measuring

local folder, servers = arg[1], {}
local rounds, share, json, chosen = 5, 1, false, {}

for name, port, pid in arg[2]:gmatch("(%S+):(%d+):(%d+)") do
    servers[#servers + 1] = {name = name, port = port, pid = pid}
end
do
    local i = 3
    while arg[i] do
        if arg[i] == "-r" then
            i, rounds = i + 1, tonumber(arg[i + 1])
        elseif arg[i] == "-s" then
            i, share = i + 1, tonumber(arg[i + 1])
        elseif arg[i] == "--json" then
            json = true
        else
            chosen[#chosen + 1] = arg[i]
        end
        i = i + 1
    end
end

local function pipe(server, write_lines)
    local path = folder .. "/lines"
    local file = assert(io.open(path, "w"))
    write_lines(function(line) file:write(line) end)
    file:close()
    output(("redis-cli -p %s --pipe <%s 2>&1"):format(server.port, path))
    os.remove(path)
end

local function prepare(server, row)
    ask(server, "FLUSHALL")
    if row.before then pipe(server, row.before) end
    if row.group then ask(server, "XGROUP CREATE stream g 0") end
    if row.delivered then ask(server, "XREADGROUP GROUP g c COUNT 100000000 STREAMS stream >") end
    if server.name:find("caret") then ask(server, "SAVE") end -- what it has to write yet is not the row's
end

-- Does the server have the commands of a row?
local function has(server, row)
    local words = words_of(row[2])
    local first = words[1]:lower()
    local info = output(("redis-cli -p %s command info %s"):format(server.port, first))
    if info:match("^%s*$") then return false end
    local answer = ask(server, row[2])
    ask(server, "FLUSHALL")
    return not answer:find("is not there yet", 1, true) and not answer:find("unknown command", 1, true)
end

-- One run: nanoseconds of the server per request, and requests per second.
local function run(server, row, depth)
    local n = math.max(100, math.floor(row.at[depth] * 1000 * share))
    local before = cpu(server.pid)
    local told = output(("redis-benchmark -p %s -c 50 -n %d -P %d -r %d --csv %s 2>&1"):format(
        server.port, n, depth, row.keys or MILLION, text_of(row[2])))
    local ns = (cpu(server.pid) - before) / n
    return ns, tonumber(told:match('\n"[^\n]*","([%d.]+)"[^\n]*\n?$')) or 0
end

local function median(t)
    table.sort(t)
    return #t % 2 == 1 and t[#t // 2 + 1] or (t[#t // 2] + t[#t // 2 + 1]) / 2
end

-- Medians of the servers that have the row's command, in turns.
local function measure(row, depth, able)
    local found = {}
    for _, server in ipairs(able) do found[server.name] = {ns = {}, rate = {}} end
    for round = 1, rounds do
        for i = 1, #able do
            local server = able[(i + round) % #able + 1]
            local f = found[server.name]
            if row.again and round > 1 then prepare(server, row) end
            f.ns[round], f.rate[round] = run(server, row, depth)
        end
    end
    for _, f in pairs(found) do f.ns, f.rate = median(f.ns), median(f.rate) end
    return found
end

-- -------------------------------------------------------------- telling

local function cell(f, redis, bar)
    if not f then return ("%22s"):format("missing") end
    local ratio = f.ns / redis.ns
    local mark = bar and (ratio <= bar and " " or "!") or " "
    return ("%7.0f %5.2f%s %8s"):format(f.ns, ratio, mark, bar and ("<= %.2f"):format(bar) or "")
end

local function tell(row, depth, found)
    local text = ("%-16s %3d %7.0f"):format(row[1], depth, found.redis.ns)
    for _, server in ipairs(servers) do
        local bar = server.name == "caret1" and row.bar[depth] or nil
        if server.name ~= "redis" then text = text .. "  " .. cell(found[server.name], found.redis, bar) end
    end
    print(text)
end

local function tell_json(row, depth, found)
    local parts = {}
    for _, server in ipairs(servers) do
        local f = found[server.name]
        if f then
            parts[#parts + 1] = ('"%s_ns":%.0f,"%s_per_second":%.0f'):format(
                server.name, f.ns, server.name, f.rate)
        end
    end
    if row.bar[depth] then parts[#parts + 1] = ('"bar":%s'):format(row.bar[depth]) end
    print(('{"work":"resp %s","depth":%d,%s}'):format(row[1], depth, table.concat(parts, ",")))
end

local function wanted(row)
    for _, name in ipairs(chosen) do
        if row[1]:sub(1, #name) == name then return true end
    end
    return #chosen == 0
end

if not json then
    local text = ("%-16s %3s %7s"):format("row", "-P", "redis")
    for _, server in ipairs(servers) do
        if server.name ~= "redis" then text = text .. ("  %7s %-14s"):format(server.name, "ratio, bar") end
    end
    print("nanoseconds of the server's processor time per request, medians of " .. rounds .. " rounds")
    print(text)
end
for _, row in ipairs(rows) do
    local able = {}
    for _, server in ipairs(wanted(row) and servers or {}) do
        if has(server, row) then
            able[#able + 1] = server
            prepare(server, row)
        end
    end
    for _, depth in ipairs(depths) do
        if row.at[depth] and wanted(row) then
            local found = measure(row, depth, able)
            if json then tell_json(row, depth, found) else tell(row, depth, found) end
            io.stdout:flush()
        end
    end
    for _, server in ipairs(able) do ask(server, "FLUSHALL") end
end
