-- The reference, front/lua/caret/meta*.lua, lists what the module has: functions, methods, options, fields.
local lu = require "luaunit"
local caret = require "caret"
local fixture = require "fixture"

local reference = dofile(fixture.root .. "tools/reference.lua")
local entries = reference.read(fixture.root)

local db, n

TestReference = {}

function TestReference:setUp()
    db, n = fixture.fresh()
end

function TestReference:tearDown()
    db:close()
end

local function sorted(set)
    local list = {}
    for name in pairs(set) do list[#list + 1] = name end
    table.sort(list)
    return list
end

-- What the reference says of "caret", "Database" or "Node".
local function documented(owner)
    local set = {}
    for _, entry in ipairs(entries) do
        if entry.owner == owner then
            lu.assertNil(set[entry.name], entry.name .. " is there twice")
            set[entry.name] = entry
        end
    end
    return set
end

local function class(name)
    for _, entry in ipairs(entries) do
        if entry.class == name then return entry end
    end
    error("no class " .. name)
end

local function field_names(name)
    local set = {}
    for _, field in ipairs(class(name).fields) do
        lu.assertNil(set[field.name], name .. "." .. field.name .. " is there twice")
        set[field.name] = true
    end
    return sorted(set)
end

local function database_methods()
    return fixture.database_methods(db)
end

function TestReference:test_functions_of_the_module()
    local own, methods = {}, database_methods()
    for name in pairs(caret) do
        if not methods[name] then own[name] = true end
    end
    own.close = true -- of databases, and another one of the module
    lu.assertEquals(sorted(documented "caret"), sorted(own))
end

function TestReference:test_methods_of_databases()
    lu.assertEquals(sorted(documented "Database"), sorted(database_methods()))
end

function TestReference:test_methods_of_nodes()
    local methods = fixture.node_methods(db)
    lu.assertEquals(sorted(documented "Node"), sorted(methods))
    for name in pairs(methods) do
        lu.assertEquals(type(n["__" .. name]), "function", name)
    end
end

function TestReference:test_methods_of_caches()
    local cache = require "caret.cache".new(db, "^t")
    lu.assertEquals(sorted(documented "Cache"), sorted((function()
        local set = {}
        for name in pairs(getmetatable(cache).__index) do set[name] = true end
        set.__index = nil
        return set
    end)()))
end

function TestReference:test_functions_of_typed_values()
    lu.assertEquals(sorted(documented "Typed"), sorted(require "caret.typed"))
end

-- fun(a: x, b?: y): z as "a, b"
local function arguments_of(kind)
    local names = {}
    for name in (kind:match "^fun%((.-)%)" .. ","):gsub("<.->", ""):gmatch "([%w_.]+)%??: " do
        names[#names + 1] = name
    end
    return table.concat(names, ", ")
end

function TestReference:test_the_module_has_the_methods_of_its_database()
    local methods = documented "Database"
    methods.close = nil
    local fields = {}
    for _, field in ipairs(class("caret").fields) do
        fields[field.name] = true
        lu.assertEquals(arguments_of(field.type), methods[field.name].arguments, field.name)
    end
    lu.assertEquals(sorted(fields), sorted(methods))
end

function TestReference:test_every_argument_is_described()
    for _, entry in ipairs(entries) do
        if entry.arguments then
            local names = {}
            for _, param in ipairs(entry.params) do names[#names + 1] = param.name end
            lu.assertEquals(table.concat(names, ", "), entry.arguments, entry.name)
        end
        if entry.owner or entry.class or entry.alias then
            lu.assertTrue(#entry.text > 0, (entry.name or entry.class or entry.alias) .. " has no text")
        end
    end
end

-- The names that a function says it has as options, when it is given another one.
local function options_of(call, ...)
    local ok, message = pcall(call, ...)
    lu.assertFalse(ok)
    local set = {}
    local names = message:match "has no option 'colour'; there %a+ (.*)$"
    for name in names:gmatch "[%w_]+" do set[name] = true end
    return sorted(set)
end

function TestReference:test_options()
    local bad = {colour = "red"}
    lu.assertEquals(field_names "caret.OpenOptions", options_of(caret.open, fixture.path, bad))
    lu.assertEquals(field_names "caret.BackupOptions", options_of(db.backup, db, fixture.path, bad))
    lu.assertEquals(field_names "caret.RestoreOptions", options_of(caret.restore, "a", "b", bad))
    lu.assertEquals(field_names "caret.ChangesOptions", options_of(db.changes, db, bad))
    lu.assertEquals(field_names "caret.RangeOptions", options_of(n.__range, n, bad))
    lu.assertEquals(field_names "caret.KillRangeOptions", options_of(n.__kill_range, n, bad))
    lu.assertEquals(field_names "caret.JsonOptions", options_of(n.__json, n, bad))
    lu.assertEquals(field_names "caret.CacheOptions", options_of(require "caret.cache".new, db, "^t", bad))
end

function TestReference:test_fields_of_what_is_returned()
    n.__ = 1
    local usage = assert(db:usage())
    local feed = assert(db:changes {wait = 0})
    n.__ = 2
    local change = feed()
    n[1].__ = 3
    n:kill_range {from = 1}
    feed()
    change.range = feed().range
    lu.assertEquals(field_names "caret.Change", sorted(change))
    lu.assertEquals(sorted(documented "Changes"), {"close", "next", "place"})
    lu.assertEquals(field_names "caret.Stat", sorted(db:stat()))
    lu.assertEquals(field_names "caret.Usage", sorted(usage))
    lu.assertEquals(field_names "caret.UsageLevel", sorted(usage.levels[1]))
    lu.assertEquals(field_names "caret.UsageGlobal", sorted(usage.globals[1]))
    n.__ = "9E46"
    local _, err = pcall(n.__incr, n, "9E46")
    lu.assertEquals(field_names "caret.Error", sorted(err))
end

-- A counter that is added to caret_stats is told in Lua, too.
function TestReference:test_stat_has_what_the_header_has()
    local f = assert(io.open(fixture.root .. "include/caret.h"))
    local struct = f:read("*a"):match("struct caret_stats {(.-)\n}"):gsub("/%*.-%*/", "")
    f:close()
    local names = {}
    for list in struct:gmatch "uint64_t ([%w_, ]+);" do
        for name in list:gmatch "[%w_]+" do names[name] = true end
    end
    lu.assertTrue(names.dead_pages)
    lu.assertEquals(sorted(names), sorted(db:stat()))
end

function TestReference:test_what_is_referred_to_is_there()
    local known = {}
    for owner, prefix in pairs {caret = "caret.", Database = "Database:", Node = "Node:",
        Changes = "Changes:", Cache = "Cache:"} do
        for name in pairs(documented(owner)) do known[prefix .. name] = true end
    end
    for name in pairs(documented "Database") do known["caret." .. name] = true end
    for _, entry in ipairs(entries) do
        if entry.class then known[entry.class] = true end
        if entry.alias then known[entry.alias:match "%S+"] = true end
    end
    known["caret.cache"] = true -- a module
    for _, file in ipairs(reference.files) do
        local count = 0
        for line in io.lines(fixture.root .. file) do
            for _, pattern in ipairs {"caret%.%u%a+", "`(caret%.[%w_]+)`", "`(%u%a+:[%w_]+)`"} do
                for name in line:gmatch(pattern) do
                    lu.assertTrue(known[name], name)
                    count = count + 1
                end
            end
        end
        lu.assertTrue(count > 5, file)
    end
end

fixture.run()
