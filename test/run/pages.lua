-- lua5.4 pages.lua SOURCE TOOL: names in the documents, beside what the program has.  A line for
-- each name that is missing on a page, or that only the page has; the last one tells how many were looked at.

local source = arg[1]
local looked = 0

local function read(path)
    local f = assert(io.open(source .. "/" .. path))
    local text = f:read "*a"
    f:close()
    return text
end

-- The first columns of the tables between two lines of a page: the first word of each `...`, up to a "(".
local function first_column(path, from, to)
    local text, names = read(path), {}
    local start = assert(text:find(from, 1, true), from)
    local stop = assert(text:find(to, start + 1, true), to)
    for cell in text:sub(start, stop):gmatch "\n| ([^|]*)|" do
        for quoted in cell:gmatch "`([^`]+)`" do names[#names + 1] = quoted:match "^[^ (]+" end
    end
    return names
end

-- `there` is a list of names that have to be on the page, and no others; there a name may have a *.
local function compare(path, on_page, there)
    local used = {}
    for _, name in ipairs(there) do
        looked = looked + 1
        local found
        for _, written in ipairs(on_page) do
            local pattern = "^" .. written:gsub("%p", "%%%0"):gsub("%%%*", ".*") .. "$"
            if name:find(pattern) then found, used[written] = true, true end
        end
        if not found then print(("%s does not name %s"):format(path, name)) end
    end
    for _, written in ipairs(on_page) do
        if not used[written] then print(("%s names %s, which is not there"):format(path, written)) end
    end
end

local function all(text, pattern)
    local list = {}
    for name in text:gmatch(pattern) do list[#list + 1] = name end
    return list
end

-- ---- parameters of redis.conf

local parameters = {"include", "rename-command", "user", "loadmodule", "map-prefix", "workers"}
local PARAMETER = '\nPARAMETER%([%w_]+, "([^"]+)"[^\n]*, ([^,\n]*), [^,\n]*%)' -- name, flags
for name, flags in read "front/server/config.def":gmatch(PARAMETER) do
    if not flags:find "HIDDEN" then parameters[#parameters + 1] = name end
end
local page = "docs/migrating/redis-server.md"
compare(page, first_column(page, "## redis.conf", "## Bring the data over"), parameters)

-- ---- commands about nodes

page = "docs/server.md"
compare(page, first_column(page, "## Nodes", "### Keys that are nodes"),
    all(read "front/server/commands/caret.lua":upper(), '\n    {"(CARET%.%u+)"'))

-- ---- errors that programs meet in Lua

page = "docs/guide/errors.md"
local codes = all(read "include/caret.h", "\n    CARET_E_([%w_]+) =")
for i = #codes, 1, -1 do
    if codes[i] == "BUFFER" then table.remove(codes, i) end -- of C's buffers
end
for _, name in ipairs {"LOCK_TIMEOUT", "DEADLOCK", "ROLLBACK"} do codes[#codes + 1] = name end
compare(page, first_column(page, "## Names you may meet", "## Closed"), codes)

-- ---- commands of the tool

page = "docs/tool.md"
local text = read(page):match "| for | commands |(.-)\n\n"
local groups = read "front/tool/lib/command.lua":match "command%.groups = {(.-)\n}\n"
compare(page, all(text, "`([%w]+)`"), all(groups:gsub('{"[^"]*", ', "{"), '"([^"]+)"'))

-- ---- methods of a cache

page = "docs/guide/cache.md"
compare(page, first_column(page, "## Methods", "## When it is full"),
    all(read "front/lua/caret/cache.lua", "\n[function ]*Cache[:.](%a[%a_]+)"))

-- ---- exceptions of Python

page = "docs/python/errors.md"
local classes = all(read "front/python/error.c", '\n    {[%u_%d]+, [%u_%d]+, "(%w+)"')
for _, name in ipairs {"Restart", "Rollback"} do classes[#classes + 1] = name end
compare(page, first_column(page, "| classes |", "Other types"), classes)

-- ---- commands of python -m caret

page = "docs/python/command-line.md"
local commands = read "front/python/caret/__main__.py":match "\nCOMMANDS: [^\n]*\n(.-)\n}"
compare(page, first_column(page, "| command |", "The status is"), all(commands, '"(%l+)": %('))

-- ---- rows of the benchmark 3n+1

page = "docs/benchmark.md"
local list = assert(io.popen(("'%s' 3n1 --list"):format(arg[2])))
compare(page, first_column(page, "| row | how |", "Each is written"), all("\n" .. list:read "*a", "\n(%S+)"))
list:close()

-- ---- functions of the Lua module yottadb

page = "docs/migrating/lua-yottadb.md"
local functions = read(page):match "%* %*%*Functions%*%*: `([^`]+)`"
local names = {}
for line in read "front/yottadb/lua/yottadb/init.lua":gmatch "[^\n]+" do
    local assigned = line:match "^yottadb%.[%w_., ]* = " or line:match "^function yottadb%.[%w_]+" or ""
    for name in assigned:gmatch "yottadb%.(%a[%w_]+)" do names[#names + 1] = name end
    local made = line:match "^local yottadb = {(.*)}" or ""
    for name in made:gmatch "([%w_]+) = " do names[#names + 1] = name end
end
compare(page, all(functions, "%S+"), names)

-- ---- what orders memory, and what does not run on an emulated aarch64

page = "docs/memory-order.md"
text = read(page)
local order, named = {}, {}
list = assert(io.popen(("cd '%s' && grep -rlE '%s' src"):format(source,
    "memory_order_(acquire|release)|atomic_thread_fence|__ATOMIC_(ACQUIRE|RELEASE)")))
for file in list:lines() do order[#order + 1] = file:match "^src/(.*)" end
list:close()
for row in text:gmatch "\n| ([^|]*`[^|]*)|" do
    local code
    for quoted in row:gmatch "`([%w_/.]+)`" do
        if quoted:find "%.[ch]$" then
            code = read("src/" .. quoted)
            named[quoted] = true
        elseif code and not code:find(quoted, 1, true) then
            print(("%s names %s, which is not in that file"):format(page, quoted))
        end
    end
end
for _, file in ipairs(order) do
    looked = looked + 1
    if not named[file] then print(("%s does not name %s"):format(page, file)) end
end
local left_out = {}
for line in read "tools/aarch64.sh":match "\nwhy_not%(%)\n(.-)esac":gmatch "\n    (%l[%w_ |]*)%) echo" do
    for name in line:gmatch "[%w_]+" do
        left_out[#left_out + 1] = name
        read("test/" .. name:gsub("_", "/test_", 1) .. ".c")
    end
end
if tonumber(text:match "Of the C tests (%d+) programs are not run") ~= #left_out then
    print(("%s: %d programs are not run on aarch64"):format(page, #left_out))
end

-- ---- on every page: names of C, and options of the tool's commands

local function lines(command)
    local pipe, got = assert(io.popen(("cd '%s' && %s"):format(source, command))), {}
    for line in pipe:lines() do got[#got + 1] = line end
    pipe:close()
    return got
end

local names_of_c = {}
local ONE_FOR_ALL = {["--db"] = true, ["--json"] = true} -- of a table that commands share
for _, name in ipairs(lines "grep -rhowE 'caret_[a-z_0-9]+' include src front/tool cmake CMakeLists.txt") do
    names_of_c[name] = true
end
local NOT_OF_C = {caret_lua = true, caret_m = true, caret__ = true} -- files, and a prefix
for _, file in ipairs(lines "ls README.md CONTRIBUTING.md docs/*.md docs/*/*.md") do
    local on_page = read(file)
    for name in on_page:gmatch "%f[%w_]caret_[%l_%d]+" do
        looked = looked + 1
        if not names_of_c[name] and not NOT_OF_C[name] then
            print(("%s names %s, which is not there"):format(file, name))
        end
    end
    for name, rest in on_page:gmatch "%f[%w]caret (%w+) ([^`\n|;#]*)" do
        local path = "front/tool/cmd/" .. name .. ".lua"
        local there = name ~= "serve" and io.open(source .. "/" .. path) -- that takes all of redis.conf
        if there then
            there:close()
            for option in (" " .. (rest:match "^(.-) %-%- " or rest)):gmatch "%f[%S]%-%-%l[%l-]*" do
                looked = looked + 1
                if not read(path):find(option, 1, true) and not ONE_FOR_ALL[option] then
                    print(("%s: caret %s has no option %s"):format(file, name, option))
                end
            end
        end
    end
end

print(looked)
