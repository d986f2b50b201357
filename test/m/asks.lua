-- asks.lua - questions to the module yottadb, one answer a line; asks.c asks libyottadb.so the same
-- (test/run/m.sh).
--
-- `constants` and `names` are put before this text.
local ydb = require "yottadb"
local constants, names = constants, names -- luacheck: globals constants names
local what = arg[1]
local inner, outer

local function line(...) io.write(table.concat({...}), "\n") end

-- What an error says, as $ZSTATUS has it.
local function status(err)
    local code, text = tostring(err):match "^YDB Error: %-(%d+): (.*)$"
    return code and code .. ",(SimpleAPI)," .. text or tostring(err)
end

local function value(name)
    local ok, v = pcall(ydb.get, name)
    if ok and v == nil then
        return "150373850,(SimpleAPI),%YDB-E-LVUNDEF, Undefined local variable: " .. name
    end
    return ok and v or status(v)
end

-- -------------------------------------------------------------------- errors

local function ask_errors()
    for _, name in ipairs(constants) do
        local text = ""
        if name:find "^YDB_ERR_" then
            text = select(2, pcall(ydb.tp, function() return ydb[name] end)):match "^YDB Error: %-?%d+: (.*)$"
        end
        line(name, " ", ("%.0f"):format(ydb[name]), " ", text)
    end
end

-- ------------------------------------------------------------------- special

local function is_steady(name)
    name = name:upper()
    return not (name:find "^$[HJ]" or name:find "^$Z[HU]")
end

local function tell(name, did, f, ...)
    local ok, err = pcall(f, ...)
    line(name, " ", did, ": ", ok and "" or status(err))
end

local function ask_special()
    for _, name in ipairs(names) do
        local is = value(name)
        line(name, "=", (is_steady(name) or is:find "^1") and (#is > 17 and is or "...") or "...")
        tell(name, "with a subscript", ydb.get, name, 1)
        tell(name, "data", ydb.data, name)
        tell(name, "incr", ydb.incr, name)
        tell(name, "kill", ydb.kill, name)
        if not name:upper():find "^$ZG" then tell(name, "set", ydb.set, name, "1") end
    end
    for _, seconds in ipairs {"7", "7abc", "1E2", "2.9", "-1", "", "x", "99999999999"} do
        ydb.set("$ZMAXTPTI", seconds)
        line(seconds, " is ", value "$ZMAXTPTIME", " seconds")
    end
    ydb.set("$zstatus", "mine")
    line(value "$ZS")
end

-- -------------------------------------------------------------- transactions

local runs, plan = 0, 0

local function bit(n) return math.floor(plan / n) % 2 == 1 end

local function where(at)
    line(plan, " ", at, ": level ", value "$TLEVEL", " restarts ", value "$TRESTART", " a=", value "a",
        " b=", value "b")
end

-- The code that a transaction ended with.
local function code_of(f, ...)
    local ok, err = pcall(f, ...)
    return ok and 0 or ydb.get_error_code(err) or error(err, 0)
end

function inner()
    local said = ({[0] = ydb.YDB_OK, ydb.YDB_TP_ROLLBACK, ydb.YDB_TP_RESTART, ydb.YDB_TP_RESTART})[plan % 4]
    where "inner"
    ydb.set("a", "3")
    ydb.set("b", "3")
    return runs > 1 and ydb.YDB_OK or said
end

function outer()
    runs = runs + 1
    where "outer"
    ydb.set("a", "2")
    ydb.set("b", "2")
    local rc = code_of(ydb.tp, "", bit(8) and {bit(4) and "*" or "b"} or {}, inner)
    line(plan, " inner gave ", ("%.0f"):format(rc))
    if rc == ydb.YDB_TP_RESTART then return rc end
    where "afterwards"
    return bit(16) and (runs == 1 and ydb.YDB_TP_RESTART or ydb.YDB_TP_ROLLBACK) or ydb.YDB_OK
end

local function ask_transactions()
    for i = 0, 63 do
        plan, runs = i, 0
        ydb.set("a", "1")
        ydb.set("b", "1")
        if plan % 4 == 3 then ydb.kill "b" end
        local rc = code_of(ydb.tp, "", bit(32) and {"a"} or {}, outer)
        line(plan, " outer gave ", ("%.0f"):format(rc), " in ", runs, " runs")
        where "end"
    end
end

if what:find "^%$" then
    line(value(what))
elseif what == "errors" then
    ask_errors()
elseif what == "special" then
    ask_special()
else
    ask_transactions()
end
