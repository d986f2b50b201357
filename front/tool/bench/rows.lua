-- Rows of percentiles from histograms {[nanoseconds] = count}, as a table or JSON.

local command = require "tool.lib.command"
local formats = require "3n1.rivals.formats"
local json = require "tool.lib.json"
local machine = require "3n1.rivals.machine"

local rows = {}

local PERCENTILES = {{"p50_ns", 0.5}, {"p90_ns", 0.9}, {"p99_ns", 0.99}, {"p999_ns", 0.999}}
local FIELDS = {"name", "n", "workers", "count", "ops_per_second", "mean_ns", "p50_ns", "p90_ns", "p99_ns",
    "p999_ns", "max_ns"}

--- A row of a histogram: count, mean, percentiles and maximum; nil if nothing was counted.
function rows.new(name, histogram)
    local values, count, sum = {}, 0, 0
    for ns, times in pairs(histogram) do
        values[#values + 1], count, sum = ns, count + times, sum + ns * times
    end
    if count == 0 then return nil end
    table.sort(values)
    local row = {name = name, count = count, mean_ns = sum / count, max_ns = values[#values]}
    local seen, i = 0, 1
    for _, ns in ipairs(values) do
        seen = seen + histogram[ns]
        while i <= #PERCENTILES and seen >= PERCENTILES[i][2] * count do
            row[PERCENTILES[i][1]], i = ns, i + 1
        end
    end
    return row
end

local function print_rows(list)
    print(("%-34s %10s %9s %9s %9s %9s %9s %10s"):format("nanoseconds", "count", "mean", "50 %", "90 %",
        "99 %", "99.9 %", "most"))
    for _, r in ipairs(list) do
        local rate = r.ops_per_second and ("  %s/s"):format(formats.thousands(r.ops_per_second)) or ""
        print(("%-34s %10s %9.0f %9d %9d %9d %9d %10d%s"):format(r.name, formats.thousands(r.count),
            r.mean_ns, r.p50_ns, r.p90_ns, r.p99_ns, r.p999_ns, r.max_ns, rate))
    end
end

--- Print them, as the options want.
function rows.print(benchmark, list, o)
    if not o.json then return print_rows(list) end
    local objects = {}
    for i, r in ipairs(list) do objects[i] = json.fields(r, FIELDS) end
    command.write(json.encode(json.object("benchmark", benchmark, "caret", require("caret")._VERSION,
        "began", os.date("!%Y-%m-%dT%H:%M:%SZ"), "machine", machine.object(),
        "slow_build", require("caret.programs").slow_build, "rows", objects)), "\n")
end

return rows
