-- The results of a comparison as files in a folder: JSON, CSV, Markdown, a page, and its charts as SVG and
-- PNG.

local command = require "tool.lib.command"
local formats = require "3n1.rivals.formats"
local page = require "3n1.rivals.page"
local programs = require "caret.programs"

local files = {}

local function csv_field(value)
    local text = math.type(value) == "float" and ("%.9g"):format(value) or tostring(value or "")
    return text:find('[",\n]') and '"' .. text:gsub('"', '""') .. '"' or text
end

local COLUMNS = {"name", "title", "version", "n", "workers", "status", "reason", "seconds", "least", "most",
    "runs", "ops_per_second", "durability", "settings"}

--- A line for each row; one that has no figure has none here.
function files.csv(results)
    local lines = {table.concat(COLUMNS, ",")}
    for _, row in ipairs(results.rows) do
        local record, fields = formats.record(row), {}
        record.runs = record.runs and #record.runs
        for i, column in ipairs(COLUMNS) do fields[i] = csv_field(record[column]) end
        lines[#lines + 1] = table.concat(fields, ",")
    end
    return table.concat(lines, "\n") .. "\n"
end

local function median(row)
    return row.median and formats.seconds(row.median) or row.status
end

local function range(row)
    if not row.median then return row.status end
    if #row.times == 1 then return formats.seconds(row.median) .. " (one run)" end
    return ("%s (%s – %s)"):format(formats.seconds(row.median), formats.seconds(row.min), -- luacheck: ignore
        formats.seconds(row.max))
end

-- The systems with rows of this N, the quickest with the first number of processes first: {row, by_w = {[w]
-- = row}}.
local function systems(results, n)
    local list, by_name = {}, {}
    for _, row in ipairs(results.rows) do
        if row.n == n then
            local s = by_name[row.name]
            if not s then
                s = {row = row, place = #list, by_w = {}}
                by_name[row.name], list[#list + 1] = s, s
            end
            s.by_w[row.w] = row
        end
    end
    table.sort(list, function(a, b)
        local x, y = a.row.median or math.huge, b.row.median or math.huge
        if x ~= y then return x < y end
        return a.place < b.place
    end)
    return list
end

-- A table with a column for each number of processes.
local function markdown_table(results, n, cell, add)
    local heads = {}
    for i, w in ipairs(results.w) do heads[i] = ("%d process%s"):format(w, w == 1 and "" or "es") end
    local form = "| 3n+1 to %s | %s | a loss of power takes |"
    add(form:format(formats.thousands(n), table.concat(heads, " | ")))
    add("|---|" .. ("---|"):rep(#heads + 1))
    for _, s in ipairs(systems(results, n)) do
        local line = {s.row.title}
        for i, w in ipairs(results.w) do line[i + 1] = s.by_w[w] and cell(s.by_w[w]) or "" end
        line[#line + 1] = s.row.durability
        add("| " .. table.concat(line, " | ") .. " |")
    end
    add("")
end

--- For each N a table of medians, and one with the least and the most.
function files.markdown(results)
    local lines = {}
    local function add(text) lines[#lines + 1] = text end
    for _, n in ipairs(results.n) do
        markdown_table(results, n, median, add)
        markdown_table(results, n, range, add)
    end
    add(formats.machine(results))
    return table.concat(lines, "\n") .. "\n"
end

--- Write text to a file, or end the command.
function files.write(path, text)
    local f, why = io.open(path, "wb")
    if f then
        local ok
        ok, why = f:write(text)
        ok = f:close() and ok
        if ok then return end
    end
    command.fail(why or path .. ": can't be written")
end

--- Why no PNG can be made here; nil: one can.
function files.no_png()
    return not programs.find("rsvg-convert") and "rsvg-convert is not installed (make rivals)" or nil
end

--- An SVG as PNG, if rsvg-convert is here (Debian's librsvg2-bin): true | nil, why not.
function files.png(svg, png, zoom)
    local missing = files.no_png()
    if missing then return nil, missing end
    local pid = programs.start({"rsvg-convert", "-z", tostring(zoom), "-o", png, svg}, {err = "/dev/stderr"})
    local _, status = require("caret.host").wait(pid, true)
    if status == 0 then return true end
    return nil, "rsvg-convert failed"
end

--- All of them into a folder that is there.
function files.all(results, folder)
    files.write(folder .. "/results.json", formats.json(results))
    files.write(folder .. "/results.csv", files.csv(results))
    files.write(folder .. "/results.md", files.markdown(results))
    local charts = page.charts(results)
    for _, chart in ipairs(charts) do
        local path = folder .. "/" .. chart.name
        files.write(path .. ".svg", chart.svg)
        files.png(path .. ".svg", path .. ".png", 2)
    end
    files.write(folder .. "/index.html", page.html(results, charts))
end

return files
