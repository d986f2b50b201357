-- caret 3n1 --draw: the sequences meeting each other, as a tree that grows from 1.
--
-- Each number of ^step is a twig on the number after it in its sequence, as far from the root as its
-- length tells. It bends one way where that step was even and the other way where it was odd, so that what
-- is common to many sequences is drawn once; the more numbers are above a twig, the thicker it is.
--
--     1. ^step(n) in the order of lengths: the number after n has its place before n has.
--     2. The other way round: how many numbers are above each.
--     3. Branches: from a tip towards the root until a twig that is drawn already.  Pieces of one thickness
--     and
--        colour become one path of the SVG, in whole units of a tenth of a pixel, each relative to the one
--        before.

local caret = require "caret"
local command = require "tool.lib.command"
local files = require "3n1.rivals.files"
local host = require "caret.host"

local draw = {}

local EVEN, ODD = math.rad(7.5), math.rad(-13.6) -- tried: a tree that neither curls up nor falls over
local UPRIGHT = math.rad(-104)
local SIZE, MARGIN = 10000, 350 -- units of the longer side of the picture and its margin
local SHADES = 9
local THIN, THICK = 7, 75

-- Numbers by their length: order[1] = 1, then ascending; lengths are small, so they are counted.
local function read_steps(db)
    local by_length, most = {}, 0
    for node, value, n in db.node("^step"):pairs() do -- luacheck: ignore 213
        local length = tonumber(value)
        local list = by_length[length]
        if not list then
            list = {}
            by_length[length] = list
        end
        list[#list + 1] = n
        most = math.max(most, length)
    end
    local order = {1}
    for length = 1, most do
        table.move(by_length[length] or {}, 1, #(by_length[length] or {}), #order + 1, order)
    end
    return order, most
end

local function follower(n)
    return n % 2 == 0 and n // 2 or 3 * n + 1
end

-- x, y of each number, and the box around them.  Twigs get a little shorter on the way up.
local function places(order)
    local x, y, angle, reach = {[1] = 0}, {[1] = 0}, {[1] = UPRIGHT}, {[1] = 1}
    local box = {0, 0, 0, 0}
    for i = 2, #order do
        local n = order[i]
        local below = follower(n)
        local a = angle[below] + (n % 2 == 0 and EVEN or ODD)
        local r = reach[below] * 0.9965
        local px, py = x[below] + r * math.cos(a), y[below] + r * math.sin(a)
        x[n], y[n], angle[n], reach[n] = px, py, a, r
        if px < box[1] then box[1] = px elseif px > box[3] then box[3] = px end
        if py < box[2] then box[2] = py elseif py > box[4] then box[4] = py end
    end
    return x, y, box
end

-- How many numbers are above each, itself included.
local function weights(order)
    local weight = {}
    for i = #order, 2, -1 do
        local n = order[i]
        local below = follower(n)
        weight[n] = (weight[n] or 0) + 1
        weight[below] = (weight[below] or 0) + weight[n]
    end
    return weight
end

-- To whole units within the picture.
local function fitted(order, x, y, box)
    local wide, high = box[3] - box[1], box[4] - box[2]
    local scale = (SIZE - 2 * MARGIN) / math.max(wide, high, 1)
    for _, n in ipairs(order) do
        x[n] = math.floor((x[n] - box[1]) * scale + MARGIN + 0.5)
        y[n] = math.floor((y[n] - box[2]) * scale + MARGIN + 0.5)
    end
    return math.ceil(wide * scale + 2 * MARGIN), math.ceil(high * scale + 2 * MARGIN)
end

-- Branches in pieces of one thickness: pieces[shade] = list of path texts, 1 is the thinnest.
local function branches(order, x, y, weight)
    local pieces, drawn, heaviest = {}, {[1] = true}, math.log(weight[1] + 1)
    for shade = 1, SHADES do pieces[shade] = {} end
    local function shade_of(n)
        return 1 + math.floor((SHADES - 1) * (math.log(weight[n]) / heaviest) ^ 0.9 + 0.5)
    end
    for i = #order, 2, -1 do
        local n, path, shade = order[i], nil, nil
        while not drawn[n] do
            drawn[n] = true
            local below, now = follower(n), shade_of(n)
            if now ~= shade then
                if path then table.insert(pieces[shade], table.concat(path)) end
                path, shade = {("M%d %dl"):format(x[n], y[n])}, now
            end
            path[#path + 1] = ("%d %d "):format(x[below] - x[n], y[below] - y[n])
            n = below
        end
        if path then table.insert(pieces[shade], table.concat(path)) end
    end
    return pieces
end

-- From blue at the tips over green to gold at the root.
local function colour(part)
    local stops, c = {{52, 122, 158}, {92, 200, 160}, {255, 221, 150}}, {}
    local at = math.min(part, 0.999) * (#stops - 1)
    local from, to = stops[math.floor(at) + 1], stops[math.floor(at) + 2]
    for i = 1, 3 do c[i] = math.floor(from[i] + (to[i] - from[i]) * (at % 1) + 0.5) end
    return ("#%02x%02x%02x"):format(table.unpack(c))
end

local function svg(n, pieces, wide, high)
    local head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" ' ..
        'role="img" aria-label="3n+1 to %d">\n<rect width="100%%" height="100%%" fill="#0e1a1f"/>\n' ..
        '<g fill="none" stroke-linecap="round" stroke-linejoin="round">'
    local parts = {head:format(wide, high, wide // 10, high // 10, n)}
    for shade, list in ipairs(pieces) do
        local part = (shade - 1) / (SHADES - 1)
        local width = THIN + (THICK - THIN) * part ^ 2.2
        parts[#parts + 1] = ('<path stroke="%s" stroke-width="%.0f" stroke-opacity="%.2f" d="%s"/>'):format(
            colour(part), width, 0.55 + 0.45 * part, table.concat(list))
    end
    parts[#parts + 1] = "</g></svg>\n"
    return table.concat(parts, "\n")
end

local function picture(db, n)
    local order = read_steps(db)
    local x, y, box = places(order)
    local weight = weights(order)
    weight[1] = weight[1] or 1
    local wide, high = fitted(order, x, y, box)
    return svg(n, branches(order, x, y, weight), wide, high), #order
end

local function write(text, path, dir)
    if path:find("%.svg$") then return files.write(path, text) end
    local between = dir .. "/tree.svg"
    files.write(between, text)
    local ok, why = files.png(between, path, 1)
    if not ok then command.fail(("--draw %s: %s; an .svg needs nothing"):format(path, why)) end
end

--- Run the job, draw what it left in the database; the exit status.
function draw.run(o)
    if not o.draw:find("%.svg$") and not o.draw:find("%.png$") then
        command.usage(("--draw needs a file that ends in .svg or .png, not '%s'"):format(o.draw))
    elseif o.db or o.keep then
        command.usage("--draw takes a database of its own: no --db, no --keep")
    end
    local why = o.draw:find("%.png$") and files.no_png() -- before the work, not after it
    if why then command.fail(("--draw %s: %s; an .svg needs nothing"):format(o.draw, why)) end
    return host.scratch(function(dir)
        o.db, o.keep = dir .. "/3n1.caret", true
        local status = require("3n1.job").run(o)
        if status ~= 0 then return status end
        local db = assert(caret.open(o.db, {create = false}))
        local text, count = picture(db, o.n)
        db:close()
        write(text, o.draw, dir)
        if not o.json then print(("%s: %d numbers"):format(o.draw, count)) end
        return 0
    end)
end

return draw
