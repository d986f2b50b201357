-- Charts as SVG: horizontal bars with their range, and lines.  Colours come from a style sheet in each
-- chart, light or dark as the reader's system is, so that a chart can stand alone or in a page.
--
-- No library: those for Lua draw on bitmaps or need a browser's script, and a chart of this kind is text.

local chart = {}

local WIDTH = 600 -- narrow, so that letters stay readable when a telephone makes it narrower still
local LEFT, RIGHT = 204, 60 -- where bars begin, unless labels are longer
local LETTER = 6.2 -- the mean width of one of a label
local ROW, GAP = 13, 9

-- Light and dark; written out, as what makes PNG files knows no variables.
local COLOURS = {
    ink = {"#1c2024", "#e8ebee"}, soft = {"#5c6670", "#9aa5b0"}, grid = {"#dfe3e6", "#343b42"},
    paper = {"#ffffff", "#15191d"}, caret = {"#0a7d5a", "#2fc797"}, redis = {"#c8443c", "#ef766e"},
    tarantool = {"#8a4fb0", "#bd8be0"}, gtm = {"#2f6db5", "#6da9ea"}, yottadb = {"#1f4f8c", "#9cc4f2"},
    lmdb = {"#b07a10", "#dfae4b"}, sqlite = {"#5a7186", "#94aabf"}, tables = {"#8b8f94", "#a3a8ad"},
    other = {"#a8557f", "#dd8db6"},
}
local FAMILIES = {"caret", "redis", "tarantool", "gtm", "yottadb", "lmdb", "sqlite", "tables", "other"}

local function colours(shade)
    local rules = {(".chart text{fill:%s}.chart .soft{fill:%s}.chart .grid{stroke:%s}" ..
        ".chart .range{stroke:%s}.chart .paper{fill:%s}"):format(
        COLOURS.ink[shade], COLOURS.soft[shade], COLOURS.grid[shade],
        COLOURS.ink[shade], COLOURS.paper[shade])}
    for i, family in ipairs(FAMILIES) do
        local colour = COLOURS[family][shade]
        local form = ".chart .F{fill:C}.chart .F.line{fill:none;stroke:C}"
        rules[i + 1] = form:gsub("[FC]", {F = family, C = colour})
    end
    return table.concat(rules, "\n")
end

local style = [[
.chart{font:12px system-ui,"Segoe UI","DejaVu Sans",sans-serif}.chart .title{font-size:15px;font-weight:600}
.chart .range{stroke-width:1.2;opacity:.65}.chart .line{stroke-width:2;stroke-linejoin:round}
]] .. colours(1) .. "\n@media(prefers-color-scheme:dark){" .. colours(2) .. "}"

