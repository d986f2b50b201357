#!/bin/sh
# bench/cache.sh [--json]: get and set of nginx' lua_shared_dict, with the keys and values of bench/cache.lua: one
# process, no requests, nanoseconds of processor time.  Needs nginx with its module for Lua; else it says so.
# $NGINX_PROGRAM, $NGINX_MODULES, $RESTY: the program, the folder of its modules, the folder of resty/core.lua.
set -eu
nginx=${NGINX_PROGRAM:-nginx}
modules=${NGINX_MODULES:-/usr/lib/nginx/modules}
resty=${RESTY:-/usr/share/lua/5.1}
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
    lua_package_path "$resty/?.lua;$resty/?/init.lua;;";
    lua_shared_dict cache 64m;
    init_by_lua_file $folder/work.lua;
}
CONF

cat >"$folder/work.lua" <<'LUA'
local KEYS, CALLS = 100000, 200000
local cache = ngx.shared.cache
local ordered, random, keys = {}, {}, nil
for i = 1, KEYS do ordered[i] = ("key of a page %07d"):format(i) end
math.randomseed(7)
for i = 1, CALLS do random[i] = ordered[math.random(KEYS)] end
for i = KEYS + 1, CALLS do ordered[i] = ordered[i - KEYS] end
local value = ("v"):rep(20)
local kept
local works = {
    {"lua_shared_dict set", function() for i = 1, CALLS do cache:set(keys[i], value, 60) end end},
    {"lua_shared_dict get", function() for i = 1, CALLS do kept = cache:get(keys[i]) end end},
}
local function measure(order, list)
    keys = list
    for _, work in ipairs(works) do
        local times = {}
        work[2]()
        for i = 1, 7 do
            collectgarbage()
            local start = os.clock()
            work[2]()
            times[i] = (os.clock() - start) / CALLS * 1e9
        end
        table.sort(times)
        io.stdout:write(('{"interpreter":"LuaJIT","work":"%s, %s","ns":%.1f}\n'):format(work[1], order, times[4]))
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
