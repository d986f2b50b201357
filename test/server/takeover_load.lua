-- takeover_load.lua PATH FOLDER NUMBER: requests without a pause until the file FOLDER/stop is there, by one
-- connection that stays and by new ones. FOLDER/load.NUMBER has how many were answered, or what went wrong.
local resp = require "resp"
local path, folder, number = arg[1], arg[2], arg[3]
local function say(text)
    local f = io.open(folder .. "/load." .. number .. ".new", "w")
    f:write(text, "\n")
    f:close()
    os.rename(folder .. "/load." .. number .. ".new", folder .. "/load." .. number)
end
local function stops()
    local f = io.open(folder .. "/stop")
    if f then f:close() end
    return f ~= nil
end
local function expect(got, wanted)
    if got ~= wanted then
        got = type(got) == "table" and got.error or tostring(got)
        error(("got %s, not %s"):format(got, tostring(wanted)), 0)
    end
end

local answered = 0
local fine, wrong = pcall(function()
    local key, c = "n" .. number, assert(resp.connect(path))
    local one = resp.encode("INCR", key)
    local half = 7 -- of the next request goes before the answers of this one are read
    expect(c("SELECT", number), "OK")
    expect(c("CLIENT", "SETNAME", "load" .. number), "OK")
    local id = c("CLIENT", "ID")
    c:send(one:sub(1, half))
    repeat
        c:send(one:sub(half + 1) .. one:rep(4) .. one:sub(1, half))
        for _ = 1, 5 do
            answered = answered + 1
            expect(c:read(), answered)
        end
        local new = assert(resp.connect(path))
        expect(new("SELECT", number), "OK")
        expect(tonumber(new("GET", key)), answered)
        new:close()
    until stops()
    c:send(one:sub(half + 1))
    answered = answered + 1
    expect(c:read(), answered)
    expect(c("MULTI"), "OK")
    c("INCR", key)
    answered = answered + 1
    expect(c("EXEC")[1], answered)
    expect(c("CLIENT", "GETNAME"), "load" .. number)
    expect(c("CLIENT", "ID"), id)
end)
say(fine and tostring(answered) or "failed after " .. answered .. ": " .. tostring(wrong))
