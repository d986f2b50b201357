-- Every function of a database and of the module, by an address: it works, or it is UNSUPPORTED as the list
-- says.
--
--   sh tools/lua.sh lua5.4 test/store/calls.lua URL test/store/unsupported.list front/lua/caret/meta.lua
--
-- The functions are those of meta.lua; one without a try here is a failure.  Methods of nodes have their own
-- tests, the cases of test/behaviour.
local caret = require "caret"
local url = arg[1]
local db = assert(caret.open(url))
local node = db.node("^calls", 1)

local function one() return 1 end

local tries = {
    ["caret.open"] = function() return assert(caret.open(url)):close() end,
    ["caret.close"] = false, -- of all databases: tried last
    ["caret.isnode"] = function() return caret.isnode(node) end,
    ["caret.inherit"] = function() return caret.inherit(db.node, {}) end,
    ["caret.counted"] = function() return caret.counted(one) end,
    ["caret.trollback"] = function() return select(3, db:tp(caret.trollback)) == "ROLLBACK" end,
    ["caret.trestart"] = function()
        local times = 0
        db:tp(function()
            times = times + 1
            if times == 1 then caret.trestart() end
        end)
        return times == 2
    end,
    ["caret.restore"] = function() return caret.restore("calls.copy", url) end,
    ["caret.salvage"] = function() return caret.salvage(url, "calls.zwr") end,
    node = function() return db.node "^calls" end,
    get = function() return db:get("^calls", 1) end,
    set = function() return db:set("^calls", 1, "x") end,
    incr = function() return db:incr("^calls", 2) end,
    delete = function() return db:delete("^calls", 2) end,
    kill = function() return db:kill("^calls", 2) end,
    data = function() return db:data "^calls" end,
    variables = function() return db:variables()() end,
    transaction = function() return db:transaction(one)() == 1 end,
    tp = function() return db:tp(one) == 1 end,
    snapshot = function() return db:snapshot(one) == 1 end,
    ci = function() return db:ci("$$hello^calls") end,
    require = function() return db:require "hello: string_t* hello^calls()" end,
    lock = function() return db:lock({node}, 1) and (db:lock {} or true) end,
    sync = function() return db:sync() end,
    durable = function() return db:durable() == 0 end,
    place = function() return db:place() end,
    wait = function() return db:wait("^calls", 0) end,
    changes = function() return db:changes {} end,
    batch = function() return db:batch(true), db:batch(false) end,
    checkpoint = function() return db:checkpoint() end,
    backup = function() return db:backup "calls.copy" end,
    check = function() return db:check() end,
    stat = function() return db:stat() end,
    usage = function() return db:usage() end,
    path = function() return db:path() == url end,
    close = function() return assert(caret.open(url)):close() end,
}

local unsupported, bad, works = {}, 0, 0
for line in io.lines(arg[2]) do
    local name, what = line:match "^lua (%S+)%s+(%S+)"
    if name then unsupported[name] = what end
end

-- What came of a try: true, or why not.
local function outcome(ok, value, why)
    if not ok then return tostring(value) end
    return value == false and "false" or value == nil and why or true
end

local function judge(name)
    local try, what = tries[name], unsupported[name:match "[^.]+$"]
    local got = try == nil and "there is no try for it" or not try or outcome(pcall(try))
    local wanted = what and "UNSUPPORTED: that is for a database in a file"
    if wanted and (got == true or not tostring(got):find(wanted, 1, true)) or not wanted and got ~= true then
        print(("FAILED %s: %s"):format(name, tostring(got)))
        bad = bad + 1
    end
    works = works + (wanted and 0 or 1)
end

node:set "x"
local count = 0
for line in io.lines(arg[3]) do
    local name = line:match "^function (caret%.[%w_]+)%(" or line:match "^function Database[.:]([%w_]+)%("
    if name then
        judge(name)
        count = count + 1
    end
end
db:kill "^calls"
caret.close()
print(("%d calls: %d work, %d are UNSUPPORTED, %d are wrong"):format(count, works, count - works, bad))
os.exit(bad == 0 and count > 30)
