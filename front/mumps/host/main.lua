-- caret-m's command line.  Exit status: that of the M program, 1 when it ended by an error, 2 usage.

local host = require "mumps.host.program"

local main = {}

local USAGE = [[
usage: caret m                              a prompt (direct mode)
       caret m -run [LABEL^]ROUTINE [ARGUMENTS]
       caret m -compile FILE.m...           all errors, with line and column
       caret m -format [-short] [-write] FILE.m...     one form, on standard output or over the file
       caret m -cover|-trace -run ...       which lines ran; each line as it begins: on standard error
       caret m -version
]]

local commands = {
    ["-run"] = function(...) return host.run(...) end,
    ["-job"] = function() return host.job() end,
    ["-direct"] = function() return host.direct() end,
    ["-compile"] = function(...) return host.compile(...) end,
    ["-format"] = function(...) return host.format(...) end,
    ["-cover"] = function(...) return host.cover(...) end,
    ["-trace"] = function(...) return host.trace(...) end,
    ["-version"] = function() return host.version() end,
    ["-lua"] = function(file, ...) return host.lua(file, ...) end,
}

function main.main(command, ...)
    local f = commands[command or "-direct"]
    if not f or (command == "-run" or command == "-lua") and not ... then
        io.stderr:write("caret m: ", f and command .. " what?" or "there is no " .. command, "\n", USAGE)
        return 2
    end
    return f(...)
end

return main
