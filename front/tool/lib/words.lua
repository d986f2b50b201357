-- What can follow the text before the cursor at the prompt: names of globals, methods, subscripts,
-- fields and Lua's own words.

local caret = require "caret"

local words = {}

local MANY = 200 -- candidates of one kind are cut off here
local KEYWORDS = {"and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if",
    "in",
    "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while"}

local function starts_with(s, beginning)
    return s:sub(1, #beginning) == beginning
end

-- The value that a path like db.node("^oaks")[1].height or t.list[2] means; nothing is called but db.node.
local function resolve(path, env, db)
    local at, value
    local name, behind = path:match("^%s*db%s*[.:]%s*node%s*%(?%s*[\"'](%^?[%w%%]+)[\"']%s*%)?()")
    if name then
        local ok, node = pcall(db.node, name)
        if not ok then return nil end
        value, at = node, behind
    else
        name, at = path:match("^([%a_][%w_]*)()")
        if not name then return nil end
        value = rawget(env, name)
    end
    while at <= #path do
        local key
        key, behind = path:match("^%.([%a_][%w_]*)()", at)
        if not key then
            key, behind = path:match("^%[(%-?%d+%.?%d*)%]()", at)
            key = key and tonumber(key)
        end
        if not key then
            key, behind = path:match("^%[\"([^\"]*)\"%]()", at)
        end
        if key == nil then return nil end
        if caret.isnode(value) then
            value = value(key)
        elseif type(value) == "table" then
            value = rawget(value, key)
        else
            return nil
        end
        at = behind
    end
    return value
end

-- The longest path at the end of the text.
local function path_before(text)
    local path = text:match("db%s*[.:]%s*node%s*%(?%s*[\"']%^?[%w%%]+[\"']%s*%)?[^%s(){},;=<>~+*/]*$")
    return path or text:match("[%a_][^%s(){},;=<>~+*/'#^&|%%]*$")
end

local function add_names(list, t, beginning)
    for key in pairs(t) do
        if type(key) == "string" and key:find("^[%a_][%w_]*$") and starts_with(key, beginning) then
            list[#list + 1] = key
        end
    end
end

local function add_children(list, node, beginning)
    for _, _, sub in node:__range {from = beginning, limit = MANY} do
        if type(sub) == "string" then
            if not starts_with(sub, beginning) then break end
            if sub:find("^[%a_][%w_]*$") and not starts_with(sub, "__") then list[#list + 1] = sub end
        end
    end
end

-- What goes between brackets: all subscripts, as Lua writes them.
local function add_subscripts(list, node, beginning)
    local quoted = beginning:match("^\"(.*)$")
    local from = quoted
    if not quoted and beginning ~= "" then from = tonumber(beginning) end
    for _, _, sub in node:__range {from = from, limit = MANY} do
        local text = type(sub) == "number" and tostring(sub) or ("%q"):format(sub):gsub("\\\n", "\\n")
        if starts_with(text, beginning) then list[#list + 1] = text .. "]" end
    end
end

local function methods_of(value)
    if caret.isnode(value) then return require("caret.core").methods end
    if type(value) == "userdata" and tostring(value):find("^caret database") then
        local all = {node = true}
        for key in pairs(caret) do if key ~= "open" and value[key] then all[key] = true end end
        return all
    end
    if type(value) == "string" then return string end
    return type(value) == "table" and value or nil
end

local function candidates(text, env, db)
    local list = {}
    local name = text:match("[\"'](%^[%w%%]*)$")
    if name then
        for variable in db:variables() do
            if starts_with(variable, name) then list[#list + 1] = variable end
            if #list >= MANY then break end
        end
        return list, name
    end
    local path = path_before(text)
    if not path then return list, "" end
    local before, mark, partial = path:match("^(.*)([.:])([%w_]*)$")
    if before and not before:find("%[[^%]]*$") then
        local value = resolve(before, env, db)
        if mark == ":" or type(value) == "userdata" and not caret.isnode(value) then
            add_names(list, methods_of(value) or {}, partial)
        elseif caret.isnode(value) then
            add_children(list, value, partial)
        elseif type(value) == "table" then
            add_names(list, value, partial)
        end
        return list, partial
    end
    before, partial = path:match("^(.*)%[([^%[%]]*)$")
    if before then
        local value = resolve(before, env, db)
        if caret.isnode(value) then add_subscripts(list, value, partial) end
        return list, partial
    end
    add_names(list, env, path)
    for _, word in ipairs(KEYWORDS) do
        if starts_with(word, path) then list[#list + 1] = word end
    end
    return list, path
end

-- What all of them begin with.
local function common(list)
    local all = list[1] or ""
    for _, word in ipairs(list) do
        while not starts_with(word, all) do all = all:sub(1, -2) end
    end
    return all
end

--- complete(text before the cursor) -> text to insert there, what is possible; in the globals env.
function words.completion(db, env)
    return function(text)
        local list, partial = candidates(text, env, db)
        table.sort(list)
        return common(list):sub(#partial + 1), list
    end
end

return words
