-- How long a GET takes while another client of the same server runs a script of so many seconds:
--
--     sh test/server/run.sh WORKERS delay.lua [--beside-redis] [SECONDS]
--
-- One client asks for one key again and again, by a socket of its own; told are times from request to
-- answer. There is a script of arithmetic alone, one of redis.call, and none at all, for what the machine
-- does by itself. Beside redis-server the same there: after busy-reply-threshold, 5 s, it refuses what
-- others ask.
local check = require "check"
local resp = require "resp"
local ffi = require "ffi"
ffi.cdef "struct delay_time { long s, ns; }; int clock_gettime(int, struct delay_time *);"

local seconds = tonumber(arg[1]) or 10
local time = ffi.new("struct delay_time[1]")

local function now()
    ffi.C.clock_gettime(1, time)
    return tonumber(time[0].s) + tonumber(time[0].ns) / 1e9
end

local loop = [[
    local function now() local t = redis.call('time') return t[1] + t[2] / 1e6 end
    local n, last = 0, now() + ARGV[1]
    repeat %s until now() > last
    return n]]
local scripts = {
    {"no script"},
    {"arithmetic", loop:format("for i = 1, 1e6 do n = (n * 31 + i) % 1000003 end")},
    {"redis.call", loop:format("n = n + 1 redis.call('set', 'x', n) redis.call('get', 'y' .. n % 100)")},
}

local function measure(path, script)
    local c, other = assert(resp.connect(path)), assert(resp.connect(path))
    local times, refused, last = {}, 0, now() + seconds
    c("SET", "k", "v")
    if script then other:send(resp.encode("EVAL", script, "0", tostring(seconds))) end
    while now() < last do
        local start = now()
        local answer = c("GET", "k")
        times[#times + 1] = now() - start
        refused = refused + (answer == "v" and 0 or 1)
    end
    if script then assert(type(other:read()) == "number") end
    c:close()
    other:close()
    table.sort(times)
    return times, refused
end

local function tell(name, script, times, refused)
    local function share(part) return 1000 * times[math.max(1, math.floor(#times * part))] end
    local format = "%-12s %-10s %8d GETs, %d refused: ms: median %.3f, 99 %% %.3f, 99.9 %% %.3f, longest %.3f"
    print(format:format(name, script, #times, refused, share(0.5), share(0.99), share(0.999), share(1)))
end

for _, script in ipairs(scripts) do
    tell("caret-server", script[1], measure(check.path, script[2]))
    local redis = os.getenv("REDIS_SOCKET")
    if redis and io.open(os.getenv("SERVE_FOLDER") .. "/redis.log") then
        tell("redis-server", script[1], measure(redis, script[2]))
    end
end
