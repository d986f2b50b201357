-- The results of a comparison as charts, and as one page that needs nothing else: no script, no other file.

local chart = require "3n1.rivals.chart"
local formats = require "3n1.rivals.formats"

local page = {}

local families = {caret = "caret", serve = "caret", postgres = "caret", redis = "redis",
    tarantool = "tarantool", gtm = "gtm", yottadb = "yottadb", lmdb = "lmdb", sqlite = "sqlite",
    tables = "tables"}
local dashes = {"", "6 3", "2 3", "8 3 2 3", "1 2"}

local function family(row)
    return families[row.name:match("^%l+")] or "other"
end

-- 10 ms, 1 s
local function short(seconds)
    return (formats.seconds(seconds):gsub("%.0+ ", " "):gsub("%.(%d)0 ", ".%1 "))
end

-- Rows with a figure of one N, by name, in their order: {title=, name=, by_w = {[w] = row}}.
local function systems(results, n)
    local list, by_name = {}, {}
    for _, row in ipairs(results.rows) do
        if row.n == n and row.median then
            local s = by_name[row.name]
            if not s then
                s = {title = row.title, name = row.name, row = row, by_w = {}}
                by_name[row.name], list[#list + 1] = s, s
            end
            s.by_w[row.w] = row
        end
    end
    return list
end

local function time_chart(results, n)
    local groups = {}
    for _, s in ipairs(systems(results, n)) do
        local bars = {}
        for i, w in ipairs(results.w) do
            local row = s.by_w[w]
            if row then
                bars[#bars + 1] = {value = row.median, least = row.min, most = row.max, class = family(row),
                    opacity = 1 - 0.6 * (i - 1) / math.max(1, #results.w), label = tostring(w)}
            end
        end
        if #bars == 1 then bars[1].label = nil end
        groups[#groups + 1] = {label = s.title, bars = bars}
    end
    if #groups == 0 then return nil end
    local many = #results.w > 1 and "at the bars: processes; " or ""
    local title = ("3n+1 to %s: time"):format(formats.thousands(n))
    return chart.bars {title = title, format = short, groups = groups,
        note = many .. "logarithmic; median, least and most"}
end

-- Systems of one family differ by their dashes.
local function series(list, points_of)
    local lines, used = {}, {}
    for _, s in ipairs(list) do
        local points = points_of(s)
        if #points > 1 then
            local class = family(s.row)
            used[class] = (used[class] or 0) + 1
            lines[#lines + 1] = {label = s.title, class = class, points = points,
                dash = dashes[(used[class] - 1) % #dashes + 1]}
        end
    end
    return lines
end

local function increasing(list)
    local sorted = table.move(list, 1, #list, 1, {})
    table.sort(sorted)
    return sorted
end

local function scaling_chart(results, n)
    local processes = increasing(results.w)
    local lines = series(systems(results, n), function(s)
        local points = {}
        for _, w in ipairs(processes) do
            if s.by_w[w] then points[#points + 1] = {w, s.by_w[w].median} end
        end
        return points
    end)
    if #lines == 0 then return nil end
    return chart.lines {title = ("3n+1 to %s: more processes"):format(formats.thousands(n)), format = short,
        note = "the same work shared by more processes; median time", x_label = "processes",
        x_ticks = processes, x_format = tostring, series = lines}
end

local function cost_chart(results)
    local w, sizes, by_name, order = results.w[1], increasing(results.n), {}, {}
    for _, n in ipairs(sizes) do
        for _, s in ipairs(systems(results, n)) do
            local all = by_name[s.name]
            if not all then
                all = {title = s.title, row = s.row, points = {}}
                by_name[s.name], order[#order + 1] = all, all
            end
            local row = s.by_w[w]
            if row then table.insert(all.points, {n, row.median / n}) end
        end
    end
    local lines = series(order, function(s) return s.points end)
    if #lines == 0 then return nil end
    local function micro(s)
        return s >= 1e-3 and ("%g ms"):format(s * 1e3) or s >= 1e-6 and ("%g µs"):format(s * 1e6) or
            ("%g ns"):format(s * 1e9)
    end
    return chart.lines {title = "The cost of a number as N grows", format = micro, x_label = "N",
        note = ("time divided by N, %d process%s"):format(w, w == 1 and "" or "es"), x_ticks = sizes,
        x_format = formats.thousands, series = lines}
end

--- All charts: {{name =, svg =}, ...}.
function page.charts(results)
    local list = {}
    local function add(name, svg)
        if svg then list[#list + 1] = {name = name, svg = svg} end
    end
    for _, n in ipairs(results.n) do
        add("time-" .. n, time_chart(results, n))
        if #results.w > 1 then add("scaling-" .. n, scaling_chart(results, n)) end
    end
    if #results.n > 1 then add("cost", cost_chart(results)) end
    return list
end

local STYLE = [[
:root{color-scheme:light dark}
body{margin:0 auto;max-width:56rem;padding:1rem;font:16px/1.5 system-ui,"Segoe UI","DejaVu Sans",sans-serif;
background:#fff;color:#1c2024}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}p{max-width:44rem}
figure{margin:0}svg{display:block;width:100%;max-width:46rem;height:auto;
margin:1rem 0}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem;white-space:nowrap}
td,th{padding:.25rem .6rem;border-bottom:1px solid #dfe3e6;text-align:right}
td:first-child,th:first-child,td.text{text-align:left}p.soft{color:#5c6670;font-size:.9rem}.bad{color:#b3261e}
@media(prefers-color-scheme:dark){body{background:#15191d;color:#e8ebee}p.soft{color:#9aa5b0}
td,th{border-color:#343b42}.bad{color:#ef766e}}
]]

local function html_row(row)
    local cells = {("<td>%s</td>"):format(chart.escape(row.title))}
    if row.median then
        for _, text in ipairs {formats.seconds(row.median), formats.seconds(row.min),
            formats.seconds(row.max), formats.thousands(row.rate), tostring(#row.times)} do
            cells[#cells + 1] = ("<td>%s</td>"):format(text)
        end
    else
        cells[#cells + 1] = ('<td colspan="5" class="text bad">%s: %s</td>'):format(row.status,
            chart.escape(row.reason))
    end
    for _, text in ipairs {row.version or "", row.settings, row.durability} do
        cells[#cells + 1] = ('<td class="text">%s</td>'):format(chart.escape(text))
    end
    return "<tr>" .. table.concat(cells) .. "</tr>"
end

--- The page.
function page.html(results, charts)
    local parts = {}
    local function add(form, ...) parts[#parts + 1] = form:format(...) end
    add('<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Caret: 3n+1</title>')
    add('<meta name="viewport" content="width=device-width,initial-scale=1">')
    add("<style>%s</style></head><body>", STYLE)
    add("<h1>3n+1 on Caret and beside it</h1>")
    add("<p>For every n from 1 to N the sequence (odd: 3n+1, even: n/2) is followed until it meets a " ..
        "number whose length is known, and the length of every number on the way is stored. Each figure " ..
        "is of a run whose answer was verified; time is from the moment all processes are ready to the " ..
        "end of the last.</p>")
    add('<p class="soft">%s. %d runs in turns, after a warm-up.</p>', chart.escape(formats.machine(results)),
        results.runs)
    if results.slow_build then
        add('<p class="bad">The tool was built with %s: the figures of Caret say nothing.</p>',
            results.slow_build)
    end
    for _, c in ipairs(charts) do add('<figure id="%s">%s</figure>', c.name, c.svg) end
    for _, group in ipairs(formats.groups(results)) do
        add('<h2>%s</h2><div class="wide"><table><tr><th></th><th>median</th><th>least</th><th>most</th>' ..
            '<th>operations/s</th><th>runs</th><th class="text">version</th><th>settings</th>' ..
            "<th>a loss of power takes</th></tr>", formats.heading(group))
        for _, row in ipairs(group) do add("%s", html_row(row)) end
        add("</table></div>")
    end
    for name, why in pairs(results.left_out) do
        add('<p class="soft">Left out: %s, %s.</p>', chart.escape(name), chart.escape(why))
    end
    add("</body></html>\n")
    return table.concat(parts, "\n")
end

return page
