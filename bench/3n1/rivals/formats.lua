-- The results of a comparison as a table for the terminal and as JSON.

local json = require "tool.lib.json"
local machine = require "3n1.rivals.machine"

local formats = {}

local BAR = 30 -- characters

--- Seconds with three digits that count.
function formats.seconds(s)
    if s >= 100 then return ("%.0f s"):format(s) end
    if s >= 10 then return ("%.1f s"):format(s) end
    if s >= 1 then return ("%.2f s"):format(s) end
    if s >= 0.1 then return ("%.0f ms"):format(s * 1000) end
    if s >= 0.001 then return ("%.1f ms"):format(s * 1000) end
    return ("%.0f µs"):format(s * 1e6)
end

--- 12,345,678
function formats.thousands(n)
    local text = ("%.0f"):format(n)
    local grouped = text:reverse():gsub("(%d%d%d)", "%1,"):reverse()
    return (grouped:gsub("^,", ""))
end

--- One line about the machine.
function formats.machine(results)
    local m = results.machine
    return ("%s, %d cores, %.0f GiB; %s, Linux %s; Caret %s; %s"):format(m.cpu, m.cores, m.memory_mib / 1024,
        m.system, m.kernel, results.caret, results.began)
end

--- The groups of rows with one N and one number of processes, in order: {n=, w=, rows...}.
function formats.groups(results)
    local list, last = {}, nil
    for _, row in ipairs(results.rows) do
        if not last or last.n ~= row.n or last.w ~= row.w then
            last = {n = row.n, w = row.w}
            list[#list + 1] = last
        end
        last[#last + 1] = row
    end
    return list
end

local function sorted_names(t)
    local names = {}
    for name in pairs(t) do names[#names + 1] = name end
    table.sort(names)
    return names
end

--- "3n+1 to 100,000 with 4 processes"
function formats.heading(group)
    return ("3n+1 to %s with %d process%s"):format(formats.thousands(group.n), group.w,
        group.w == 1 and "" or "es")
end

-- The slowest row of the group, for the length of bars: they are logarithmic if they have to be.
local function bar_scale(group)
    local least, most = math.huge, 0
    for _, row in ipairs(group) do
        if row.median then least, most = math.min(least, row.median), math.max(most, row.median) end
    end
    if most / least < 50 then return function(s) return s / most end, "" end
    local low = math.log(least / 2)
    return function(s) return (math.log(s) - low) / (math.log(most) - low) end, " (logarithmic)"
end

local function table_row(row, scale, colour)
    if row.status ~= "ok" then
        return ("%-36s %s: %s"):format(row.title, row.status, row.reason)
    end
    local bar = ("█"):rep(math.max(1, math.floor(BAR * scale(row.median) + 0.5)))
    if colour and row.name:find("^caret") then bar = "\27[32m" .. bar .. "\27[0m" end
    return ("%-36s %8s %8s %8s %11s %2d  %s"):format(row.title, formats.seconds(row.median),
        formats.seconds(row.min), formats.seconds(row.max), formats.thousands(row.rate), #row.times, bar)
end

--- For the terminal.
function formats.table(results, colour)
    local lines = {}
    local function add(form, ...) lines[#lines + 1] = form:format(...) end
    for _, group in ipairs(formats.groups(results)) do
        local scale, how = bar_scale(group)
        add("%s", formats.heading(group) .. how)
        add("%-36s %8s %8s %8s %11s %s", "", "median", "least", "most", "ops/s", "runs")
        for _, row in ipairs(group) do lines[#lines + 1] = table_row(row, scale, colour) end
        add("")
    end
    for _, name in ipairs(sorted_names(results.left_out)) do
        add("%s is left out: %s", name, results.left_out[name])
    end
    add("%s", formats.machine(results))
    return table.concat(lines, "\n") .. "\n"
end

--- What is told of a row, by the names that JSON and CSV have for it: no figure without a verified answer.
function formats.record(row)
    local r = {name = row.name, title = row.title, version = row.version, n = row.n, workers = row.w,
        status = row.status, reason = row.reason, durability = row.durability, settings = row.settings}
    if row.status ~= "ok" then return r end
    r.seconds, r.least, r.most, r.runs, r.ops_per_second = row.median, row.min, row.max, row.times, row.rate
    r.longest, r.highest, r.reads, r.updates = row.answer.longest, row.answer.highest, row.reads, row.updates
    return r
end

local FIELDS = {"name", "title", "version", "n", "workers", "status", "reason", "seconds", "least", "most",
    "runs", "ops_per_second", "longest", "highest", "reads", "updates", "durability", "settings"}

--- Everything, for programs and for `caret bench compare`.
function formats.json(results)
    local rows, left_out = {}, {}
    for i, row in ipairs(results.rows) do rows[i] = json.fields(formats.record(row), FIELDS) end
    for i, name in ipairs(sorted_names(results.left_out)) do
        left_out[i] = json.object("name", name, "reason", results.left_out[name])
    end
    local described = machine.object(results.machine)
    return json.encode(json.object("benchmark", "3n1", "caret", results.caret, "began", results.began,
        "machine", described, "runs", results.runs,
        "slow_build", results.slow_build, "rows", rows, "left_out", left_out)) .. "\n"
end

return formats
