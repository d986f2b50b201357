-- mumps.runtime.fence: commands that mean little here, as there are neither journals nor object files.
--
-- ZTSTART and ZTCOMMIT fence what a journal keeps together: they are counted.  ZINVCMD is the command that
-- stands for those that do not exist.

local commands = require "mumps.runtime.commands"
local number = require "mumps.values.number"
local special = require "mumps.runtime.special"

local fence = {}

local MOST = 255
local open = 0

local function fail(...)
    return require("mumps.runtime.error").fail(...)
end

function commands.ZTSTART()
    if special.get "TLEVEL" > 0 then return fail("TPMIXUP", "A fenced logical", "an M") end
    if open == MOST then return fail "TRANSNEST" end
    open = open + 1
end

-- ZTCOMMIT n ends so many; 0: all that are open.
function commands.ZTCOMMIT(n)
    n = n == nil and 1 or number.int(n)
    if n < 0 then return fail "TRANSMINUS" end
    if open == 0 or n > open then return fail "TRANSNOSTART" end
    open = n == 0 and 0 or open - n
end

function commands.ZINVCMD()
    return fail "INVCMD"
end

-- ZEDIT name: $EDITOR with that routine's source, or that of the last ZEDIT or ZLINK.
function commands.ZEDIT(name)
    local routine = require "mumps.runtime.routine"
    local given = name and number.str(name) or routine.zsource or ""
    local plain = given:gsub("%.m$", "")
    local folder, file = plain:match "^(.-)([^/]*)$"
    if not file:find "^[%%_%a]%w*$" then
        local why = ",%YDB-E-FILENOTFND, File  not found"
        return require("mumps.runtime.error").fail_with(why, "ZEDFILSPEC", given)
    end
    local name_of_file = file:gsub("^%%", "_") .. ".m"
    local path = folder == "" and require("mumps.runtime.search").file(name_of_file) or folder .. name_of_file
    routine.zsource = plain
    return commands.ZSYSTEM {("${EDITOR:-vi} '%s'"):format(path:gsub("'", "'\\''"))}
end

return fence
