-- caret 3n1 --rivals: the job on several systems, in turns, with medians.
--
-- Each row is a system, a number of processes and an N.  A first round at a small N warms up, and finds what
-- does not work.  Then the rows take turns, so that drift of the machine hits all alike, each round
-- beginning with another row.  What takes long is not run again and again: the table tells how often.

local caret = require "caret"
local host = require "caret.host"
local programs = require "caret.programs"
local children = require "tool.lib.children"
local command = require "tool.lib.command"
local json = require "tool.lib.json"
local machine = require "3n1.rivals.machine"
local one = require "3n1.rivals.one"
local rivals = require "3n1.rivals.list"

local compare = {}

local WARM_UP_N = 300
local SLOW = 20 -- seconds: a row that needs more is run once

local function progress(text)
    if host.isatty(2) then io.stderr:write("\r", text, "\27[K") end
end

local function report(text)
    progress("")
    io.stderr:write("caret 3n1: ", text, "\n")
end

-- ---------------------------------------------------------------------- rows

-- The rivals that were asked for, in the order of the list.
local function chosen(o)
    local all, wanted, known = rivals.all(o), {}, {}
    local words = o.rivals or "caret"
    for word in words:gmatch("[^,]+") do wanted[word] = true end
    if o.resp then wanted.resp, wanted["resp-tuned"], wanted["resp-script"] = true, true, true end
    if o.program then wanted.program = true end
    if not next(wanted) then command.usage("--rivals needs names or all; see --list") end
    local list = {}
    for _, rival in ipairs(all) do
        known[rival.name] = true
        if wanted.all or wanted[rival.name] then list[#list + 1] = rival end
    end
    for word in words:gmatch("[^,]+") do
        if word ~= "all" and not known[word] then
            command.usage(("--rivals: there is no '%s'; --list tells which there are"):format(word))
        end
    end
    return list
end

local function new_row(rival, n, w, answer)
    local row = {rival = rival, name = rival.name, title = rival.title, n = n, w = w, answer = answer,
        durability = rival.durability, settings = rival.settings, times = {}, status = "ok"}
    if rival.exact and answer.highest > rival.exact then
        row.status, row.reason = "skipped", "numbers above 2^53 are not exact there"
    end
    return row
end

local function make_rows(list, sizes, processes)
    local rows, left_out = {}, {}
    for _, n in ipairs(sizes) do
        local longest, highest = programs.reference(n)
        programs.pause(0)
        if not longest then command.fail(("no memory to compute the answer for N = %d"):format(n)) end
        for _, w in ipairs(processes) do
            for _, rival in ipairs(list) do
                local why = rival.missing and rival.missing()
                if why then
                    left_out[rival.name] = why
                elseif w <= (rival.most_workers or w) then
                    rows[#rows + 1] = new_row(rival, n, w, {longest = longest, highest = highest})
                end
            end
        end
    end
    if #rows == 0 then
        local name, why = next(left_out)
        command.fail(name and ("none of them can run here; %s: %s"):format(name, why)
            or "none of them runs in so many processes", 1)
    end
    return rows, left_out
end

-- ---------------------------------------------------------------------- runs

local function run_row(row, n, limit, answer)
    local r, why = one.run(row.rival, n, row.w, limit, answer)
    if r then return r end
    row.status, row.reason, row.times = "failed", why, {}
    report(("%s with %d process%s: %s"):format(row.title, row.w, row.w == 1 and "" or "es", why))
    return nil
end

local function warm_up(rows, limit)
    local longest, highest = programs.reference(WARM_UP_N)
    for i, row in ipairs(rows) do
        if row.status == "ok" then
            progress(("warming up: %d of %d, %s"):format(i, #rows, row.title))
            run_row(row, WARM_UP_N, limit, {longest = longest, highest = highest})
        end
    end
end

local function run_round(rows, round, o)
    for i = 1, #rows do
        local row = rows[(i + round - 2) % #rows + 1]
        if row.status == "ok" and not row.slow then
            progress(("round %d of %d: %d of %d, %s, N = %d, %d processes"):format(round, o.runs, i, #rows,
                row.title, row.n, row.w))
            local r = run_row(row, row.n, o.limit, row.answer)
            if r then
                row.times[#row.times + 1] = r.seconds
                row.reads, row.updates = r.reads, r.updates
                row.slow = r.seconds > SLOW
            end
        end
    end
end

local function median(sorted)
    local k = #sorted
    return k % 2 == 1 and sorted[k // 2 + 1] or (sorted[k // 2] + sorted[k // 2 + 1]) / 2
end

local function summarise(rows)
    for _, row in ipairs(rows) do
        if row.status == "ok" then
            local sorted = table.move(row.times, 1, #row.times, 1, {})
            table.sort(sorted)
            row.median, row.min, row.max = median(sorted), sorted[1], sorted[#sorted]
            row.rate = (row.reads + row.updates) / row.median
        end
        row.version = row.rival.version and row.rival.version() or nil
    end
end

-- -------------------------------------------------------------------- command

--- caret 3n1 --list
function compare.list(o)
    for _, rival in ipairs(rivals.all {resp = "HOST:PORT", program = "COMMAND"}) do
        local why = rival.missing and rival.missing()
        if o.json then
            print(json.encode(json.object("name", rival.name, "title", rival.title, "durability",
                rival.durability, "settings", rival.settings, "missing", why)))
        else
            print(("%-16s %-28s %s"):format(rival.name, rival.title, why and "can't run: " .. why or "here"))
        end
    end
    return 0
end

local function measure(o, sizes, processes)
    local rows, left_out = make_rows(chosen(o), sizes, processes)
    warm_up(rows, o.limit)
    for round = 1, o.runs do run_round(rows, round, o) end
    summarise(rows)
    return {machine = machine.describe(), rows = rows, left_out = left_out, runs = o.runs, n = sizes,
        w = processes, began = os.date("!%Y-%m-%dT%H:%M:%SZ"), caret = caret._VERSION,
        slow_build = programs.slow_build}
end

local function status_of(results)
    for _, row in ipairs(results.rows) do
        if row.status == "failed" then return 1 end
    end
    return 0
end

--- The comparison that the options ask for; the exit status.
function compare.run(o, sizes, processes)
    o.runs = o.runs or 5
    local formats = require "3n1.rivals.formats"
    if o.out then
        local ok, why = programs.mkdir(o.out)
        if not ok then command.fail("--out: " .. why) end
    end
    command.warn_of_slow_build()
    local results = children.guard(function() return measure(o, sizes, processes) end,
        function() progress("") end)
    command.write(o.json and formats.json(results) or formats.table(results, host.isatty(1)))
    if o.out then require("3n1.rivals.files").all(results, o.out) end
    return status_of(results)
end

return compare
