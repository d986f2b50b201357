-- $ZDATE: a day of $HOROLOG, and its second, as text.  Day 0 is 31 December 1840, a Thursday.
local fail = require "mumps.values.fail"
local number = require "mumps.values.number"

local str, int = number.str, number.int
local floor, format, sub, find = math.floor, string.format, string.sub, string.find

local D = {}
local FIRST, LAST = -365, 364570088
local MONTHS = "JAN,FEB,MAR,APR,MAY,JUN,JUL,AUG,SEP,OCT,NOV,DEC"
local DAYS = "SUN,MON,TUE,WED,THU,FRI,SAT"

-- Year, month and day of a day of $HOROLOG, by years that begin in March: Hinnant's algorithm.
function D.civil(day)
    local z = day + 672351
    local era = floor(z / 146097)
    local doe = z - era * 146097
    local yoe = floor((doe - floor(doe / 1460) + floor(doe / 36524) - floor(doe / 146096)) / 365)
    local doy = doe - (365 * yoe + floor(yoe / 4) - floor(yoe / 100))
    local mp = floor((5 * doy + 2) / 153)
    local month = mp < 10 and mp + 3 or mp - 9
    return yoe + era * 400 + (month <= 2 and 1 or 0), month, doy - floor((153 * mp + 2) / 5) + 1
end

-- The day of $HOROLOG of a second since 1970, and the second of that day.
function D.horolog(seconds)
    return 47117 + floor(seconds / 86400) .. "," .. seconds % 86400
end

local function nth(list, n)
    for item in (list .. ","):gmatch("([^,]*),") do
        n = n - 1
        if n == 0 then return item end
    end
    return ""
end

-- What the parts of a format give: t is {year, month, day, weekday, second}.
local parts = {
    YEAR = function(t) return format("%04d", t.year % 10000) end,
    MM = function(t) return format("%02d", t.month) end,
    DD = function(t) return format("%02d", t.day) end,
    MON = function(t) return nth(t.months, t.month) end,
    DAY = function(t) return nth(t.days, t.weekday) end,
    ["12"] = function(t) return format("%02d", (floor(t.second / 3600) + 11) % 12 + 1) end,
    ["24"] = function(t) return format("%02d", floor(t.second / 3600)) end,
    ["60"] = function(t) return format("%02d", floor(t.second / 60) % 60) end,
    SS = function(t) return format("%02d", t.second % 60) end,
    AM = function(t) return t.second < 43200 and "AM" or "PM" end,
}
local bare = {}
for c in ("+;.-*: ,/"):gmatch(".") do bare[c] = true end

local function years(form, at, t)
    local _, last = find(form, "^Y+", at)
    local n = math.min(last - at + 1, 7)
    if n < 2 then return fail("ZDATEFMT") end
    return format("%0" .. n .. "d", t.year % 10 ^ n), at + n
end

local function part(form, at, t)
    for n = 4, 2, -1 do
        local make = parts[sub(form, at, at + n - 1)]
        if make then return make(t), at + n end
    end
    local c = sub(form, at, at)
    if bare[c] then return c, at + 1 end
    if c == "Y" then return years(form, at, t) end
    return fail("ZDATEFMT")
end

local function written(form, t)
    local out, at, text = {}, 1
    while at <= #form do
        text, at = part(form, at, t)
        out[#out + 1] = text
    end
    return table.concat(out)
end

local function moment(h)
    local comma = find(h, ",", 1, true)
    local first = comma and sub(h, 1, comma - 1) or h
    local day, second = int(first), 0
    if comma then second = int(sub(h, comma + 1)) end
    if day < FIRST or day > LAST then return fail("ZDATEBADDATE", first) end
    if second < 0 or second > 86399 then return fail("ZDATEBADTIME", str(second)) end
    return day, second
end

local function given(v)
    v = v and str(v) or ""
    return v ~= "" and v or nil
end

-- $ZDATEFORM says how many digits a year has that no format was given for: 1 means four from 2000 on.
local function usual(year)
    local digits = require("mumps.runtime.special").readers.ZDATEFORM()
    return (digits == 0 or (digits == 1 and year < 2000)) and "MM/DD/YY" or "MM/DD/YEAR"
end

function D.zdate(h, form, months, days)
    local day, second = moment(str(h))
    local t = { second = second, weekday = (day + 4) % 7 + 1 }
    t.year, t.month, t.day = D.civil(day)
    t.months, t.days = given(months) or MONTHS, given(days) or DAYS
    form = given(form)
    if not form or form == "1" then form = usual(t.year) end
    if form == "2" then form = "DD-MON-YY" end
    return written(form, t)
end

return D
