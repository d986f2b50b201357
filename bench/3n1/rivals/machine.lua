-- What a benchmark ran on.

local json = require "tool.lib.json"

local machine = {}

local function first_line(path)
    local f = io.open(path)
    local line = f and f:read("l")
    if f then f:close() end
    return line
end

-- Value of the first line "name : value" of a file of /proc, and the number of such lines.
local function field(path, name)
    local value, count = nil, 0
    local f = io.open(path)
    if not f then return nil, 0 end
    for line in f:lines() do
        local found = line:match("^" .. name .. "%s*:%s*(.-)%s*$")
        if found then
            value, count = value or found, count + 1
        end
    end
    f:close()
    return value, count
end

local function system_name()
    local f = io.open("/etc/os-release")
    local text = f and f:read("a") or ""
    if f then f:close() end
    return text:match('PRETTY_NAME="([^"]*)"') or "Linux"
end

--- Table of texts and numbers.
function machine.describe()
    local cpu = field("/proc/cpuinfo", "model name") or field("/proc/cpuinfo", "CPU part")
    local _, cores = field("/proc/cpuinfo", "processor")
    local memory = tonumber((field("/proc/meminfo", "MemTotal") or "0"):match("%d+")) // 1024
    return {cpu = cpu or "unknown processor", cores = cores, memory_mib = memory,
        kernel = first_line("/proc/sys/kernel/osrelease") or "unknown", system = system_name(),
        load = tonumber((first_line("/proc/loadavg") or "0"):match("^[%d.]+"))}
end

--- The same for JSON.
function machine.object(description)
    local fields = {"cpu", "cores", "memory_mib", "system", "kernel", "load"}
    return json.fields(description or machine.describe(), fields)
end

return machine
