-- codec_compare.lua SOCKET [FACTOR [NAME]]: what front/server/codec and front/server/script compute,
-- beside a redis-server on that
-- unix socket.  Random cases, the same each time; FACTOR makes more of them, NAME is how the names begin of
-- those that are wanted.  test/run/server_codec.sh runs it.

local codec = require("codec")
local folder = arg[0]:match("^(.*)/") or "."
local redis = require("redis").connect("unix://" .. arg[1])
local factor, wanted = tonumber(arg[2] or "1"), arg[3] or ""
local passed, failed = 0, 0

math.randomseed(tonumber(os.getenv("CARET_SEED") or "16"))
local random = math.random

local function pick(list)
    return list[random(#list)]
end

-- What is around the first difference.
local function show(v, other)
    local ours, theirs, from = tostring(v), tostring(other), 1
    while from <= #ours and ours:byte(from) == theirs:byte(from) do
        from = from + 1
    end
    v = #ours > 400 and "... " .. ours:sub(math.max(from - 100, 1), from + 300) or ours
    return (v:gsub("[^%w%p ]", function(c) return string.format("\\%03d", c:byte()) end))
end

-- One property, as often as `times` says: the function returns ours, theirs and what was asked.
local function compare(name, times, f)
    local wrong = 0
    if name:sub(1, #wanted) ~= wanted then
        return
    end
    for _ = 1, times * factor do
        local ours, theirs, what = f()
        if ours ~= theirs then
            wrong = wrong + 1
            if wrong <= 3 then
                print(name .. ": " .. show(what, what) .. "\n  ours   " .. show(ours, theirs) ..
                    "\n  theirs " .. show(theirs, ours))
            end
        end
    end
    if wrong == 0 then
        passed = passed + 1
    else
        failed = failed + 1
        print(name .. ": " .. wrong .. " differences")
    end
end

redis:flushall()
function redis.command(name, ...) -- any command, errors as nil and a text
    return pcall(redis[name], redis, ...)
end
local R = require("redis")
for _, name in ipairs({"pfadd", "pfcount", "pfmerge", "geoadd", "geohash", "geopos", "geodist",
    "geosearch", "lcs", "bitfield",
    "incrbyfloat", "xadd", "pfdebug", "config", "dump", "bitcount", "bitpos", "bitop"}) do
    if not redis[name] then
        redis[name] = R.command(name)
    end
end

-- ---------------------------------------------------------------- patterns

local letters = {"a", "b", "c", "A", "B", "-", "]", "[", "^", "\\", "*", "?", "z", "\0"}
local function word(list, most)
    local out = {}
    for i = 1, random(0, most) do
        out[i] = pick(list)
    end
    return table.concat(out)
end

local texts = {}
for i = 1, 150 do
    texts[i] = word({"a", "b", "c", "A", "-", "]", "\\", "z", "^"}, 6)
    redis:set("k" .. texts[i], "")
end
compare("glob", 1500, function()
    local pattern = "k" .. word(letters, 9)
    local theirs, ours = redis:keys(pattern), {}
    for _, text in ipairs(texts) do
        if codec.glob(pattern, "k" .. text) then
            ours["k" .. text] = true
        end
    end
    local list = {}
    for text in pairs(ours) do
        list[#list + 1] = text
    end
    table.sort(list)
    table.sort(theirs)
    return table.concat(list, " "), table.concat(theirs, " "), pattern
end)

-- ---------------------------------------------------------------- numbers

local digits = {"0", "1", "9", "5", "7", "0", "3"}
local function number_text()
    local text = pick({"", "", "", "-", "+", " ", "0x", "--"}) .. word(digits, pick({1, 3, 17, 22})) ..
        pick({"", "", ".", "." .. word(digits, 20), "e" .. random(-330, 330), "e-" .. random(30), " ",
            "x", "\0"})
    return pick({text, text, text, text, pick({"inf", "-inf", "+inf", "nan", "-nan", "infinity", "1e400",
        "4.9e-324", "1e-400",
        "9223372036854775807", "9223372036854775808", "-9223372036854775808", "18446744073709551615",
            "18446744073709551616",
        "-0", "-0.0", "0x1p-1074", "0x1.8p3"})})
end

compare("integers", 2000, function()
    local text = number_text()
    redis:set("n", text)
    local ok, theirs = redis.command("incrby", "n", 0)
    return codec.integer(text), ok and string.format("%d", theirs) ~= nil and redis:get("n") or nil, text
end)

redis:config("set", "zset-max-listpack-entries", 0) -- a listpack stores -0 as 0
compare("scores", 3000, function()
    local text = number_text()
    redis:del("z")
    local ok = redis.command("zadd", "z", text, "m")
    return codec.score(text), ok and redis:zscore("z", "m") or nil, text
end)

compare("sums", 3000, function()
    local text = number_text()
    redis:set("f", "0")
    local ok, problem = redis.command("incrbyfloat", "f", text)
    if not ok and tostring(problem):find("NaN or Infinity") then
        return "", "", text
    end
    return codec.sum(text), ok and redis:get("f") or nil, text
end)

compare("ids", 1500, function()
    local text = pick({"0", "1", "007", "+5", " 5", "-1", "", "18446744073709551615",
        "18446744073709551616", "1x",
        tostring(random(1000)), word(digits, 22)})
    if text:find("-", 1, true) or text:find("^0*$") or text == "" then
        return "", "", text
    end
    redis:del("x")
    local ok, theirs = redis.command("xadd", "x", text .. "-1", "a", "b")
    local ours = codec.id(text)
    return ours and ours .. "-1", ok and theirs or nil, text
end)

-- ---------------------------------------------------------------- HyperLogLog

compare("hyperloglog", 60, function()
    local max = pick({0, 100, 3000, 3000, 12000, 15999})
    local ours, count
    redis:config("set", "hll-sparse-max-bytes", max)
    redis:del("h")
    redis:pfadd("h")
    ours = codec.pfadd(nil, max)
    for _ = 1, 15 do
        local elements, space = {}, pick({10, 1000, 1000000})
        for i = 1, pick({1, 5, 100, 400}) do
            elements[i] = tostring(random(space)) .. word(letters, random(0, 20))
        end
        redis:pfadd("h", unpack(elements))
        ours = codec.pfadd(ours, max, unpack(elements))
        if random(3) == 1 then
            local theirs = redis:pfcount("h")
            count, ours = codec.pfcount(ours)
            if theirs ~= count then
                return count, theirs, "PFCOUNT"
            end
        end
        if ours ~= redis:get("h") then
            break
        end
    end
    return ours, redis:get("h"), "PFADD, hll-sparse-max-bytes " .. max
end)
redis:config("set", "hll-sparse-max-bytes", 3000)

compare("hyperloglog, many keys", 40, function()
    local names, values = {}, {}
    for i = 1, random(4) do
        names[i] = "h" .. i
        redis:del(names[i])
        for _ = 1, random(3) do
            local elements = {}
            for j = 1, pick({1, 10, 800}) do
                elements[j] = tostring(random(5000))
            end
            redis:pfadd(names[i], unpack(elements))
        end
        values[i] = redis:get(names[i])
    end
    local theirs, ours = redis:pfcount(unpack(names)), codec.pfcount(unpack(values))
    if theirs ~= ours then
        return ours, theirs, "PFCOUNT"
    end
    values[1] = redis:get(names[1]) -- with its estimate
    redis:pfmerge(unpack(names))
    return codec.pfmerge(unpack(values)), redis:get(names[1]), "PFMERGE"
end)

-- ---------------------------------------------------------------- positions

local function between(min, max)
    return min + (max - min) * random()
end

compare("positions", 1500, function()
    local lon, lat = between(-180, 180), between(-85.05112878, 85.05112878)
    if random(20) == 1 then
        lon, lat = pick({-180, 180, 0, 179.99999999}), pick({-85.05112878, 85.05112878, 0})
    end
    local lon_text, lat_text = string.format("%.17g", lon), string.format("%.17g", lat)
    redis:del("g")
    redis:geoadd("g", lon_text, lat_text, "m")
    local place = redis:geopos("g", "m")[1]
    local score, text, x, y = codec.geo(lon, lat)
    return table.concat({score, text, x, y}, " "),
        table.concat({redis:zscore("g", "m"), redis:geohash("g", "m")[1], place[1], place[2]}, " "),
            lon_text .. " " .. lat_text
end)

compare("distances", 1500, function()
    local scale = pick({0.0001, 0.01, 1, 40})
    local lon, lat = between(-170, 170), between(-80, 80)
    local lon2, lat2 = math.max(-180, math.min(180, lon + between(-scale, scale))),
        math.max(-85, math.min(85, lat + between(-scale, scale)))
    if random(5) == 1 then
        lon2 = lon
    end
    redis:del("g")
    redis:geoadd("g", string.format("%.17g", lon), string.format("%.17g", lat), "a",
        string.format("%.17g", lon2),
        string.format("%.17g", lat2), "b")
    local _, _, _, _, x1, y1 = codec.geo(lon, lat)
    local _, _, _, _, x2, y2 = codec.geo(lon2, lat2)
    return string.format("%.4f", codec.distance(x1, y1, x2, y2)), redis:geodist("g", "a", "b"), lon ..
        " " .. lat
end)

local members = {}
redis:del("g")
for i = 1, 800 do
    local spread = pick({180, 5, 0.1})
    local lon, lat = between(-spread, spread), between(-math.min(spread, 85), math.min(spread, 85))
    redis:geoadd("g", string.format("%.17g", lon), string.format("%.17g", lat), tostring(i))
    local score, _, _, _, x, y = codec.geo(lon, lat)
    members[i] = {name = tostring(i), score = tonumber(score), lon = x, lat = y}
end
table.sort(members, function(a, b)
    if a.score == b.score then
        return a.name < b.name
    end
    return a.score < b.score
end)

compare("searches and their order", 1500, function()
    local spread, largest = pick({180, 5, 0.1}), pick({1e2, 1e4, 1e6, 1e7, 3e7})
    local lon, lat = between(-spread, spread), between(-math.min(spread, 85), math.min(spread, 85))
    local box, radius, width, height = random(2) == 1, between(0, largest), between(0, largest),
        between(0, largest)
    local function text(v) return string.format("%.17g", v) end
    local theirs = box and redis:geosearch("g", "fromlonlat", text(lon), text(lat), "bybox", text(width),
        text(height), "m") or
        redis:geosearch("g", "fromlonlat", text(lon), text(lat), "byradius", text(radius), "m")
    local found, ranges = {}, codec.ranges(lon, lat, box, radius, width, height)
    for i = 1, #ranges, 2 do
        for _, member in ipairs(members) do
            if member.score >= ranges[i] and member.score < ranges[i + 1] and
                codec.within(lon, lat, box, radius, width, height, member.lon, member.lat) then
                found[#found + 1] = member.name
            end
        end
    end
    return table.concat(found, " "), table.concat(theirs, " "),
        string.format("%.17g %.17g %s %g %g %g", lon, lat, tostring(box), radius, width, height)
end)

-- ---------------------------------------------------------------- strings and bits

compare("lcs", 600, function()
    local list = pick({{"a", "b"}, {"a", "b", "c", "d"}, letters})
    local a, b = word(list, 80), word(list, 80)
    redis:mset("a", a, "b", b)
    local length, pieces = codec.lcs(a, b)
    local answer, theirs = redis:lcs("a", "b", "idx"), {}
    for _, match in ipairs(answer[2]) do
        for _, range in ipairs(match) do
            theirs[#theirs + 1] = table.concat(range, "-")
        end
    end
    local ours = {}
    for i = 1, #pieces, 2 do
        ours[#ours + 1] = pieces[i] .. "-" .. pieces[i + 1]
    end
    return length .. ": " .. table.concat(ours, " "), answer[4] .. ": " .. table.concat(theirs, " "),
        a .. " " .. b
end)

local ends = {"0", "1", "-1", "127", "128", "-128", "-129", "255", "256", "9223372036854775807",
    "-9223372036854775808",
    "4611686018427387904", "-4611686018427387905", "100", "-200"}
local function integer_text()
    return random(2) == 1 and pick(ends) or tostring(random(-300, 300))
end

-- As text: the client makes doubles of integers.
local bitfield = [[
    local r = redis.call('BITFIELD', KEYS[1], 'OVERFLOW', ARGV[3], unpack(ARGV, 4))
    local stored = redis.call('BITFIELD', KEYS[1], 'GET', ARGV[1], ARGV[2])
    return {r[#r] and redis.call('GET', KEYS[1]) or 'nil'}]]
compare("bit fields", 3000, function()
    local kind, mode = pick({"i", "u"}) .. random(63), pick({"WRAP", "SAT", "FAIL"})
    if random(10) == 1 then
        kind = "i64"
    end
    local start, increment = integer_text(), integer_text()
    redis:del("b")
    redis:bitfield("b", "set", kind, 0, start)
    local before = redis:get("b")
    local ours = codec.field(kind, start, "0", "WRAP") -- what the field has then
    local added = redis:eval(bitfield, 1, "b", kind, "0", mode, "incrby", kind, "0", increment)[1]
    local sum = codec.field(kind, ours, increment, mode)
    local expected = "nil"
    if sum then
        redis:del("c")
        redis:bitfield("c", "set", kind, 0, sum)
        expected = redis:get("c")
    end
    local set = redis:eval(bitfield, 1, "b", kind, "0", mode, "set", kind, "0", start)[1]
    local set_to = codec.field(kind, start, "0", mode)
    if set_to then
        redis:del("c")
        redis:bitfield("c", "set", kind, 0, set_to)
        set_to = redis:get("c")
    end
    return expected .. "/" .. (set_to or "nil"), added .. "/" .. set, kind .. " " .. start .. " " ..
        increment .. " " .. mode ..
        " of " .. before
end)

compare("checksums", 200, function()
    local text = word(letters, 200)
    redis:set("d", text)
    local dump = redis:dump("d")
    return codec.crc64(dump:sub(1, -9)) .. codec.sha1hex(text), dump:sub(-8) ..
        redis:eval("return redis.sha1hex(ARGV[1])", 0, text),
        text
end)

-- ---------------------------------------------------------------- modules of scripts

local file = assert(io.open(folder .. "/codec_scripts.lua"))
local source = file:read("*a")
file:close()

for _, part in ipairs({"cjson", "cmsgpack", "struct", "bit"}) do
    local seed = random(1000000)
    compare("scripts: " .. part, 20, function()
        local here = assert(loadstring(source, "@user_script"))
        seed = seed + 7919
        local env = {ARGV = {part, tostring(seed), "200"}, bit = codec.bit, struct = codec.struct,
            cjson = codec.cjson,
            cmsgpack = codec.cmsgpack}
        setfenv(here, setmetatable(env, {__index = _G}))
        local theirs, ours = redis:eval(source, 0, part, tostring(seed), "200"), here()
        for i = 1, #theirs do
            if theirs[i] ~= ours[i] then
                return ours[i], theirs[i], "call " .. i .. " of seed " .. seed
            end
        end
        return "", "", ""
    end)
end

print(passed .. " passed, " .. failed .. " failed")
os.exit(failed == 0 and 0 or 1)
