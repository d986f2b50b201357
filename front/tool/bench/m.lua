-- caret bench m: MLua's benchmarks and loops of M, by the same program on caret-m, GT.M and YottaDB.

local command = require "tool.lib.command"
local host = require "caret.host"
local json = require "tool.lib.json"
local machine = require "3n1.rivals.machine"
local programs = require "caret.programs"
local rivals = require "3n1.rivals.list"

local m = {}

local SYSTEMS = {"caret-m", "gtm", "yottadb"}

local function place_in(dir)
    local place = {dir = dir, n = 1, w = 1, env = {MLUA_INIT = "@" .. dir .. "/mlua.lua"}}
    function place.write(name, text)
        local path = dir .. "/" .. name
        local f = assert(io.open(path, "w"))
        assert(f:write(text))
        f:close()
        return path
    end
    return place
end

-- Caret's M has $&mlua, GT.M has not, YottaDB where its user says so.
local function has_lua(name)
    if name == "yottadb" then return os.getenv "ydb_xc_mlua" and 1 or 0 end
    return name == "caret-m" and 1 or 0
end

local function tell(rival, place, how, number)
    local f = io.open(place.dir .. "/err")
    local line = f and f:read "l" or ""
    if f then f:close() end
    command.fail(("%s ended with %s %d: %s"):format(rival.title, how, number, line or ""))
end

-- Its times in microseconds: {[name] = us, name...}
local function measure(rival, dir, o)
    local place, times = place_in(dir), {}
    rival.prepare(place)
    place.write("mlua.lua", programs.text("tool/bench/mlua.lua"))
    place.write("mlua.m", programs.text("tool/bench/mlua.m"))
    local program = rival.commands(place)[1][1]
    local argv = {program, "-run", "all^mlua", tostring(has_lua(rival.name)),
        tostring(math.max(1, o.count // 5000))}
    local pid = programs.start(argv, {dir = dir, env = place.env, out = dir .. "/out", err = dir .. "/err"})
    local how, number = host.wait(pid, true)
    if how ~= "exit" or number ~= 0 then tell(rival, place, how, number) end
    for line in io.lines(dir .. "/out") do
        local us, name = line:match("^([%d.]+) (.*)$")
        if not us then command.fail(("%s: %s"):format(rival.title, line)) end
        times[name], times[#times + 1] = tonumber(us), name
    end
    if rival.cleanup then rival.cleanup(place) end
    return times
end

-- The systems that are here.
local function here()
    local by_name, list = {}, {}
    for _, rival in ipairs(rivals.all {}) do by_name[rival.name] = rival end
    for _, name in ipairs(SYSTEMS) do
        local why = by_name[name].missing()
        if why and name == "caret-m" then command.fail(why) end
        if not why then list[#list + 1] = by_name[name] end
    end
    return list
end

local function figure(us)
    if not us then return "-" end
    return us < 100 and ("%.2f"):format(us) or ("%.0f"):format(us)
end

local function show(list, times)
    local head = ("%-52s"):format("microseconds of CPU")
    for _, rival in ipairs(list) do head = head .. ("%14s"):format(rival.title) end
    print(head)
    for _, name in ipairs(times[1]) do
        local line = ("%-52s"):format(name)
        for i in ipairs(list) do line = line .. ("%14s"):format(figure(times[i][name])) end
        print(line)
    end
end

local function write_json(list, times)
    local objects = {}
    for _, name in ipairs(times[1]) do
        local fields = {"name", name}
        for i, rival in ipairs(list) do
            if times[i][name] then
                fields[#fields + 1] = rival.name .. "_us"
                fields[#fields + 1] = times[i][name]
            end
        end
        objects[#objects + 1] = json.object(table.unpack(fields))
    end
    command.write(json.encode(json.object("benchmark", "m", "caret", require("caret")._VERSION,
        "began", os.date("!%Y-%m-%dT%H:%M:%SZ"), "machine", machine.object(),
        "slow_build", programs.slow_build, "rows", objects)), "\n")
end

function m.run(o)
    local list, times = here(), {}
    for i, rival in ipairs(list) do
        host.scratch(function(dir) times[i] = measure(rival, dir, o) end)
    end
    if o.json then write_json(list, times) else show(list, times) end
    return 0
end

return m
