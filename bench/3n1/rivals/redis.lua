-- Rivals that speak RESP: Redis, or what listens at --resp HOST:PORT (Valkey, KeyDB, Garnet, Dragonfly, ...).

local command = require "tool.lib.command"
local host = require "caret.host"
local machine = require "3n1.rivals.machine"
local programs = require "caret.programs"
local rivals = require "3n1.rivals.list"

-- LuaJIT if it is there, as its client is the quickest.
local function interpreter()
    return programs.find("luajit") and "luajit" or "lua5.1"
end

local function no_client()
    local lua = interpreter()
    local why = rivals.lacks(lua)
    if why then return why end
    if not rivals.ask(lua .. " -e 'require \"redis\" require \"socket\" print(1)'") then
        return "the Lua modules redis and socket are not installed (make rivals)"
    end
    return nil
end

local function commands(mode, at, port)
    return function(place)
        local file = place.write("3n1-redis.lua", programs.text("3n1/rivals/programs/redis.lua"))
        local prefix = ("caret-3n1-%d-%d:"):format(host.getpid(), os.time())
        local list = {}
        for i = 0, place.w do
            list[i + 1] = {interpreter(), file, i == 0 and "parent" or "worker", mode, at, port or place.port,
                prefix, place.n, place.w}
        end
        return list
    end
end

local titles = {client = "Lua client", tuned = "Lua client, fewer calls", script = "script in the server",
    nodes = "script with nodes"}
local forms = {client = "a call for each operation", tuned = "a call for the lengths of a sequence",
    script = "a thousand numbers at a call", nodes = "a thousand numbers at a call"}
local in_server = {script = true, nodes = true}
-- Processes of a server that is given scripts, which it computes: as many as clients, but no more than this.
-- One that is given single operations waits for clients, which need the processors as well: no more than
-- there are of those.
local MOST_WORKERS = 4

local function workers(mode, w)
    local most = in_server[mode] and MOST_WORKERS or math.min(MOST_WORKERS, machine.describe().cores)
    return math.max(1, math.min(w, most))
end

local function redis(name, mode, server_options, settings)
    return {
        name = name, title = "Redis, " .. titles[mode], exact = 1 << 53,
        durability = server_options and "all: it is not written" or "all since the last snapshot",
        settings = settings .. "; " .. forms[mode],
        missing = function() return rivals.lacks("redis-server") or no_client() end,
        version = function() return rivals.ask("redis-server --version"):match("v=([%d.]+)") end,
        server = function(place)
            local list = {"redis-server", "--bind", "127.0.0.1", "--port", place.port, "--dir", place.dir}
            for _, word in ipairs(server_options or {}) do list[#list + 1] = word end
            return list
        end,
        ready = function(place) return programs.answers(place.port, "PING\r\n") end,
        commands = commands(mode, "127.0.0.1"),
    }
end

-- Its own program in C, built into bench/ beside the tool.
local function in_c()
    local program = programs.folder() .. "/bench/3n1_redis"
    local row = redis("redis-c", "client", nil, "defaults")
    row.title, row.exact, row.strict = "Redis, C client", nil, true
    row.missing = function()
        local why = rivals.lacks("redis-server")
        if why or programs.exists(program) then return why end
        return "its program is not built beside this tool (make rivals)"
    end
    row.commands = function(place)
        return {{program, "-n", place.n, "-w", place.w, ("127.0.0.1:%d"):format(place.port)}}
    end
    return row
end

local function own_server() return programs.folder() .. "/caret-server" end

-- The same programs on caret serve.
local function served(name, mode)
    return {
        name = name, title = "caret serve, " .. titles[mode]:gsub("Lua client, ", ""), exact = 1 << 53,
        durability = "what the system has not written yet",
        settings = ("defaults, a worker for each process up to %d%s; %s"):format(MOST_WORKERS,
            in_server[mode] and "" or " and to the processors", forms[mode]),
        missing = function()
            if not programs.exists(own_server()) then return "caret-server is not beside this tool" end
            return no_client()
        end,
        version = function() return rivals.ask(("'%s' --version"):format(own_server())):match("[%d.]+") end,
        server = function(place)
            return {own_server(), place.dir .. "/3n1.caret", "--port", place.port, "--workers",
                workers(mode, place.w)}
        end,
        ready = function(place) return programs.answers(place.port, "PING\r\n") end,
        commands = commands(mode, "127.0.0.1"),
        cleanup = rivals.sweep,
    }
end

local function elsewhere(mode, address)
    local at, port = address:match("^([%w.:-]+):(%d+)$")
    local possible = at and tonumber(port) >= 1 and tonumber(port) <= 65535
    if not possible and address ~= "HOST:PORT" then
        command.usage(("--resp needs HOST:PORT, not '%s'"):format(address))
    end
    return {
        name = mode == "client" and "resp" or "resp-" .. mode, title = address .. ", " .. titles[mode],
        exact = 1 << 53, durability = "as it is set up", settings = "as it runs; " .. forms[mode],
        missing = no_client,
        commands = commands(mode, at, port),
    }
end

return function(o)
    local list = {
        in_c(),
        redis("redis", "client", nil, "defaults"),
        redis("redis-tuned", "tuned", {"--save", ""}, "no snapshots"),
        redis("redis-script", "script", nil, "defaults"),
        served("serve", "client"),
        served("serve-tuned", "tuned"),
        served("serve-script", "script"),
        served("caret-script", "nodes"),
    }
    if o.resp then
        for _, mode in ipairs {"client", "tuned", "script"} do list[#list + 1] = elsewhere(mode, o.resp) end
    end
    if o.program then
        list[#list + 1] = {
            name = "program", title = o.program, durability = "unknown", settings = "as given", here = true,
            commands = function(place)
                return {{"sh", "-c", o.program .. ' "$@"', "sh", "-n", place.n, "-w", place.w}}
            end,
        }
    end
    return list
end
