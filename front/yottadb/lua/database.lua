--- Which database the module yottadb works with.
--
-- In this order: what $ZGBLDIR was set to, the environment's $ydb_gbldir, $CARET_DB, ./data.caret.  It is
-- opened, and made if there is none, when it is first used.  A name that ends with .gld is that of a global
-- directory of YottaDB: the database is the file beside it with .caret instead.

local caret = require "caret"
local core = require "caret.core"
local errors = require "yottadb.errors"

local database = {
    -- As YottaDB, by $ydb_chset: text in ZWR form has bytes in M mode, characters in UTF-8 mode.
    utf8 = (os.getenv("ydb_chset") or os.getenv("gtm_chset") or ""):upper() == "UTF-8",
}

local opened = {}      -- databases by path; they stay open, as their locks do
local selected         -- what $ZGBLDIR was set to
local current

local function default_name()
    local name = os.getenv("ydb_gbldir")
    if name == nil or name == "" then name = os.getenv("CARET_DB") end
    return name ~= nil and name ~= "" and name or "./data.caret"
end

local function open(name)
    local path = name:gsub("%.gld$", ".caret")
    if not opened[path] then
        local db, text = caret.open(path)
        if not db then
            errors.raise("ZGBLDIRACC", ("can't open the database of $ZGBLDIR %s: %s"):format(name, text))
        end
        core.translate(db, errors.translate, database.utf8)
        opened[path] = db
    end
    return opened[path]
end

--- The database in use.
function database.current()
    if not current then
        current = open(selected or default_name())
    end
    return current
end

--- The same, or nil if none was used so far.
function database.peek()
    return current
end

--- $ZGBLDIR
function database.name()
    return selected or default_name()
end

--- Work with that one from now on; the empty name: with the default again.
function database.select(name)
    name = tostring(name)
    current = open(name ~= "" and name or default_name())
    selected = name ~= "" and name or nil
end

--- Release the locks of all databases.
function database.release_all()
    for _, db in pairs(opened) do
        db:lock {}
    end
end

return database
