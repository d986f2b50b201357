-- Caret on PostgreSQL: the same program as "Caret, C", by an address.  The server is on this machine, on a
-- unix socket, and does not wait for the disk, as Redis does not.

local caret_version = require("caret")._VERSION
local programs = require "caret.programs"
local rivals = require "3n1.rivals.list"

-- The folder of its programs: Debian has one for each version, and none of them in the path.
local function folder()
    return rivals.ask("ls -d /usr/lib/postgresql/*/bin /usr/pgsql-*/bin | sort -t/ -k5 -rV | head -n 1") or
        rivals.ask("dirname $(readlink -f $(command -v initdb))")
end

-- PostgreSQL refuses to be root: then it is the user nobody, whose folder is below the place's.
local START = [[
set -e
umask 022
mkdir "$1/pg"
as=
if [ "$(id -u)" = 0 ]; then
    as="setpriv --reuid=nobody --regid=$(id -g nobody) --clear-groups"
    chown nobody "$1/pg"
    chmod 755 "$1"
fi
cd "$1/pg"
$as "$2/initdb" -D "$1/pg/data" -U caret -A trust -N -E UTF8 --locale=C >/dev/null
exec $as "$2/postgres" -D "$1/pg/data" -k "$1/pg" -c listen_addresses= -c synchronous_commit=off \
    -c max_connections=600 -c shared_buffers=256MB -c dynamic_shared_memory_type=mmap
]]

local function address(place)
    return ("postgresql://caret@%s/postgres"):format((place.dir .. "/pg"):gsub("/", "%%2F"))
end

-- A server that is killed leaves 56 bytes of System V's shared memory, whose number it has written down.
local function sweep(place)
    rivals.ask(("ipcrm -m $(sed -n '7s/^ *[0-9]* *//p' '%s/pg/data/postmaster.pid')"):format(place.dir))
end

local function row(name, title, settings, ...)
    local program = programs.folder() .. "/bench/3n1_caret"
    local options = {...}
    return {
        name = name, title = title, settings = settings, strict = true,
        durability = "up to a second of commits",
        missing = function()
            if not folder() then return "PostgreSQL is not installed (make deps)" end
            if programs.exists(program) then return nil end
            return "its program is not built beside this tool (make rivals)"
        end,
        version = function()
            local server = rivals.ask(folder() .. "/postgres --version"):match("[%d.]+")
            return ("%s on %s"):format(caret_version, server)
        end,
        server = function(place) return {"sh", "-c", START, "sh", place.dir, folder()} end,
        -- asked many times while initdb works: so a file is looked for before a program runs
        ready = function(place)
            if not programs.exists(place.dir .. "/pg/.s.PGSQL.5432") then return false end
            local question = "%s/pg_isready -q -h '%s/pg' && echo yes"
            return rivals.ask(question:format(folder(), place.dir)) == "yes"
        end,
        commands = function(place)
            local list = {program, "-n", place.n, "-w", place.w, address(place)}
            return {table.move(options, 1, #options, 7, list)}
        end,
        cleanup = sweep,
    }
end

return function()
    return {
        row("postgres", "Caret on PostgreSQL, C", "synchronous_commit=off; a call for each read"),
        row("postgres-txn", "Caret on PostgreSQL, C, transactions",
            "synchronous_commit=off; a transaction for each sequence", "--tuned"),
    }
end
