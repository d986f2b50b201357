-- Functions: libraries whose texts are put together from the statements of script_texts.lua. While a library
-- is loaded it sees nothing but `redis` in Redis 7.0, and what every script sees here: so none looks for
-- more.
local script = require "script_texts"
local resp, check = require "resp", require "check"

-- What one of them dumped; now and then damaged.
local sides
local function payload()
    sides = sides or {check.connect(), assert(resp.connect(os.getenv("REDIS_SOCKET")))}
    local bytes = sides[math.random(2)]("FUNCTION", "DUMP")
    if math.random(12) == 1 then
        local at = math.random(#bytes)
        bytes = bytes:sub(1, at - 1) .. string.char(math.random(0, 255)) .. bytes:sub(at + 1)
    end
    return bytes
end

local function any(list) return list[math.random(#list)] end

local names = {"f", "g", "h", "no such", ""}
local libraries = {"one", "two", "o-o", ""}
local flags = {"'no-writes'", "'no-writes'", "'allow-oom'", "'allow-stale', 'no-cluster'", "'nope'", "5",
    "'allow-cross-slot-keys'"}

-- The body of a function: a script without its first line, whose tables are the function's parameters.
local function body()
    return (script():gsub("^#![^\n]*\n", ""))
end

local function registration(upper)
    local n, name = math.random(10), any(names)
    if upper then name = name:upper() end
    local simple = "redis.register_function('%s', function(KEYS, ARGV) %s end)\n"
    if n <= 4 then return simple:format(name, body()) end
    if n <= 7 then
        return ("redis.register_function{function_name = '%s', callback = function(KEYS, ARGV) %s end, " ..
            "flags = {%s}, description = 'what %s does'}\n"):format(name, body(), any(flags), name)
    end
    return any({
        "redis.register_function('f')\n", "redis.register_function('f', 5)\n", "redis.register_function{}\n",
        "redis.register_function(5, function() end)\n", "redis.register_function()\n",
        "redis.register_function{function_name = 'f'}\n", "local n = 0\n", "x = 1\n",
        "redis.call('get', 'x')\n",
        "redis.register_function{function_name = 'f', callback = function() end, flags = 'no-writes'}\n",
        "redis.register_function{function_name = 'f', callback = function() end, more = 1}\n",
        "redis.register_function('up', function() return redis.register_function end)\n",
        "redis.setresp(3)\n", "redis.log(redis.LOG_WARNING, 'x')\n", "return 5\n", "KEYS = 1\n", "return 1 +",
    })
end

local function library()
    local first = any({"#!lua name=%s\n", "#!lua name=%s\n", "#!lua name=%s\n", "#!lua name=%s\n",
        "#!lua  name=%s more=1\n", "#!lua\n", "#!x name=%s\n", "", "#!lua name=%s name=b\n"})
    local t = {(first:gsub("%%s", any(libraries)))}
    local upper = math.random(4) == 1 -- f and F of one library: which is called is by chance
    for _ = 1, math.random(0, 3) do t[#t + 1] = registration(upper) end
    return table.concat(t)
end

-- Without names of Lua and libc in messages, which are not promises, and without the end of long ones.
local function plain(bytes)
    bytes = bytes:gsub("(%-ERR Error compiling)[^\r]*", "%1"):gsub("(%-ERR Unknown argument) +\r", "%1 \r")
    return (bytes:gsub("%-ERR Unknown option given[^\r]*", function(line) return line:sub(1, 400) end))
end

-- In an order of its own each: maps of libraries, and functions in them.
local function sorted(bytes)
    local lines = {}
    for line in bytes:gmatch("[^\n]*\n?") do lines[#lines + 1] = line end
    table.sort(lines)
    return table.concat(lines)
end

return {
    makers = {
        library = library,
        name = function() return math.random(4) == 1 and any(names):upper() or any(names) end,
        of = function() return any(libraries) end,
        payload = payload,
    },
    "function load library", "function load library", "function load replace library",
    "function load REPLACE library", "function load nope library",
    "fcall name 1 key value value", "fcall name 1 key value", "fcall name 0", "fcall name 2 key key value",
    "fcall name count key value", "fcall_ro name 1 key value", "fcall_ro name 0", "fcall name 1 key value",
    "function restore payload", "function restore payload {append|replace|flush|nope}",
    "function restore payload {REPLACE|FLUSH}", "function restore {payload|value|} [replace] [flush]",
    "function delete of", "function list", "function list withcode", "function list libraryname of",
    "function list libraryname * withcode", "function list nope", "function flush",
    "function flush [sync|async|nope]", "function nope", "set key value", "set key 5", "get key", "del key",
    "multi", "exec", "exec",
    probes = {"EXEC", "GET KEY", "FUNCTION LIST WITHCODE"},
    before = function(c) c("FUNCTION", "FLUSH") end,
    alike = function(words, a, b)
        if plain(a) == plain(b) then return true end
        local what = (words[2] or ""):lower()
        local there = "^%-ERR Library %w+ already exists" -- of two, the one that was met first
        if what == "restore" and plain(a):find(there) and plain(b):find(there) then return true end
        local lists = what == "list" or words[1]:upper() == "EXEC"
        return lists and sorted(plain(a)) == sorted(plain(b))
    end,
}
