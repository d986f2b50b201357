--- The older class of nodes, yottadb.key: some methods are properties, as `__varname` and `__subsarray`, and
-- other fields may be set on a key as on a table.  What is not a field is a child, as with nodes.

local caret = require "caret"
local core = require "caret.core"
local long = require "yottadb.long"
local node = require "yottadb.node"

local text = core.text
local super = node.superclass
local find, getmetatable = string.find, debug.getmetatable
local weak = {__mode = "k"}
local fields = setmetatable({}, weak)    -- tables of what was set on keys
local positions = setmetatable({}, weak) -- where subscript_next and subscript_previous are
local meta = {}

local new, class = caret.inherit(node.new, meta)

local properties = {
    value = function(key) return key:__get() end,
    name = text.name,
    data = super.data,
    has_value = super.has_value,
    has_tree = super.has_tree,
    __varname = super.varname,
    __subsarray = text.subsarray,
}

function meta.__index(key, name)
    local own = fields[key]
    if own and own[name] ~= nil then return own[name] end
    if properties[name] then return properties[name](key) end
    if name == "__" then return properties.value(key) end
    if type(name) == "string" and (find(name, "^__") or super.depth(key) == 31) then
        return getmetatable(key)[core.INDEX](key, name) -- a method; children would take the place of this
    end
    return key(name)
end

function meta.__newindex(key, name, value)
    if name == "value" or name == "__" then
        if value == nil then super.delete(key) else key:__set(value) end
    elseif properties[name] then
        core.misuse("the property '" .. name .. "' of a key can't be set")
    else
        fields[key] = fields[key] or {}
        fields[key][name] = value
    end
end

-- A variable is asked for its children, as by subscripts().
local function next_of(key, back, from)
    if super.depth(key) == 0 then key = key("") end
    local place = long.at(key)
    if not place then return (text.sibling(key, back, from)) end
    return long.sibling(from and place:beside(from) or place, back)
end

local function step(key, back, reset)
    if reset then positions[key] = nil end
    local sub = next_of(key, back, positions[key])
    if sub then positions[key] = sub end
    return sub
end

--- The subscript of the next sibling, from the key's own on, then of the one after that, and so on; nil at
-- the end.  reset: from the key's own again.  Of a variable: of its children, from the first (last) on.
function class.subscript_next(key, reset) return step(key, false, reset) end
function class.subscript_previous(key, reset) return step(key, true, reset) end

--- Iterator over the subscripts of the siblings after (before) the key's own; of a variable, its children.
function class.subscripts(key, reverse)
    local place = long.at(key)
    if place then return (super.depth(key) > 0 and long.siblings or place.subscripts)(place, reverse) end
    return (super.depth(key) > 0 and text.siblings or text.subscripts)(key, reverse)
end

return new
