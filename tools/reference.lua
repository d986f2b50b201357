-- lua5.4 tools/reference.lua FOLDER: writes FOLDER/caret.lua and FOLDER/config.ld; ldoc makes HTML of them.
--
-- The reference has one source: front/lua/caret/meta.lua and, for the modules beside that one,
-- meta_modules.lua, in annotations of the Lua language server.  Here they are read, and said again in
-- LDoc's words.  Of those annotations only what these files use is understood: blocks of lines `---`, first
-- text, then tags in one line each, then the function, table or nothing that they are about.  As a module
-- this is {files, read = function(root), ldoc = function(entries)}; the tests use it.

local reference = {files = {"front/lua/caret/meta.lua", "front/lua/caret/meta_modules.lua"}}

-- ------------------------------------------------------------------ reading

-- The type at `from` of s, and what is after it: "x?|y[]", "fun(a: b): c, d", "(x|y)[]".
local function read_type(s, from)
    local at = from
    repeat
        local behind_fun = s:match("^fun%b()()", at)
        at = behind_fun or s:match('^"[^"]*"()', at) or s:match("^%b()()", at)
            or assert(s:match("^[%w_.]+()", at), "no type: " .. s:sub(at))
        while behind_fun and s:match("^[:,] ", at) do -- what it returns
            at = select(2, read_type(s, at + 2))
        end
        at = s:match("^[%[%]?]+|?()", at) or s:match("^|()", at) or at
    until s:sub(at - 1, at - 1) ~= "|"
    return s:sub(from, at - 1), at
end

local function typed(rest)
    local kind, at = read_type(rest, 1)
    return kind, rest:sub(at):match "^%s*(.*)$"
end

-- @param and @field: name, "?" if it is optional, type, text.
local function read_named(rest)
    local name, optional, more = rest:match "^(%[?[%w_.]+%]?)(%??)%s+(.*)$"
    local kind, text = typed(more)
    return {name = name, optional = optional == "?", type = kind, text = text}
end

local function read_return(rest)
    local kind, text = typed(rest)
    return {type = kind, text = text}
end

local lists = {param = "params", field = "fields", ["return"] = "returns"}

