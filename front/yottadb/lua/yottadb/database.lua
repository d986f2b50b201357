--- Which database the module yottadb works with.
--
-- What $ZGBLDIR was set to, else what the environment says; front/m/settings.h has the rules.  It is opened
-- when it is first used: made if there is none, for reading only if the process may not write to it.

local caret = require "caret"
local core = require "caret.core"
local errors = require "yottadb.errors"
local misuse = require "yottadb.misuse"

local m = core.m

local database = {
    -- As YottaDB, by $ydb_chset: text in ZWR form has bytes in M mode, characters in UTF-8 mode.
    utf8 = select(2, m.settings()),
}

-- What the C part asks for such databases.
database.asked = {raised = errors.translate, misused = misuse.reword, returned = errors.obey}

local opened = {}      -- databases by path; they stay open, as their locks do
local selected         -- what $ZGBLDIR was set to
local current

local function open(name)
    local path, readonly = m.file(name)
    if not opened[path] then
        local db, text = caret.open(path, {readonly = readonly})
        if not db then
            local words = "Cannot access global directory %s.  Cannot continue.,%s"
            errors.raise("ZGBLDIRACC", words:format(name, text))
        end
        core.translate(db, database.asked, database.utf8)
        opened[path] = db
    end
    return opened[path]
end

--- The database in use.
function database.current()
    if not current then
        current = open(database.name())
    end
    return current
end

--- The same, or nil if none was used so far.
function database.peek()
    return current
end

--- $ZGBLDIR
function database.name()
    return selected or (m.settings())
end

--- Work with that one from now on; the empty name: with the default again.
function database.select(name)
    local default = m.settings()
    current = open(name ~= "" and name or default)
    selected = name ~= "" and name or nil
end

--- Release the locks of all databases.
function database.release_all()
    for _, db in pairs(opened) do
        if db ~= current then db:lock {} end -- refused before anything is released
    end
    if current then current:lock {} end
end

return database
