-- One run of one rival: its server and programs are started, watched, and stopped; its answer is verified.
-- Everything it made is gone afterwards.

local host = require "caret.host"
local programs = require "caret.programs"

local one = {}

local SERVER_START = 20 -- seconds that a server may take until it answers

-- The first or last line of a file that says something; nil if none does.
local function line_of(path, which)
    local f, found = io.open(path), nil
    if not f then return nil end
    for line in f:lines() do
        if line:find("%S") then found = which == "first" and found or line end
    end
    f:close()
    return found and found:match("^%s*(.-)%s*$"):sub(1, 200)
end

-- Programs say first what is wrong, servers last.
local function because(text, log, which)
    local line = line_of(log, which)
    return line and ("%s: %s"):format(text, line) or text
end

local function how_ended(how, number)
    return (how == "signal" and "was killed by signal %d" or "ended with status %d"):format(number)
end

local function start_server(rival, place)
    local argv = rival.server and rival.server(place)
    if not argv then return nil end
    place.server_log = place.dir .. "/server.log"
    for i, word in ipairs(argv) do argv[i] = tostring(word) end
    local pid = programs.start(argv, {dir = place.dir, out = place.server_log, err = place.server_log,
        env = place.env})
    place.server, place.all[pid] = pid, true
    local deadline = host.clock() + SERVER_START
    while not rival.ready(place) do
        local how, number = host.wait(pid)
        if how then
            place.server = nil
            local text = ("its server %s at the start"):format(how_ended(how, number))
            return because(text, place.server_log, "last")
        end
        if host.clock() > deadline then
            local text = ("its server did not answer within %d s"):format(SERVER_START)
            return because(text, place.server_log, "last")
        end
        programs.pause(0.01)
    end
    return nil
end

-- nil, or how the server ended.
local function server_gone(place)
    local how, number
    if place.server then how, number = host.wait(place.server) end
    if not how then return nil end
    place.server = nil
    return because("its server " .. how_ended(how, number), place.server_log, "last")
end

-- When a program fails, the server may have died; that takes a moment to be seen.  nil: it still answers.
local function server_died(rival, place)
    local deadline = host.clock() + SERVER_START
    repeat
        if place.server then programs.pause(0.1) end
        local wrong = server_gone(place)
        if wrong then return wrong end
    until not place.server or rival.ready(place) or host.clock() > deadline
    return nil
end

-- nil, or what went wrong with one of the programs that run; those that ended well are taken out.
local function program_gone(rival, place, running)
    for pid, err in pairs(running) do
        local how, number = host.wait(pid)
        if how then running[pid] = nil end
        if how and (how ~= "exit" or number ~= 0) then
            return server_died(rival, place) or because("a process " .. how_ended(how, number), err, "first")
        end
    end
    return nil
end

-- Wait for all programs; what went wrong, or nil.
local function wait_for(rival, place, running, deadline)
    while true do
        local wrong = program_gone(rival, place, running) or server_gone(place)
        if wrong then return wrong end
        if not next(running) then return nil end
        if host.clock() > deadline then return ("it was stopped after %d s"):format(place.limit) end
        programs.pause(0.2)
    end
end

local function read_result(path)
    local f = io.open(path)
    local text = f and f:read("a") or ""
    if f then f:close() end
    local r = {}
    for key, value in text:gmatch('"(%l+)":([%d.]+)') do r[key] = tonumber(value) end
    for _, key in ipairs {"seconds", "longest", "highest", "reads", "updates"} do
        if not r[key] then return nil, "it printed no result" end
    end
    return r
end

local function check(rival, place, running, answer)
    local wrong = wait_for(rival, place, running, host.clock() + place.limit)
    if wrong then return nil, wrong end
    if rival.strict then
        for _, err in pairs(place.errors) do
            local word = line_of(err, "first")
            if word then return nil, word end
        end
    end
    local r, why = read_result(place.dir .. "/program-1.out")
    if not r then return nil, why end
    if r.longest ~= answer.longest or r.highest ~= answer.highest then
        return nil, ("WRONG ANSWER: longest %.0f and highest %.0f should be %d and %d"):format(
            r.longest, r.highest, answer.longest, answer.highest)
    end
    if r.seconds <= 0 then return nil, "it says that it took no time" end
    return r
end

local function attempt(rival, place, answer)
    if rival.prepare then rival.prepare(place) end
    local wrong = start_server(rival, place)
    if wrong then return nil, wrong end
    local running = {}
    for i, argv in ipairs(rival.commands(place)) do
        local err = ("%s/program-%d.err"):format(place.dir, i)
        for k, word in ipairs(argv) do argv[k] = tostring(word) end
        local pid = programs.start(argv, {dir = not rival.here and place.dir or nil,
            out = ("%s/program-%d.out"):format(place.dir, i), err = err, env = place.env})
        place.all[pid], place.errors[i] = true, err
        running[pid] = err
    end
    return check(rival, place, running, answer)
end

local function stop(rival, place)
    for pid in pairs(place.all) do programs.kill(pid) end
    for pid in pairs(place.all) do host.wait(pid, true) end
    if rival.cleanup then pcall(rival.cleanup, place) end
    host.remove(place.dir)
end

--- Run it, under children.guard(): its result, or nil and what went wrong.  answer: {longest=, highest=}.
function one.run(rival, n, w, limit, answer)
    local place = {dir = host.tempdir(), port = programs.port(), n = n, w = w, limit = limit, env = {},
        all = {}, errors = {}}
    function place.write(name, text)
        local path = place.dir .. "/" .. name
        local f = assert(io.open(path, "w"))
        assert(f:write(text))
        f:close()
        return path
    end
    local ok, r, why = pcall(attempt, rival, place, answer)
    stop(rival, place)
    if ok then return r, why end
    if r == host.stopped then error(r, 0) end
    return nil, tostring(r)
end

return one
