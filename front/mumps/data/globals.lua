-- globals.lua - global variables.
--
-- Each reference in a program's text has a place, made when the routine is loaded:
--
--     P = {p = what C knows of it (data.h), d = how many subscripts are constants of the text, name = "^A",
--          [1..] = the variable subscripts but the last that p has now, at = the last one if a step left p
--          there}
--
-- A place without p is made ready by each use (prepare): the first, which opens the database; each one of a
-- naked reference, whose beginning is that of the reference before; and that of a place with an environment
-- that was not chosen. So the others need not ask. The functions are families by the number of variable
-- subscripts (arity.lua).
--
-- N.last is the place of the last reference, and p knows what it was, but for what $ORDER was told, which is
-- N.arg: that is the naked indicator and $REFERENCE.
--
-- A place that steps (next, prev) does nothing else.
--
-- p.number = 0 before each call that may leave a number there: mumps.host says why.

local ffi = require "ffi"
local arity = require "mumps.runtime.arity"
local C = require "mumps.host"
local report = require "mumps.data.report"
local symbols = require "mumps.runtime.symbols"

local G = {}

local type, setmetatable = type, setmetatable
local ffi_string = ffi.string
local list, family = arity.list, arity.family
local new_place = ffi.typeof "caret_mumps__place"
local c_name, c_copy, c_cut = C.caret_mumps__place_name, C.caret_mumps__place_copy, C.caret_mumps__cut
local c_depth, c_sub = C.caret_mumps__place_depth, C.caret_mumps__place_sub
local aim_i, aim_t = C.caret_mumps__aim_i, C.caret_mumps__aim_t
local query, next_global, c_below = C.caret_mumps__query, C.caret_mumps__next_global, C.caret_mumps__below
local NONE, NUMBER, TEXT, KEY2BIG = 1, 101, 102, -4
local ACCESS = "Access or update failed because"

local N = {last = false, arg = false}
local places = setmetatable({}, {__mode = "k"}) -- that have a p
local sessions = {} -- by name of the database

-- ---------------------------------------------------------------- sessions

-- An environment is a database that there is; that of the process is made.
local function look_for(env)
    local file, _, number = io.open((env:gsub("%.gld$", ".caret")))
    if not file then return report.no_database(env, number) end
    file:close()
end

