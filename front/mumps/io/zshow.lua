-- zshow.lua - ZSHOW: what it tells for each code, as lines to the current device or as nodes of a variable.
--
-- A code has a function that calls put(text) for each line.  Order of "*": I V D L G R, as others print it.
local B = require "mumps.io.base"
local C = require "mumps.host"
local D = require "mumps.io.device"

local Z = {}

local show = {}

-- $VARIABLE=value of every special variable, in order.
function show.I(put)
    local special = require "mumps.runtime.special"
    local quote = require("mumps.values.names").quote
    local names = {}
    for name in pairs(special.readers) do
        names[#names + 1] = name
    end
    table.sort(names)
    for _, name in ipairs(names) do
        put("$" .. name .. "=" .. quote(special.readers[name]()))
    end
end

function show.V(put)
    require("mumps.data.zwrite").all(require("mumps.runtime.symbols").table, put)
end

local function line(d, name)
    return name .. " " .. d.class.describe(d)
end

function show.D(put)
    local p = D.principal()
    local lines = { { p.name, p.input and line(p.input, p.name) or line(p, p.name) } }
    if p.input then
        lines[2] = { p.name .. "-out", line(p, p.name .. "-out") }
    end
    local pool = package.loaded["mumps.io.zsocket"] and require("mumps.io.zsocket").device(nil)
    if pool then
        lines[#lines + 1] = { "YGTMSOCKETPOOL",
            "YGTMSOCKETPOOL " .. require("mumps.io.socket").class.describe(pool) }
    end
    for name, d in pairs(B.devices) do
        if not d.stderr_of then
            lines[#lines + 1] = { name, line(d, name) }
        end
    end
    table.sort(lines, function(a, b) return a[1] < b[1] end)
    for _, entry in ipairs(lines) do
        for text in entry[2]:gmatch "[^\n]+" do
            put(text)
        end
    end
end

-- $VIEW("DEVICE",name): its kind and whether it is open; "" for none.
function Z.kind_of(name)
    local p = D.principal()
    local d = name == p.name and (p.input or p) or B.devices[name]
    local state, kind = (d and d.class.describe(d) or ""):match "^(%u+) (%u+)"
    return state and kind .. ":" .. state or ""
end

local INDIRECT = "        Indirection"

-- The newest place first.
function show.S(put)
    local level = require "mumps.runtime.level"
    local stack = level.stack()
    for _, level_of in ipairs(stack) do
        put(level_of.kind == "XECUTE" and INDIRECT .. level_of.note or level_of.place)
    end
end

-- The same, with a sum of each routine's source: for an XECUTE, of the routine that has it.
function show.R(put)
    local level = require "mumps.runtime.level"
    local lines, sum = {}, nil
    local stack = level.stack()
    for i = #stack, 1, -1 do
        local place = stack[i].place
        local indirect = stack[i].kind == "XECUTE"
        if not sum or not indirect then sum = Z.sum(place:match "%^([%%%w]*)" or "") end
        lines[i] = (indirect and INDIRECT or place) .. ":" .. sum
    end
    for _, text in ipairs(lines) do put(text) end
end

local function of_locks()
    local lock = require "mumps.data.lock"
    return "MLG:" .. lock.granted .. ",MLT:" .. lock.timed_out
end

function show.L(put)
    put(of_locks())
    for _, text in ipairs(require("mumps.data.lock").show()) do
        put(text)
    end
end

function show.B(put)
    for _, text in ipairs(require("mumps.tools.debug").breakpoints()) do
        put(text)
    end
end

function show.A() end

show.C = show.A

local function of_all()
    return "GLD:*,REG:*," .. require("mumps.runtime.view").statistics()
end

-- Statistics of all regions, and of each: there are none.
function show.G(put)
    put(of_all())
    put(("GLD:%s,REG:DEFAULT,"):format(require("mumps.runtime.special").get "ZGBLDIR")
        .. require("mumps.runtime.view").statistics())
end

-- The sums of G and L alone, as if these codes had been given.
function show.T(put)
    put(of_all(), "G")
    put(of_locks(), "L")
end

-- A number of 128 bits that changes with a routine's text.
function Z.sum(name)
    local routine = require "mumps.runtime.routine"
    local ok, r = pcall(routine.get, name)
    local text = ok and r and r.source or ""
    local a, b = 5381, 52711
    for i = 1, #text do
        a = (a * 33 + text:byte(i)) % 4294967296
        b = (b * 65599 + text:byte(i)) % 4294967296
    end
    return ("%08x%08x%08x%08x"):format(a, b, (a * 31 + b) % 4294967296, (b * 37 + a) % 4294967296)
end

local ALL = "IVDLGR"
local LONGEST = 8192 -- bytes that a node of a local variable gets; the rest is in the next one
local FIRST = { L = 0, G = 0 } -- where the nodes of a code begin, if not at 1

local function codes_of(v)
    local text = require("mumps.values.number").str(v):upper()
    local list = {}
    for code in text:gmatch "." do
        if code == "*" then
            return ALL
        elseif not show[code] then
            return B.fail(nil, "ZSHOWBADFUNC")
        end
        list[#list + 1] = list[code] and "" or code
        list[code] = true
    end
    return table.concat(list)
end

-- put(code, n, text) for each line.  Those of a code are gathered first: what is shown must not change by
-- being stored; the next code sees it.  begin(code), if there is one, comes before.
function Z.to(codes, put, begin)
    for code in codes_of(codes):gmatch "." do
        local n, all = FIRST[code] or 1, {}
        if begin then begin(code) end
        show[code](function(text, of)
            all[#all + 1] = { of or code, of and FIRST[of] or n, text }
            n = n + 1
        end)
        for _, entry in ipairs(all) do
            put(entry[1], entry[2], entry[3])
        end
    end
end

local dumps = 0

-- $ZJOBEXAM(template, codes): the file that has the lines now.  It ignores letters that are not codes, and is
-- not an error if the file can't be written.
function Z.jobexam(template, codes)
    local text = require("mumps.values.number").str
    dumps = dumps + 1
    local name = ("YDB_JOBEXAM.ZSHOW_DMP_%d_%d"):format(C.caret_mumps__io_pid(), dumps)
    local path = require("mumps.io.files").zparse(template or "", nil, name)
    local wanted = codes and text(codes) ~= "" and text(codes):upper() or "*"
    local lines = {}
    Z.to(wanted:gsub(".", function(c) return (c == "*" or show[c]) and c or "" end), function(_, _, one)
        lines[#lines + 1] = one .. "\n"
    end)
    local file = io.open(path, "w")
    if file then
        file:write(table.concat(lines))
        file:close()
    end
    return path
end

-- ZSHOW codes, or codes:destination (a reference of mumps.data.ref).
function Z.command(codes, destination)
    if codes == nil then
        codes = "S"
    end
    if not destination then
        return Z.to(codes, function(_, _, text)
            D.line(text)
        end)
    end
    local R = require "mumps.data.ref"
    local cleared, parts = {}, 0
    local function clear(code)
        if cleared[code] then return end
        R.kill(R.extend(destination, 1, code))
        cleared[code], parts = true, 0
    end
    Z.to(codes, function(code, n, text)
        clear(code)
        local at = 1
        while destination.slot and #text - at >= LONGEST do
            R.set(R.extend(destination, 2, code, n + parts), text:sub(at, at + LONGEST - 1))
            at, parts = at + LONGEST, parts + 1
        end
        R.set(R.extend(destination, 2, code, n + parts), text:sub(at))
    end, function(code)
        if code == "V" then clear(code) end -- its old nodes are not variables to be shown
    end)
end

return Z
