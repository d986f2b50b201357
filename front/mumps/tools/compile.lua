-- `caret m -compile FILE...`: all that is wrong with M sources, with line and column, on stderr.
--
-- The exit status is 0 when all compile (a warning is not an error), 1 when one does not, 2 when a file can't
-- be read.

local routine = require "mumps.runtime.routine"
local parse = require "mumps.compiler.parse"

local compile = {}

local function read(path)
    local file, why = io.open(path, "rb")
    if not file then return nil, why end
    local text
    text, why = file:read "*a"
    file:close()
    return text, why and path .. ": " .. why
end

compile.read = read

local function is_error(list)
    for _, e in ipairs(list) do
        if not e.warning then return true end
    end
    return false
end

-- One file: 0, 1 or 2.
function compile.file(path, out)
    local text, why = read(path)
    if not text then
        out:write(why, "\n")
        return 2
    end
    local name = path:match("([^/]*)$"):gsub("%.m$", ""):gsub("^_", "%%")
    local ast = parse.routine(text, name)
    routine.listing(out, ast.errors, { source = text, name = name }, path)
    return is_error(ast.errors) and 1 or 0
end

function compile.main(...)
    if not ... then
        io.stderr:write("usage: caret m -compile FILE.m...\n")
        return 2
    end
    local worst = 0
    for _, path in ipairs { ... } do
        worst = math.max(worst, compile.file(path, io.stderr))
    end
    return worst
end

return compile
