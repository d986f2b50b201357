-- JSON that commands print: fields stay in the order given.

local quote = require("caret.json").quote

local json = {}

--- A node as JSON, as `caret dump -f jsonl` has it: its name and subscripts as an array.
function json.node(node)
    local path = node:__subsarray()
    table.insert(path, 1, node:__varname())
    return path
end

--- A value, likewise: a number if it is a whole one of at most 15 digits in canonical form, else a string.
function json.value(text)
    if not text or not text:find("^%-?[1-9]%d*$") and text ~= "0" then return text end
    return #text:gsub("-", "") <= 15 and math.tointeger(text) or text
end

--- Any value as JSON; a table without `text` is an array.
function json.encode(value)
    local kind = type(value)
    if kind == "string" then return quote(value) end
    if kind == "number" then return (math.type(value) == "integer" and "%d" or "%.6g"):format(value) end
    if kind ~= "table" then return value == nil and "null" or tostring(value) end
    if value.text then return value.text end
    local items = {}
    for i, item in ipairs(value) do items[i] = json.encode(item) end
    return "[" .. table.concat(items, ",") .. "]"
end

--- An object: json.object("name", value, "name", value, ...); nil leaves a member out.
function json.object(...)
    local members = {}
    for i = 1, select("#", ...), 2 do
        local name, value = select(i, ...)
        if value ~= nil then members[#members + 1] = quote(name) .. ":" .. json.encode(value) end
    end
    return {text = "{" .. table.concat(members, ",") .. "}"}
end

--- The same of a table's fields, in this order.
function json.fields(t, names)
    local list, n = {}, 0
    for _, name in ipairs(names) do
        list[n + 1], list[n + 2], n = name, t[name], n + 2
    end
    return json.object(table.unpack(list, 1, n))
end

return json