-- One block: its text, then its tags.
local function read_block(lines)
    local entry = {text = {}, params = {}, fields = {}, returns = {}}
    for _, line in ipairs(lines) do
        local tag, rest = line:match "^@(%a+)%s*(.*)$"
        if not tag then
            assert(#entry.params + #entry.fields + #entry.returns == 0, "text after a tag: " .. line)
            entry.text[#entry.text + 1] = line
        elseif lists[tag] then
            table.insert(entry[lists[tag]], (tag == "return" and read_return or read_named)(rest))
        else
            entry[tag] = rest
        end
    end
    return entry
end

local function read_file(path, entries)
    local lines = {}
    for line in io.lines(path) do
        local comment = line:match "^%-%-%-(.*)$"
        if comment then
            lines[#lines + 1] = comment
        elseif #lines > 0 then
            local entry = read_block(lines)
            entry.owner, entry.mark, entry.name, entry.arguments =
                line:match "^function (%a+)([.:])([%w_]+)%((.*)%)"
            if not entry.owner then -- a constant, or nothing of the module
                entry.owner, entry.name = line:match "^(%a+)%.([%w_]+) ="
            end
            entries[#entries + 1] = entry
            lines = {}
        end
    end
end

--- What the files below the folder `root` say: a list of entries {text = {lines}, params, fields, returns,
-- class or alias or the like, owner and name of the function}.
function reference.read(root)
    local entries = {}
    for _, file in ipairs(reference.files) do read_file(root .. file, entries) end
    return entries
end

-- --------------------------------------------------------------------- LDoc

local function ldoc_text(text)
    return (text:gsub("`caret%.(%u%a+)`", "`%1`"))
end

-- A type in the words of LDoc, and a text that begins with what these can't say: LDoc has no types of
-- functions, and "?" stands in front.
local function ldoc_type(kind, text)
    kind, text = kind:gsub("caret%.(%u)", "%1"), ldoc_text(text)
    if kind:match "^fun%(" then
        return "function", ("`%s` %s"):format(kind, text)
    elseif kind:match "^%(.*%)%[%]$" then
        return "table", ("`%s` %s"):format(kind, text)
    end
    return (kind:gsub("^([^|]*)%?$", "?%1"):gsub("%s", "")), text
end

-- Lines of a comment; blocks of code are indented, as Markdown has them.
local function add_text(out, lines)
    local code = false
    for i, line in ipairs(lines) do
        if line:match "^```" then
            code = not code
            line = ""
        elseif code then
            line = "    " .. line
        else
            line = ldoc_text(line)
        end
        out[#out + 1] = (i == 1 and "---" or "--") .. (line ~= "" and " " .. line or "")
    end
end

local function tag(out, ...)
    out[#out + 1] = (("-- @" .. string.rep("%s ", select("#", ...))):format(...):gsub("%s+$", ""))
end

local function add_tags(out, entry)
    for _, p in ipairs(entry.params) do
        local kind, text = ldoc_type(p.type, p.text)
        tag(out, p.optional and "tparam[opt]" or "tparam", kind, p.name, text)
    end
    for _, r in ipairs(entry.returns) do
        tag(out, "treturn", ldoc_type(r.type, r.text))
    end
    for _, f in ipairs(entry.fields) do
        local kind, text = ldoc_type(f.type, f.text)
        tag(out, f.optional and "tfield[opt]" or "tfield", kind, f.name, text)
    end
end

local adders = {}

function adders.module(out, entry, entries)
    add_text(out, entry.text)
    out[#out + 1] = "--\n-- **Types**\n--"
    for _, e in ipairs(entries) do
        if e.alias then
            local name, kind = e.alias:match "^caret%.(%S+)%s+(.*)$"
            out[#out + 1] = ("-- * *%s* (`%s`): %s"):format(name, kind:gsub("caret%.", ""),
                table.concat(e.text, " "))
        end
    end
    tag(out, "module", "caret")
end

function adders.class(out, entry, name)
    add_text(out, entry.text)
    if #entry.fields > 0 and name ~= "Node" then
        tag(out, "table", name)
        add_tags(out, entry)
    else
        tag(out, "type", name)
    end
end

adders["function"] = function(out, entry)
    add_text(out, entry.text)
    if entry.type then
        tag(out, "field", entry.name)
    else
        tag(out, "function", entry.owner == "caret" and entry.name or entry.owner .. entry.mark .. entry.name)
        add_tags(out, entry)
    end
end

--- The text of a Lua file for ldoc.
function reference.ldoc(entries)
    local out, tables = {}, {}
    for _, entry in ipairs(entries) do
        if entry.class == "caret" then
            adders.module(out, entry, entries)
        elseif entry.class then
            local name = entry.class:match "^caret%.(%a+)"
            -- in LDoc a class goes on to the next: tables stand before them
            adders.class(#entry.fields > 0 and name ~= "Node" and tables or out, entry, name)
        elseif entry.owner then
            adders["function"](out, entry)
        end
        out[#out + 1] = ""
        tables[#tables + 1] = ""
    end
    out[#out + 1] = "--- Tables.\n-- Options of functions, and what some return.\n-- @section tables\n"
    return table.concat(out, "\n") .. table.concat(tables, "\n")
end

local CONFIG = [[
project = "Caret"
title = "Caret: reference of the Lua module"
description = "A hierarchical key-value database that lives inside the process"
file = "caret.lua"
dir = "html"
format = "discount"
no_return_or_parms = false
sort = false
not_luadoc = true
]]

local root = arg and arg[0] and arg[0]:match "^(.*)tools/reference%.lua$"
if root then
    local folder = arg[1] or error "where to?  lua5.4 tools/reference.lua FOLDER"
    local function write(name, text)
        local f = assert(io.open(folder .. "/" .. name, "w"))
        f:write(text)
        f:close()
    end
    write("caret.lua", reference.ldoc(reference.read(root)))
    write("config.ld", CONFIG)
end

return reference
