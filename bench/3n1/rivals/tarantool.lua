-- Tarantool, with its log and without.

local programs = require "caret.programs"
local rivals = require "3n1.rivals.list"

local BYTES_OF_A_NUMBER = 400 -- memory for tuples and index, for each n up to N; generous

local function file(place)
    return place.write("3n1-tarantool.lua", programs.text("3n1/rivals/programs/tarantool.lua"))
end

local function tarantool(name, wal_mode, title, durability, settings)
    return {
        name = name, title = title, exact = 1 << 53, durability = durability, settings = settings,
        missing = function() return rivals.lacks("tarantool") end,
        version = function() return rivals.ask("tarantool --version"):match("[%d.]+") end,
        server = function(place)
            local memory = math.max(1 << 28, place.n * BYTES_OF_A_NUMBER)
            return {"tarantool", file(place), "server", place.port, wal_mode, memory}
        end,
        ready = function(place) return programs.answers(place.port, "") end, -- it greets
        commands = function(place)
            local list, program = {}, file(place)
            for i = 0, place.w do
                local role = i == 0 and "parent" or "worker"
                list[i + 1] = {"tarantool", program, role, place.port, place.n, place.w}
            end
            return list
        end,
    }
end

return function()
    return {
        tarantool("tarantool", "write", "Tarantool, Lua in the server", "what the system has not written yet",
            "defaults (wal_mode write); a transaction for each sequence"),
        tarantool("tarantool-nolog", "none", "Tarantool, no log", "all: it is not written",
            "wal_mode none; a transaction for each sequence"),
    }
end
