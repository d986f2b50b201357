--- Addresses as arguments: (name [, {subs}] [, sub, ...]), or a node instead of the name, as nodes.

local database = require "yottadb.database"
local long = require "yottadb.long"
local misuse = require "yottadb.misuse"
local special = require "yottadb.special"

local current, special_of, is_place = database.current, special.of, long.is_place
local select, type = select, type
local unpack = table.unpack or unpack

-- For one function of libyottadb: it is named when it can't be done to a special variable.  nil: any.
-- check(name, ...): what else is looked at in an address.
local function naming(called, check)
    local addresses = {}

    --- The address as a node.
    local function address(name, ...)
        local variable = special_of(name)
        if variable then
            special.refuse(variable, called, ...)
        end
        if is_place(name) then return long.too_long("node", name, ...) end
        if check then check(name, ...) end
        return current().node(name, ...)
    end
    addresses.of = address
    misuse.ours(address)

    --- (name [, {subs}] [, sub, ...] [, last]) -> the address, last; after plain subscripts there is one.
    local function and_last(name, ...)
        local n = select("#", ...)
        if n == 0 or n == 1 and type((...)) == "table" then
            return address(name, ...)
        elseif n == 1 then
            return address(name), (...)
        end
        local args = {...}
        return address(name, unpack(args, 1, n - 1)), args[n]
    end
    addresses.and_last = and_last

    --- The same where a last one that is not of that type is a subscript.
    function addresses.and_typed(kind, name, ...)
        local n = select("#", ...)
        local last = n > 0 and select(n, ...) or nil
        if n > 0 and last ~= nil and type(last) ~= kind then
            return address(name, ...)
        end
        return and_last(name, ...)
    end

    return addresses
end

local addresses = naming()
addresses.naming = naming
return addresses