local function session(env)
    local s = sessions[env]
    if s then return s end
    if env ~= "" then look_for(env) end
    s = C.caret_mumps__session(env, #env)
    if s == nil then return report.no_database(env, ffi_string(C.caret_mumps__why())) end
    sessions[env] = s
    return s
end
G.session = session

-- The database of $ZGBLDIR, which may change.
function G.use(name)
    local s = session(name)
    for P in pairs(places) do P.p.s = s end
    G.default = name
end
G.default = ""

-- Calls come by another session from now on, as another thread of the host's makes them.
function G.reselect()
    sessions = {}
    for P in pairs(places) do P.p.s = session(P.env or G.default) end
end

-- ------------------------------------------------------------------- places

local function clear(P)
    for i = 1, #P do P[i] = nil end
    P.at = nil
end

-- ...: the subscripts after the constants, for the text of an error.
local function fill(P, s, ...)
    local p = new_place()
    p.s = s
    local rc = c_name(p, P.name, #P.name)
    for i = 1, P.d do
        local sub = P.constants[i]
        if rc == 0 then
            if type(sub) == "number" then
                rc = aim_i(p, i - 1, sub)
            else
                rc = aim_t(p, i - 1, sub, #sub, i == P.d and 1 or 0)
                P.empty = sub == ""
            end
        end
    end
    if rc ~= 0 then return report.bad_subscript(rc, P.name, P.constants, ...) end
    return p
end

-- The beginning of a naked reference: the last one's, but its last subscript.
local function take_naked(P)
    local last, p = N.last, P.own
    local depth = last and c_depth(last.p or last.own) or 0
    if depth == 0 then return report.fail("GVNAKED") end
    if last ~= P then c_copy(p, last.p or last.own) end
    P.name, P.d, P.env = last.name, depth - 1, last.env
    clear(P)
    return p
end

local function prepare(P, ...)
    if P.own then return take_naked(P) end
    local p = fill(P, session(P.env or G.default), ...)
    P.p = p
    places[P] = true
    return p
end

function G.place(name, constants)
    return {p = false, d = #constants, name = name, constants = constants, empty = false, at = nil}
end

function G.naked()
    return {p = false, d = 0, name = "^", own = new_place()}
end

function G.extended(name, constants)
    local P = G.place(name, constants)
    P.envs = {}
    return P
end

-- Choose the environment of a place.
function G.at(P, env)
    env = report.text(env)
    if P.env == env and P.p then return P end
    P.p, P.env = P.envs[env] or false, env
    clear(P)
    P.envs[env] = P.p or prepare(P)
    return P
end

-- ------------------------------------------------------------------- texts

local function subscript(p, i)
    p.number = 0
    if c_sub(p, i) == NUMBER then return p.number end
    return ffi_string(p.text, p.len)
end

local function subscripts(p)
    local subs, n = {}, c_depth(p)
    for i = 1, n do subs[i] = subscript(p, i - 1) end
    return subs, n
end
G.subscripts = subscripts

local function text(P, p, arg)
    local subs, n = subscripts(p)
    if arg then subs[n] = arg end
    return report.name(P.name, n, subs, P.env)
end

function G.reference()
    local last = N.last
    return last and text(last, last.p or last.own, N.arg) or ""
end

-- The indicator as something that stays as it is, in saved.p, and back.
function G.save_naked(saved)
    local last, p = N.last, saved.p
    if not last then return false end
    c_copy(p, last.p or last.own)
    if N.arg then
        local n = c_depth(p)
        if type(N.arg) == "number" then aim_i(p, n - 1, N.arg) else aim_t(p, n - 1, N.arg, #N.arg, 1) end
    end
    saved.name, saved.env = last.name, last.env
    return saved
end

function G.restore_naked(saved) N.last, N.arg = saved, false end

-- --------------------------------------------------------------------- going

-- What an answer of C's means that is not a value: nil for no data; or an error.
local function no_value(P, p, rc, what)
    if rc == NONE then return nil end
    N.last = false
    return report.failed(rc, function() return text(P, p) end, what)
end

local function undefined(P, p, rc)
    no_value(P, p, rc, ACCESS)
    if symbols.lenient then return "" end
    return report.fail("GVUNDEF", text(P, p))
end

local function failed(P, p, rc, what)
    N.last = false
    clear(P)
    return no_value(P, p, rc, what)
end

-- The first of these subscripts was refused, the others were not looked at.
local function refused(P, p, rc, what, ...)
    N.last = false
    clear(P)
    local refusals, more = {...}, select("#", ...)
    return report.failed(rc, function()
        if rc == KEY2BIG then return (text(P, p):gsub("%)$", "") .. "*") end
        local subs, n = subscripts(p)
        for i = 1, more do subs[n + i] = refusals[i] end
        return report.name(P.name, n + more, subs, P.env)
    end, what)
end

-- A constant that is empty.
local function null(P, p, what)
    N.last = false
    return report.failed(103, function() return text(P, p) end, what)
end

-- P has only i subscripts yet.
local function cut(P, i)
    for j = #P, i + 1, -1 do P[j] = nil end
end

-- Put subscript i (from 0) that is not the one there: nil, or the answer that refused it.
local function aim(P, p, i, sub, empty)
    local rc
    if P[i + 1] ~= nil then cut(P, i) end
    P.at = nil
    if type(sub) == "number" then
        rc = aim_i(p, P.d + i, sub)
    else
        rc = aim_t(p, P.d + i, sub, #sub, empty)
    end
    if rc ~= 0 then
        c_cut(p, P.d + i)
        return rc
    end
end

-- The same with one of a list.
local function put(P, p, i, subs, empty)
    local rc = aim(P, p, i, subs[i + 1], empty)
    if rc then return refused(P, p, rc, ACCESS, unpack(subs, i + 1, subs.n)) end
end

local env = {type = type, N = N, prepare = prepare, string = ffi_string, aim = aim, undefined = undefined,
             no_value = no_value, failed = failed, refused = refused, null = null, text = text, c_cut = c_cut,
             get = C.caret_mumps__get, get_i = C.caret_mumps__get_i, get_t = C.caret_mumps__get_t,
             set_i = C.caret_mumps__set_i, set_t = C.caret_mumps__set_t, set_ii = C.caret_mumps__set_ii,
             set_it = C.caret_mumps__set_it, kill = C.caret_mumps__kill, zkill = C.caret_mumps__zkill,
             data = C.caret_mumps__data, data_i = C.caret_mumps__data_i,
             next = C.caret_mumps__next, next_i = C.caret_mumps__next_i,
             first = C.caret_mumps__first, first_i = C.caret_mumps__first_i,
             first_of = C.caret_mumps__first_of, clear = clear, unset = symbols.unset,
             prev = C.caret_mumps__prev, incr = C.caret_mumps__incr, report_text = report.text}

-- Source that puts subscript i of n, with aim()'s last argument.
local function aiming(i, n, what, empty)
    local rest = list(n, "s"):gsub("^" .. ("s%d+, "):rep(i - 1), "")
    return ("do local rc = _aim(P, p, %d, s%d, %s) if rc then "):format(i - 1, i, empty) ..
           ('return _refused(P, p, rc, "%s failed because", %s) end end '):format(what, rest)
end

-- Source that puts subscript i of n unless it is there.
local function placing(i, n)
    local put_it = aiming(i, n, "Access or update", 0)
    return ("if P[%d] ~= s%d then %sP[%d] = s%d end "):format(i, i, put_it, i, i)
end

-- A function's head, with p and the first `placed` subscripts, or n - 1, in their place; the numbers of
-- levels.
local function head(n, after, placed)
    local puts = ""
    for i = 1, placed or n - 1 do puts = puts .. placing(i, n) end
    return "function(" .. list(n, "s", "P", after) .. ") local p = P.p or _prepare(" .. list(n, "s", "P") ..
           ") p.number = 0 local d = P.d + " .. math.max(n - 1, 0) .. " " .. puts
end

local function with_last(n, body) return (body:gsub("sN", "s" .. n):gsub("LEVEL", n - 1)) end

-- The place is what it was: of n variable subscripts.
local function all(n, empty, what)
    if n == 0 then
        return "_c_cut(p, d) " ..
            (empty == "0" and 'if P.empty then _null(P, p, "' .. what .. ' failed because") end ' or "")
    end
    return aiming(n, n, what, empty)
end

local NOTE = "_N.last, _N.arg = P, false "
local VALUE = "if rc == 101 then return p.number end if rc == 102 then return _string(p.text, p.len) end "

local function getter(otherwise, what)
    return function(n)
        local ask = all(0, "0", what) .. "local rc = _get(p) "
        if n > 0 then
            ask = with_last(n, 'local rc if _type(sN) == "number" then rc = _get_i(p, d, sN) ' ..
                "else rc = _get_t(p, d, sN, #sN) " ..
                "if rc == 103 or rc < 0 then " .. all(n, "0", what) .. "end end ")
        end
        return head(n) .. ask .. NOTE .. VALUE .. otherwise .. " end"
    end
end
G.get = family(getter("return _undefined(P, p, rc)", "$GET()"), env)
G.peek = family(getter('return _no_value(P, p, rc, "$GET() failed because")', "$GET()"), env)

-- Source that sets v by one of two calls.  A nil is a variable without a value, which is told after the
-- reference.
local function setting(as_number, as_text, aimed)
    return 'local rc if _type(v) == "number" then rc = ' .. as_number .. " elseif v then rc = " .. as_text ..
        " else " .. aimed .. NOTE .. "return _unset() end "
end

G.set = family(function(n)
    local WHAT = "if rc ~= 0 then _failed(P, p, rc, 'Update failed because') end "
    local aimed = all(n, "0", "Update")
    local plain = aimed .. setting("_set_i(p, v)", "_set_t(p, v, #v)", "")
    if n == 0 then return head(n, "v") .. plain .. NOTE .. WHAT .. "end" end
    local quick = setting("_set_ii(p, d, sN, v)", "_set_it(p, d, sN, v, #v)", aimed) .. NOTE .. WHAT
    quick = with_last(n, 'if _type(sN) == "number" then ' .. quick .. "return end ")
    return head(n, "v") .. quick .. plain .. NOTE .. WHAT .. "end"
end, env)

local function doing(n, call, result, what)
    return all(n, "0", what) .. "local rc = " .. call .. "(p) " .. NOTE ..
           'if rc ~= 0 then _failed(P, p, rc, "Update failed because") end ' .. result .. " end"
end

local function doer(call, what)
    return function(n) return head(n) .. doing(n, call, "", what) end
end
G.kill = family(doer("_kill", "KILL"), env)
G.zkill = family(doer("_zkill", "ZKILL/ZWITHDRAW"), env)
G.data = family(function(n)
    local plain = doing(n, "_data", "return p.number", "$DATA()")
    if n == 0 then return head(n) .. plain end
    return head(n) .. with_last(n, 'if _type(sN) == "number" and _data_i(p, d, sN) == 0 then ') .. NOTE ..
           "return p.number end " .. plain
end, env)

G.incr = family(function(n)
    return head(n, "by") .. all(n, "0", "$INCREMENT()") ..
           "by = _report_text(by) local rc = _incr(p, by, #by) " .. NOTE .. VALUE ..
           'return _failed(P, p, rc, "Update failed because") end'
end, env)

-- $ORDER.  A place that was left at a subscript by the step before goes on from there.
local STEPPED = "if rc == 101 then local v = p.number P.at = v return v end " ..
    "if rc == 102 then local v = _string(p.text, p.len) P.at = v return v end " ..
    'P.at = nil if rc == 1 then return "" end return _failed(P, p, rc, "$ORDER() failed because") '

-- Down to the first one below a number that the place is not at yet, at once, as walks of trees come there.
-- What is refused is left to what comes then, which tells why.
local function down(n)
    if n == 1 then return "" end
    return ('if P[I] ~= sI and sN == "" and _type(sI) == "number" then rc = _first_i(p, d - 1, sI) ' ..
        "if rc >= 0 then P[I] = sI else rc, P[I] = nil, nil _c_cut(p, d - 1) end end " ..
        "if not rc then " .. placing(n - 1, n) .. "end "):gsub("I", n - 1)
end

G.next = family(function(n)
    return head(n, nil, n - 2) .. with_last(n, "local rc " .. down(n) .. "if rc then " ..
        "elseif sN == P.at then rc = _next(p) " ..
        'elseif _type(sN) == "number" then rc = _next_i(p, d, sN) ' ..
        'else if sN == "" then rc = _first(p, d) end ' ..
        "if not rc or rc < 0 then " .. aiming(n, n, "Access or update", 1) ..
        "rc = _next(p) end end _N.last, _N.arg = P, sN ") .. STEPPED .. "end"
end, env)

-- next[n + 1](P, s1..sn, "") where Q may be the place that a step left at s1..sn.
G.first_of = family(function(n)
    local subs, there, puts = list(n, "s"), "", ""
    for i = 1, n - 1 do there = there .. ("Q[%d] == s%d and "):format(i, i) end
    for i = 1, n do puts = puts .. ("P[%d] = s%d "):format(i, i) end
    return "function(P, Q, " .. subs .. ") if Q.p and " .. there .. "Q.at == s" .. n .. " then " ..
        "local p = P.p or _prepare(P, " .. subs .. ") p.number = 0 local rc = _first_of(p, Q.p) " ..
        'if rc >= 0 then _N.last, _N.arg = P, "" ' .. puts .. STEPPED ..
        "end _clear(P) end return _next[" .. n + 1 .. "](P, " .. subs .. ', "") end'
end, setmetatable({next = G.next}, {__index = env}))

G.prev = family(function(n)
    return head(n) .. with_last(n, "if sN ~= P.at then " .. aiming(n, n, "Access or update", 1) ..
        "end local rc = _prev(p) _N.last, _N.arg = P, sN ") .. STEPPED .. "end"
end, env)

-- ------------------------------------------------------------------- $QUERY

local scratch = new_place()

local function queried(P, p, back)
    c_copy(scratch, p)
    local rc = query(scratch, back)
    if rc == NUMBER or rc == TEXT then return text(P, scratch) end
    no_value(P, p, rc, "$QUERY() failed because")
    return ""
end

local function querier(back)
    return function(n)
        return head(n) .. all(n, "1", "$QUERY()") .. NOTE .. "return _queried(P, p, " .. back .. ") end"
    end
end
env.queried = queried
G.query = family(querier "0", env)
G.queryback = family(querier "1", env)

-- -------------------------------------------------------------------- names

function G.name(P, n, ...)
    local subs = {...}
    local fixed = P.constants or {}
    if P.own then
        local last = N.last
        local depth = last and c_depth(last.p or last.own) or 0
        if depth == 0 then return report.fail("GVNAKED") end
        fixed = subscripts(last.p or last.own)
        fixed[depth] = nil
        P.name, P.env = last.name, last.env
    end
    local from, whole = #fixed, {}
    for i = 1, from do whole[i] = fixed[i] end
    for i = 1, n do whole[from + i] = subs[i] end
    return report.name(P.name, from + n, whole, P.env)
end

-- ------------------------------------------------- for what has references as tables

function G.last_reference()
    local last = N.last
    if not last then return nil end
    local subs, n = subscripts(last.p or last.own)
    subs.n, subs.name, subs.env = n, last.name, last.env
    if N.arg then subs[n] = N.arg end
    return subs
end

-- Have the place stand at subs[1..n]; what C knows of it. empty: "last", the last one may be empty; "all".
function G.stand(P, subs, empty)
    local p, n = P.p or prepare(P), subs.n
    if n == 1 then
        put(P, p, 0, subs, empty and 1 or 0)
        return p
    end
    for i = 1, n do put(P, p, i - 1, subs, (empty == "all" or empty and i == n) and 1 or 0) end
    return p
end

-- A place that is a local variable's, for locks.
function G.fill_local(p, ref)
    local P = {name = ref.name, d = 0}
    local rc = c_name(p, ref.name, #ref.name)
    if rc ~= 0 then return no_value(P, p, rc, "LOCK failed because") end
    for i = 1, ref.n do put(P, p, i - 1, ref, 1) end
    return p
end

-- Remember a reference as the last one.
function G.note(p, ref) N.last, N.arg = {p = p, name = ref.name, env = ref.env}, false end

function G.copy(p)
    local copy = new_place()
    c_copy(copy, p)
    return copy
end

-- Go on to the next node with a value that is below root, and get it; nil: there is none.
function G.step(P, p, root)
    p.number = 0
    local rc = query(p, 0)
    if rc == NUMBER then
        local v = p.number
        return c_below(p, root) ~= 0 and v or nil
    end
    if rc == TEXT then
        local v = ffi_string(p.text, p.len)
        return c_below(p, root) ~= 0 and v or nil
    end
    return no_value(P, p, rc, ACCESS)
end

-- The subscripts after the first `from` ones; how many there are in all.
function G.read_subs(p, subs, from)
    local n = c_depth(p)
    for i = from + 1, n do subs[i] = subscript(p, i - 1) end
    return n
end

function G.merge(P, to, from)
    local rc = C.caret_mumps__merge(to, from)
    if rc ~= 0 then no_value(P, to, rc, "MERGE failed because") end
end

-- The names of globals, in their order; "" at the end.
function G.next_name(name, dir, environment)
    local p = new_place()
    p.s = session(environment and report.text(environment) or G.default)
    if c_name(p, name, #name) ~= 0 then return "" end
    local rc = next_global(p, dir < 0 and 1 or 0)
    G.restore_naked {p = p, name = name, env = environment}
    if rc == TEXT then
        local found = ffi_string(p.text, p.len)
        c_name(p, name, #name)
        return found
    end
    if rc ~= NONE then return no_value(N.last, p, rc, "$ORDER() failed because") end
    return ""
end

G.N, G.new_place, G.text = N, new_place, text

return G
