-- caret serve: the Redis-protocol server, which is a program of its own beside this one.

local command = require "tool.lib.command"
local host = require "caret.host"
local programs = require "caret.programs"

-- Options that are handed on, by the names that the server has for them; of the same parameter the last one
-- counts.
local handed = {"config", "port", "bind", "unix", "workers"}

local function run(o)
    local arguments = {programs.folder() .. "/caret-server", o[1]}
    for _, name in ipairs(handed) do
        if o[name] then
            arguments[#arguments + 1] = "--" .. name
            arguments[#arguments + 1] = tostring(o[name])
        end
    end
    for _, word in ipairs(o.others) do arguments[#arguments + 1] = word end
    command.fail(host.replace(arguments))
end

return {
    summary = "serve a database to clients of Redis",
    operands = {"[FILE]"},
    others = true,
    options = {
        {"--port N", "TCP port; 0: none; else 6379", least = 0, most = 65535},
        {"--bind ADDRESSES", "addresses to listen at; else this machine alone"},
        {"--unix PATH", "a unix socket to listen at"},
        {"--workers N", "processes that serve; else 1", least = 1, most = 64},
        {"--config FILE", "redis.conf; what is given here counts more"},
    },
    about = [[
FILE is the database, else $CARET_DB, else ./data.caret. Programs that attach to it see the same data at the
same time. SIGTERM and Ctrl-C stop the server. A worker that dies is replaced; its connections are closed, and
nothing that was answered is lost.

Every other parameter of redis.conf is an option too, and so is --shm-dir: --NAME VALUE. They go to the
program caret-server, which this command runs.]],
    examples = {
        {"caret serve shop.caret --port 6380 --workers 4"},
        {"caret serve shop.caret --maxmemory 1gb --requirepass secret"},
    },
    run = run,
}
