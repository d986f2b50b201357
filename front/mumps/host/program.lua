-- What the words of caret-m's command line do.

local program = {}

-- A part that is not there yet, or can't be loaded, says so.
local function part(name, method, ...)
    return require(name)[method](...)
end

function program.run(entry, ...)
    return part("mumps.runtime.start", "run", entry, ...)
end

function program.job()
    return part("mumps.runtime.start", "job")
end

function program.direct()
    return part("mumps.tools.direct", "main")
end

function program.compile(...)
    return part("mumps.tools.compile", "main", ...)
end

function program.format(...)
    return part("mumps.tools.format", "main", ...)
end

function program.cover(...)
    return part("mumps.tools.cover", "main", ...)
end

function program.trace(...)
    return part("mumps.tools.cover", "trace", ...)
end

function program.version()
    io.write("caret-m 0.1.0, ", jit.version, "\n")
    return 0
end

-- For those who work on this front: a Lua file with all modules.
function program.lua(file, ...)
    local f, why = loadfile(file)
    if not f then
        io.stderr:write("caret m: ", why, "\n")
        return 2
    end
    arg = {[0] = file, ...} -- luacheck: ignore 121
    return tonumber((f(...))) or 0
end

return program
