#!/bin/sh
# bench/cache.sh [--json]: get and set of nginx' lua_shared_dict and, in the same process, of caret.cache, with the keys
# and values of bench/cache.lua; then both below a cache of each worker's own, as lua-resty-mlcache keeps one, and
# lua-resty-mlcache itself.  One process, no requests, nanoseconds of processor time, medians of 7 in turns.  Needs nginx
# with its module for Lua; what is not there is said.
#
# $NGINX_PROGRAM, $NGINX_MODULES, $RESTY: the program, the folder of its modules, the folder of resty/core.lua and the
# other Lua files.  (On Debian the package of the module replaces luajit: unpack it with dpkg -x, and libluajit2-5.1-2,
# to which LD_LIBRARY_PATH is to lead, to have both.)  $CARET_BUILD: build.
set -eu
nginx=${NGINX_PROGRAM:-nginx}
modules=${NGINX_MODULES:-/usr/lib/nginx/modules}
resty=${RESTY:-/usr/share/lua/5.1}
lua=$(cd "${CARET_BUILD:-$(dirname "$0")/../build}" && pwd)/lua/5.1
if ! command -v "$nginx" >/dev/null || [ ! -f "$modules/ngx_http_lua_module.so" ]; then
    echo "nginx with its module for Lua is not installed: lua_shared_dict is not measured" >&2
    exit 0
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/logs"

cat >"$folder/nginx.conf" <<CONF
load_module $modules/ndk_http_module.so;
load_module $modules/ngx_http_lua_module.so;
daemon off;
master_process off;
pid $folder/pid;
error_log stderr error;
events {}
http {
    access_log off;
    lua_package_path "$resty/?.lua;$resty/?/init.lua;$lua/?.lua;$lua/?/init.lua;;";
    lua_package_cpath "$lua/?.so;;";
    lua_shared_dict cache 64m;
    lua_shared_dict mlcache 64m;
    lua_shared_dict mlcache_calls 4m;
    init_by_lua_file $folder/work.lua;
}
CONF

cat >"$folder/work.lua" <<'LUA'
local KEYS, CALLS, OWN = 100000, 200000, 1000
local folder = assert(debug.getinfo(1, "S").source:match "^@(.*)/")
local dict = ngx.shared.cache
local ordered, random, keys = {}, {}, nil
for i = 1, KEYS do ordered[i] = ("key of a page %07d"):format(i) end
math.randomseed(7)
for i = 1, CALLS do random[i] = ordered[math.random(KEYS)] end
for i = KEYS + 1, CALLS do ordered[i] = ordered[i - KEYS] end
local value = ("v"):rep(20)
local kept
local works = {}

local function add(name, work) works[#works + 1] = {name = name, work = work, times = {}} end

local function missing(module, what)
    io.stderr:write(module, " is not installed: ", what, " not measured\n")
end

-- A function for each: LuaJIT compiles it for what it met first.
local function add_cache(name, cache)
    local with = assert(loadstring [[
        local cache, calls, keys, value = ...
        return function() for i = 1, calls do cache:set(keys()[i], value, 60) end end,
            function() local kept for i = 1, calls do kept = cache:get(keys()[i]) end return kept end]])
    local set, get = with(cache, CALLS, function() return keys end, value)
    add(name .. " set", set)
    add(name .. " get", get)
end

-- A small table of each worker's own above it, filled by what is not in it.
local function add_levels(name, lru, cache)
    local with = assert(loadstring [[
        local lru, cache, calls, keys = ...
        return function()
            local kept
            for i = 1, calls do
                local key = keys()[i]
                kept = lru:get(key)
                if kept == nil then
                    kept = cache:get(key)
                    lru:set(key, kept, 60)
                end
            end
            return kept
        end]])
    add(name, with(lru, cache, CALLS, function() return keys end))
end

add_cache("lua_shared_dict", dict)
local has_caret, caret = pcall(require, "caret")
local cache
if has_caret then
    local db = assert(caret.open(folder .. "/bench.caret", {sync = "off"}))
    cache = require "caret.cache".new(db, "^cache")
    add_cache("caret.cache", cache)
else
    missing("caret's module for LuaJIT", "caret.cache in nginx is")
end
local has_lru, lru = pcall(require, "resty.lrucache")
if has_lru then
    add_levels("get, lrucache of all keys", lru.new(KEYS), dict)
    add_levels("get, lrucache of 1,000 above lua_shared_dict", lru.new(OWN), dict)
    if cache then add_levels("get, lrucache of 1,000 above caret.cache", lru.new(OWN), cache) end
else
    missing("lua-resty-lrucache", "a cache of the worker's own above is")
end
local has_ml, mlcache = pcall(require, "resty.mlcache")
if has_ml then
    for _, size in ipairs {KEYS, OWN} do
        local c = assert(mlcache.new("c" .. size, "mlcache", {lru_size = size, ttl = 60, ipc_shm = "mlcache_calls"}))
        local function load() return value end
        for i = 1, KEYS do assert(c:set(ordered[i], nil, value)) end
        local what = size == KEYS and "all keys" or "1,000"
        add("lua-resty-mlcache get, lrucache of " .. what, function()
            for i = 1, CALLS do kept = c:get(keys[i], nil, load) end
        end)
        add("lua-resty-mlcache set, lrucache of " .. what, function()
            for i = 1, CALLS do c:set(keys[i], nil, value) end
        end)
    end
else
    missing("lua-resty-mlcache", "it is")
end

local function measure(order, list)
    keys = list
    for _, work in ipairs(works) do work.work() end
    for i = 1, 7 do
        for _, work in ipairs(works) do
            collectgarbage()
            local start = os.clock()
            kept = work.work()
            work.times[i] = (os.clock() - start) / CALLS * 1e9
        end
    end
    for _, work in ipairs(works) do
        table.sort(work.times)
        io.stdout:write(('{"interpreter":"LuaJIT","work":"nginx: %s, %s","ns":%.1f}\n'):format(
            work.name, order, work.times[4]))
    end
end
measure("in order", ordered)
measure("random", random)
io.stdout:flush()
os.exit(0)
LUA

if [ "${1:-}" = --json ]; then
    "$nginx" -p "$folder" -c "$folder/nginx.conf"
else
    "$nginx" -p "$folder" -c "$folder/nginx.conf" | sed 's/.*"work":"\([^"]*\)","ns":\([^}]*\)}/\1: \2 ns/'
fi