--- Text for XML.
function chart.escape(text)
    return (text:gsub("[&<>\"]", {["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;"}))
end

-- ------------------------------------------------------------------- drawing

local canvas = {}
canvas.__index = canvas

local function new_canvas()
    return setmetatable({}, canvas)
end

function canvas:add(form, ...)
    self[#self + 1] = form:format(...)
end

function canvas:text(x, y, class, anchor, text)
    self:add('<text x="%.1f" y="%.1f" class="%s" text-anchor="%s">%s</text>', x, y, class, anchor,
        chart.escape(text))
end

function canvas:line(class, x1, y1, x2, y2)
    self:add('<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>', class, x1, y1, x2, y2)
end

-- The SVG, with its style sheet.
function canvas:finish(height, title)
    local form = '<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 %d %.0f" width="%d" ' ..
        'height="%.0f" role="img" aria-label="%s"><style>%s</style>' ..
        '<rect width="100%%" height="100%%" class="paper"/>\n%s\n</svg>\n'
    return form:format(WIDTH, height, WIDTH, height, chart.escape(title), style, table.concat(self, "\n"))
end

-- -------------------------------------------------------------------- scales

-- Powers of ten (or 1, 2, 5 of them) from below `least` to above `most`.
local function ticks(least, most, fine)
    local list = {}
    local from, to = math.floor(math.log(least, 10) + 1e-9), math.ceil(math.log(most, 10) - 1e-9)
    if from == to then to = to + 1 end
    for power = from, to do
        for _, k in ipairs(fine and {1, 2, 5} or {1}) do
            local value = k * 10.0 ^ power
            if k == 1 or power < to then list[#list + 1] = value end
        end
    end
    while #list > 2 and list[2] <= least do table.remove(list, 1) end
    while #list > 2 and list[#list - 1] >= most do table.remove(list) end
    return list
end

-- value -> place between a and b, logarithmic over the ticks.
local function log_scale(list, a, b)
    local low, high = math.log(list[1]), math.log(list[#list])
    return function(value) return a + (b - a) * (math.log(value) - low) / (high - low) end
end

local function limits(least, most, value)
    return math.min(least, value), math.max(most, value)
end

-- ---------------------------------------------------------------------- bars

-- One bar from x = left with its range and what it says.
local function bar(c, left, scale, y, b, format)
    local x = scale(b.value)
    c:add('<rect class="%s" x="%d" y="%.1f" width="%.1f" height="%d" rx="1.5" fill-opacity="%.2f"/>',
        b.class, left, y, math.max(1, x - left), ROW - 2, b.opacity)
    local low, high = scale(b.least), scale(b.most)
    if high - low > 1.5 then c:line("range", low, y + ROW / 2 - 1, high, y + ROW / 2 - 1) end
    c:text(math.max(x, high) + 4, y + ROW - 3.5, "", "start", format(b.value))
    if b.label then c:text(left - 5, y + ROW - 3.5, "soft", "end", b.label) end
end

-- Room for the labels of bars.
local function wide(group)
    return #group.bars > 1 and 22 or 0
end

local function left_of(groups)
    local left = LEFT
    for _, group in ipairs(groups) do left = math.max(left, 12 + #group.label * LETTER + wide(group)) end
    return math.ceil(left)
end

--- Horizontal bars on a logarithmic axis.
-- d: title, note, format (of values), groups = {{label=, bars = {{value=, least=, most=, class=, opacity=,
-- label=}}}}
function chart.bars(d)
    local c, least, most, y = new_canvas(), math.huge, 0, 52
    local left = left_of(d.groups)
    for _, group in ipairs(d.groups) do
        for _, b in ipairs(group.bars) do least, most = limits(least, most, b.value) end
    end
    local list = ticks(0.8 * least, most) -- so that the shortest is a bar, too
    local scale = log_scale(list, left, WIDTH - RIGHT)
    c:text(12, 22, "title", "start", d.title)
    c:text(12, 38, "soft", "start", d.note)
    local top = y
    for _, group in ipairs(d.groups) do
        y = y + GAP
        group.y, y = y, y + ROW * #group.bars
    end
    for _, tick in ipairs(list) do
        c:line("grid", scale(tick), top, scale(tick), y + 6)
        c:text(scale(tick), y + 19, "soft", "middle", d.format(tick))
    end
    for _, group in ipairs(d.groups) do
        c:text(left - 6 - wide(group), group.y + ROW * #group.bars / 2 + 3, "", "end", group.label)
        for i, b in ipairs(group.bars) do bar(c, left, scale, group.y + ROW * (i - 1), b, d.format) end
    end
    return c:finish(y + 28, d.title)
end

-- --------------------------------------------------------------------- lines

-- Names at the right end, moved apart where they would overlap.
local function end_labels(c, series, right, top)
    table.sort(series, function(a, b) return a.end_y < b.end_y end)
    local y = top - 13
    for _, s in ipairs(series) do
        y = math.max(s.end_y, y + 13)
        c:line("grid", right + 2, s.end_y, right + 8, y)
        c:text(right + 10, y + 4, s.class, "start", s.label)
    end
    return y
end

local function draw_series(c, s, x_scale, y_scale)
    local path = {}
    for i, p in ipairs(s.points) do path[i] = ("%.1f,%.1f"):format(x_scale(p[1]), y_scale(p[2])) end
    c:add('<polyline class="line %s" stroke-dasharray="%s" points="%s"/>', s.class, s.dash,
        table.concat(path, " "))
    for _, p in ipairs(s.points) do
        c:add('<circle class="%s" cx="%.1f" cy="%.1f" r="2.6"/>', s.class, x_scale(p[1]), y_scale(p[2]))
    end
    s.end_y = y_scale(s.points[#s.points][2])
end

--- Lines over logarithmic axes.
-- d: title, note, x_label, x_ticks, x_format, format, series = {{label=, class=, dash=, points = {{x, y},
-- ...}}}
function chart.lines(d)
    local c, least, most = new_canvas(), math.huge, 0
    local left, right, top, bottom = 62, WIDTH - 200, 56, 330
    for _, s in ipairs(d.series) do
        for _, p in ipairs(s.points) do least, most = limits(least, most, p[2]) end
    end
    local list = ticks(least, most, most / least < 30)
    local y_scale, x_scale = log_scale(list, bottom, top), log_scale(d.x_ticks, left + 12, right - 6)
    c:text(12, 22, "title", "start", d.title)
    c:text(12, 38, "soft", "start", d.note)
    for _, tick in ipairs(list) do
        c:line("grid", left, y_scale(tick), right, y_scale(tick))
        c:text(left - 6, y_scale(tick) + 4, "soft", "end", d.format(tick))
    end
    for _, tick in ipairs(d.x_ticks) do
        c:line("grid", x_scale(tick), top, x_scale(tick), bottom)
        c:text(x_scale(tick), bottom + 17, "soft", "middle", d.x_format(tick))
    end
    c:text((left + right) / 2, bottom + 35, "soft", "middle", d.x_label)
    for _, s in ipairs(d.series) do draw_series(c, s, x_scale, y_scale) end
    local last = end_labels(c, d.series, right, top)
    return c:finish(math.max(bottom + 46, last + 14), d.title)
end

return chart
