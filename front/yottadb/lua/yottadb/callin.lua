--- Calls of M: yottadb.require, and yottadb.ci; caret/callin.lua has what they do.

local calls = require "caret.callin"
local database = require "yottadb.database"
local errors = require "yottadb.errors"
local misuse = require "yottadb.misuse"

local callin = {}

local function failed(code, text)
    if code == 0 then errors.raise("DLLNOOPEN", text) end
    if text:find "^%-?%d+,[^,]*,%%" then
        errors.set_zstatus(text)
        text = text:gsub("^%-?%d+,[^,]*,", "")
    end
    error(("YDB Error: %d: %s"):format(code, text), 0)
end

local module = calls.for_module {refused = errors.raise_filled, failed = failed}

--- require(file or text): a table of functions, each calling a routine.
function callin.require(prototypes)
    if type(prototypes) ~= "string" then misuse.argument(1, "require", "string", prototypes) end
    return module.require(database.current, prototypes)
end

--- ci(entry, ...): DO LABEL^ROUTINE with these texts and numbers, or the value of $$LABEL^ROUTINE.
function callin.ci(entry, ...)
    if type(entry) ~= "string" then misuse.argument(1, "ci", "string", entry) end
    return module.ci(database.current, entry, ...)
end

return callin
