-- lua5.4 pages.lua SOURCE TOOL: names, limits and anchors in the documents, beside what the program has.
-- A line for each name that is missing on a page, or that only the page has, each limit that is another, each
-- link to a heading that is not there; the last one tells how many were looked at.

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

-- ---- options that the engine advises, in C, Lua and Python

for _, file in ipairs {"include/caret.h", "front/lua/caret/meta.lua", "front/python/caret/__init__.pyi"} do
    local options = read(file)
    local pipe = assert(io.popen(("cat '%s'/src/*/*.c"):format(source)))
    for name in pipe:read "*a":gmatch 'return caret__advise%(.-"([%w_]+) [^"]+"%);' do
        looked = looked + 1
        if not options:find("[^%w_]" .. name .. "[;:?]") then
            print(("%s has no option %s, which the engine advises"):format(file, name))
        end
    end
    pipe:close()
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
for _, name in ipairs {"LOCK_TIMEOUT", "DEADLOCK", "ROLLBACK", "NONE"} do codes[#codes + 1] = name end
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

-- ---- special variables of YottaDB's interface

page = "docs/yottadb.md"
local variables = read(page):match "| special variables | all | `([^`]+)`"
compare(page, all(variables, "%S+"), all(read "front/m/special.c", '{"(%$%u+)", %d'))

-- ---- small pages are read in the order of their table: each ends with the link to the next

for _, folder in ipairs {"docs/guide/", "docs/python/"} do
    local pages = all(read(folder .. "README.md"), "\n| %[[^%]]*%]%(([%l-]+%.md)%)")
    for i = 1, #pages - 1 do
        looked = looked + 1
        if read(folder .. pages[i]):match "\nNext: %[[^%]]*%]%(([^)]*)%)" ~= pages[i + 1] then
            print(("%s%s does not lead on to %s"):format(folder, pages[i], pages[i + 1]))
        end
    end
end

-- ---- what orders memory, and what does not run on an emulated aarch64

page = "docs/memory-order.md"
text = read(page)
local order, named = {}, {} -- functions that order memory, as "file function"; those that rows name
list = assert(io.popen(("cd '%s' && grep -rnE '%s' src"):format(source,
    "memory_order_(acquire|release)|atomic_thread_fence|__ATOMIC_(ACQUIRE|RELEASE)")))
for found in list:lines() do
    local file, number = found:match "^src/([^:]*):(%d+):"
    local begins
    for line in read("src/" .. file):gmatch "([^\n]*)\n" do
        begins = line:find "^%l" and line:gsub("__attribute__%b()", ""):match "([%w_]+)%(" or begins
        number = number - 1
        if number == 0 then break end
    end
    if order[#order] ~= file .. " " .. begins then order[#order + 1] = file .. " " .. begins end
end
list:close()
for row in text:gmatch "\n| ([^|]*`[^|]*)|" do
    local code, inside
    for quoted in row:gmatch "`([%w_/.]+)`" do
        if quoted:find "%.[ch]$" then
            code, inside = read("src/" .. quoted), quoted
        elseif code and not code:find(quoted, 1, true) then
            print(("%s names %s, which is not in that file"):format(page, quoted))
        elseif code then
            named[inside .. " " .. quoted] = true
        end
    end
end
for _, place in ipairs(order) do
    looked = looked + 1
    if not named[place] then print(("%s does not name %s"):format(page, place)) end
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
for _, name in ipairs(lines [[grep -rhowE 'CARET_[A-Z_0-9]+' include src front test bench tools cmake \
    CMakeLists.txt --include=*.[ch] --include=*.lua --include=*.sh --include=*.py --include=*.txt \
    --include=*.cmake]]) do
    names_of_c[name] = true -- and of the environment
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
    for name in on_page:gmatch "%f[%w_]CARET_[%u_%d]*%u" do
        looked = looked + 1
        if not names_of_c[name] then print(("%s names %s, which is not there"):format(file, name)) end
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

-- ---- options of the server, in commands and in its table: parameters, and a few more

local of_server = {}
for _, name in ipairs(parameters) do of_server[name] = true end
for name in read "front/server/serve.c":match "others%[%] = {(.-)}":gmatch '"([%w-]+)"' do
    of_server[name] = true
end

local function check_options(file, command)
    for name in (" " .. command):gmatch "%f[%S]`?%-%-(%l[%l-]*)" do
        looked = looked + 1
        if not of_server[name] then print(("%s: the server has no option --%s"):format(file, name)) end
    end
end

for _, file in ipairs(lines "ls README.md docs/*.md docs/*/*.md") do
    local on_page = read(file)
    for command in on_page:gmatch "%f[%w]caret serve ([^`\n|;#>]*)" do check_options(file, command) end
    for command in on_page:gmatch "%f[%w]caret%-server ([^`\n|;#>]*)" do check_options(file, command) end
end
local in_table = first_column("docs/server.md", "| option | what |", "## Processes")
check_options("docs/server.md", table.concat(in_table, " "))

-- ---- methods of nodes in scripts of the server

local of_scripts = assert(read "docs/server.md":match "A node has `__`, children, and the methods (.-): `at ")
compare("docs/server.md", all(of_scripts, "`(%l+)`"),
    all(read "front/server/script/node.c", '\n        {"(%l+)", node_%l+}'))

-- ---- methods that pages name in `...`

local CLASSES = {db = "Database", node = "Node", n = "Node", cache = "Cache", feed = "Changes"}
local methods = {}
for _, file in ipairs {"front/lua/caret/meta.lua", "front/lua/caret/meta_modules.lua"} do
    for class, name in read(file):gmatch "\nfunction (%u%a+)[.:]([%w_]+)" do
        methods[class .. ":" .. name] = true
    end
end
for _, file in ipairs(lines "ls README.md CHANGELOG.md docs/*.md docs/*/*.md") do
    for code in read(file):gmatch "`([^`\n]+)`" do
        for object, name in code:gmatch "%f[%w_](%l+):([%a_][%w_]*)" do
            local class = CLASSES[object]
            if class then
                looked = looked + 1
                if not methods[class .. ":" .. name:gsub("^__", "")] then
                    print(("%s names %s:%s, which is not there"):format(file, object, name))
                end
            end
        end
    end
end

-- ---- figures that the program has: a limit on a page, and where it is in the source

local WORDS = {}
for i, word in ipairs {"one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen"} do WORDS[word] = tostring(i) end
local THE_LAYOUT = "#else\n(#define CARET__PAGE_SIZE.*)" -- of pages of 4 KiB, not the `small` build's

-- "1,024", "16u << 20" and "256u" as numbers.
local function value(expression)
    local plain = expression:lower():gsub(",", ""):gsub("(%d)u", "%1")
    return load("return " .. (WORDS[plain] or plain))()
end

local FIGURES = { -- page, its pattern; file, its pattern; how many units of the source are one of the page
    {"README.md", "a whole key takes up to ([%d,]+) of", "include/caret.h", "CARET_MAX_KEY +(%w+)"},
    {"README.md", "value (%d+) MiB", "include/caret.h", "CARET_MAX_VALUE %((.-)%)", 2 ^ 20},
    {"docs/data-model.md", "(%d+) characters after the", "include/caret.h", "CARET_MAX_NAME +(%w+)"},
    {"docs/data-model.md", "(%d+) in one node", "include/caret.h", "CARET_MAX_SUBS +(%w+)"},
    {"docs/data-model.md", "([%d,]+) bytes with 4 KiB pages", "include/caret.h", "CARET_MAX_KEY +(%w+)"},
    {"docs/engine.md", "up to (%d+) processes", "src/shm/layout.h", "CARET__MAX_PROCS +(%w+)"},
    {"docs/engine.md", "quarter of the ring %((%d+) MiB", "src/shm/layout.h", "RING_SIZE +%((.-)%)", 2 ^ 22},
    {"docs/engine.md", "in steps of (%d+) MiB", "src/shm/layout.h", "ARENA_STEP +(%w+)", 256},
    {"docs/engine.md", "log begins with (%d+) MiB", "src/shm/layout.h", "LOG_DEFAULT +%((.-)%)", 2 ^ 20},
    {"docs/engine.md", "and (%d+) hints that", "src/page/page.h", "CARET__HINTS +(%w+)"},
    {"docs/guide/cache.md", "16 MiB, (%d+) bytes less", "front/lua/cache.c", "HEAD = (%d+)"},
    {"docs/guide/cache.md", "a list of keys, ([%d,]+) at", "front/lua/caret/cache.lua",
        "number_of_keys%(max, (%d+)%)"},
    {"docs/guide/cache.md", "keys twice, and (%d+) for", "front/lua/caret/cache.lua", "OVERHEAD = (%d+)"},
    {"docs/guide/cache.md", "removes up to (%d+) entries", "front/lua/caret/cache.lua", "SWEEP = (%d+)"},
    {"docs/guide/cache.md", "(%w+) seconds and more are", "front/lua/cache.c", "LONG +([%d.]+)", 1000},
    {"docs/guide/containers.md", "a `/dev/shm` of its own of (%d+) MiB", "src/shm/layout.h",
        "LOG_DEFAULT +%((.-)%)",
        2 ^ 20},
    {"docs/guide/in-memory.md", "from (%d+) MiB", "src/api/db.c", "MEMORY_LEAST %((.-)%)", 2 ^ 20},
    {"docs/guide/limits.md", "transaction | (%d+) MiB", "src/shm/layout.h", "RECORD_MAX +%((.-)%)", 2 ^ 20},
    {"docs/guide/limits.md", "PostgreSQL%]%(many%-machines.md%) (%d+) MiB", "src/postgres/open.c",
        "TXN_MOST +%((.-)%)",
        2 ^ 20},
    {"docs/guide/many-machines.md", "transaction changes (%d+) MiB", "src/postgres/open.c",
        "TXN_MOST +%((.-)%)",
        2 ^ 20},
    {"docs/guide/transactions.md", "More changes than (%d+) MiB", "src/shm/layout.h", "RECORD_MAX +%((.-)%)",
        2 ^ 20},
    {"docs/engine.md", "commit changes of (%d+)%sMiB", "src/shm/layout.h", "RECORD_MAX +%((.-)%)", 2 ^ 20},
    {"docs/engine.md", "seen for (%w+) seconds", "src/log/writer.c",
        "#else\n#define ORPHAN_NS UINT64_C%((%d+)%)", 1e9},
    {"docs/reliability.md", "after (%w+) seconds %(0", "src/log/writer.c",
        "#else\n#define ORPHAN_NS UINT64_C%((%d+)%)", 1e9},
    {"docs/guide/limits.md", "variable | (%d+) letters", "include/caret.h", "CARET_MAX_NAME +(%w+)"},
    {"docs/guide/limits.md", "a node | (%d+) |", "include/caret.h", "CARET_MAX_SUBS +(%w+)"},
    {"docs/guide/limits.md", "together ([%d,]+) bytes", "include/caret.h", "CARET_MAX_KEY +(%w+)"},
    {"docs/guide/limits.md", "value | (%d+) MiB", "include/caret.h", "CARET_MAX_VALUE %((.-)%)", 2 ^ 20},
    {"docs/guide/limits.md", "file | (%d+) GiB", "src/shm/layout.h", "CARET__MAX_PAGES +%((.-)%)",
        2 ^ 30 / 4096},
    {"docs/guide/limits.md", "outermost among them | (%d+) |", "include/caret.h", "CARET_MAX_NEST +(%w+)"},
    {"docs/guide/limits.md", "`db:lock` | (%d+) |", "front/lua/lock.c", "LOCKS_MAX +(%d+)"},
    {"docs/guide/limits.md", "open at once | (%d+);", "src/shm/layout.h", "CARET__MAX_PROCS +(%w+)"},
    {"docs/guide/limits.md", "([%d,]+) that wait for one", "src/shm/layout.h",
        "CARET__MAX_PROCS.*CARET__LOCK_WAITERS +(%w+)"},
    {"docs/guide/queues.md", "the (%d+) MiB that the log", "src/shm/layout.h",
        "LOG_DEFAULT +%((.-)%)", 2 ^ 20},
    {"docs/guide/trees.md", "up to (%d+) %*subscripts", "include/caret.h", "CARET_MAX_SUBS +(%w+)"},
    {"docs/guide/values.md", "bytes, up to (%d+) MiB", "include/caret.h", "CARET_MAX_VALUE %((.-)%)", 2 ^ 20},
    {"docs/guide/values.md", "it has (%d+) KiB of", "front/lua/caret/typed.lua",
        "DEPTH, SIZE = %d+, (%d+)", 1024},
    {"docs/guide/values.md", "(%d+) levels at", "front/lua/caret/typed.lua", "DEPTH, SIZE = (%d+)"},
    {"docs/guide/first-minutes.md", "Up to (%d+) processes", "src/shm/layout.h", "CARET__MAX_PROCS +(%w+)"},
    {"docs/guide/processes.md", "Up to (%d+) may", "src/shm/layout.h", "CARET__MAX_PROCS +(%w+)"},
    {"docs/guide/web.md", "killed after (%w+) seconds", "front/tool/web/console.lua", "STUCK = (%d+)", 1 / 2},
    {"docs/guide/web.md", "up to ([%d,]+) nodes are compared", "front/tool/web/tree.lua", "MARKED = (%d+)"},
    {"docs/migrating/redis-server.md", "forgotten after ([%d,]+) others", "front/server/shared.h",
        "SERVE__PLACES = (%d+)"},
    {"docs/migrating/redis-server.md", "Redis, but (%d+) and", "front/server/admin/acl.h",
        "SERVE__ACL_ENTRIES = (%d+)"},
    {"docs/migrating/redis-server.md", "Redis, but %d+ and ([%d,]+)", "front/server/admin/measure.h",
        "SERVE__SLOW_ENTRIES = (%d+)"},
    {"docs/server.md", "1 if not given, (%d+) at most", "front/tool/cmd/serve.lua",
        "processes that serve.-most = (%d+)"},
    {"docs/server.md", "A client has (%d+) seconds", "front/server/tls/tls.h",
        "SERVE__TLS_LIMIT = (%d+)", 1000},
    {"docs/server.md", "There may be (%d+) such lines", "front/server/config.c", "enum { MOST = (%d+) }"},
    {"docs/server.md", "more than (%w+) locks", "front/server/shared.h", "SERVE__LOCK_HELD = (%d+)"},
    {"docs/server.md", "more than (%w+) subscripts, may", "front/server/shared.h",
        "SERVE__LOCK_ABOVE = (%d+)"},
    {"docs/server.md", "more than ([%d,]+) channels", "front/server/meet/directory.h",
        "SERVE__CHANNELS = (%d+)"},
    {"docs/server.md", "([%d,]+) patterns of a worker", "front/server/meet/directory.h",
        "SERVE__PATTERNS = (%d+)"},
    {"docs/server.md", "`ACL LOG` keeps (%d+) entries", "front/server/admin/acl.h",
        "SERVE__ACL_ENTRIES = (%d+)"},
    {"docs/server.md", "([%d,]+) entries, if more", "front/server/admin/measure.h",
        "SERVE__SLOW_ENTRIES = (%d+)"},
    {"docs/server.md", "the last ([%d,]+) of them", "front/server/shared.h", "SERVE__PLACES = (%d+)"},
    {"docs/nodes.md", "and room for (%d+):", "front/lua/node.c", "CACHE_MAX (%w+)"},
    {"docs/nodes.md", "the newest (%d+) remembered", "front/lua/recent.c", "RECENT_MAX (%d+)"},
    {"docs/nodes.md", "value over (%d+) KB", "front/lua/ffi.c", "BUFFER_SIZE (%d+)", 1024},
    {"docs/m.md", "bytes of a line | ([%d,]+)", "front/mumps/compiler/parse.lua", "MOST_LINE = (%d+)"},
    {"docs/m.md", "up to ([%d,]+) bytes", "front/mumps/compiler/parse.lua", "LAST_LINE = (%d+)"},
    {"docs/m.md", "within each other | (%d+)", "front/mumps/compiler/lex.lua", "MOST_DEPTH = (%d+)"},
    {"docs/m.md", "of a line | (%d+) | `FOROFLOW", "front/mumps/compiler/parse.lua", "MOST_FORS = (%d+)"},
    {"docs/m.md", "that count | (%d+)", "front/mumps/compiler/lex.lua", "NAME_MAX = (%d+)"},
    {"docs/m.md", "levels | ([%d,]+)", "front/mumps/runtime/level.lua", "LIMIT = (%d+)"},
    {"docs/m.md", "subscripts, arguments | (%d+)", "front/mumps/compiler/expr.lua", "MOST_ACTUALS = (%d+)"},
    {"docs/m.md", "arguments | %d+, (%d+)", "front/mumps/compiler/expr.lua", "MOST_ACTUALS = %d+, (%d+)"},
    {"docs/server.md", "name has over (%d+) bytes", "front/server/keys/key.h",
        "#else\n#define SERVE__NAME_MAX (%w+)"},
    {"docs/server.md", "takes more than (%d+) bytes", "front/server/keys/key.h",
        "#else\n#define SERVE__NAME_MAX (%w+)"},
    {"docs/server.md", "`COUNT n` %((%d+) if", "front/server/node/walk.c", "USUAL = (%d+)"},
    {"docs/server.md", "elsewhere for (%w+) seconds", "front/server/handoff.c", "END_MS = (%d+)", 1000},
    {"docs/server.md", "after (%w+) second%. What", "front/server/handoff.c", "STOP_MS = (%d+)", 1000},
    {"docs/yottadb.md", "the last (%w+) paths", "front/yottadb/path.h", "CARET__YDB_PATHS +(%d+)"},
    {"docs/tool.md", "up to ([%d,]+)%schanges", "front/tool/lib/sampling.lua", "SAMPLE = (%d+)"},
    {"docs/tool.md", "a table of (%d+) nodes", "src/shm/layout.h", "COLLISIONS.*COLLISIONS +(%d+)"},
    {"docs/tool.md", "Heads have (%d+) KiB", "front/web/http.c", "HEAD +%((.-)%)", 2 ^ 10},
    {"docs/tool.md", "most (%d+) connections", "front/web/http.c", "CONNECTIONS +(%d+)"},
    {"docs/tool.md", "when (%d+) connections", "front/web/http.c", "CROWD +(%d+)"},
    {"docs/tool.md", "takes longer than (%w+)%.", "front/web/http.c", "HURRY +(%d+)"},
    {"docs/tool.md", "has (%d+) MiB at most, and ends", "front/web/stream.c", "MOST +%((.-)%)", 2 ^ 20},
    {"docs/tool.md", "(%d+) jobs", "front/tool/web/jobs.lua", "RUNNING, KEPT = (%d+)"},
    {"docs/tool.md", "after (%w+) wrong", "front/tool/web/guard.lua", "TRIES, PER = (%d+)"},
    {"docs/tool.md", "more than ([%d,]+) nodes or", "front/tool/web/edit.lua", "NODES, BYTES = (%d+)"},
    {"docs/tool.md", "nodes or (%d+) MiB", "front/tool/web/edit.lua", "NODES, BYTES = %d+, ([^\n]+)", 2 ^ 20},
    {"docs/tool.md", "looks at ([%d,]+) changes for", "front/tool/web/live.lua", "CHANGES = (%d+)"},
    {"docs/tool.md", "globals and ([%d,]+) for", "front/tool/web/live.lua", "NODES = (%d+)"},
    {"docs/style.md", "most (%d+) %.c files", "tools/style.sh", "most_files=(%d+)"},
    {"docs/style.md", "Files have at most (%d+)", "tools/style.sh", "longest_file=(%d+)"},
    {"docs/style.md", "the median at most (%d+)", "tools/style.sh", "longest_median=(%d+)"},
    {"docs/style.md", "nine of ten at most (%d+)", "tools/style.sh", "longest_tenth=(%d+)"},
    {"docs/style.md", "none over (%d+)", "tools/style.sh", "longest_function=(%d+)"},
    {"docs/style.md", "more than (%d+) columns", "tools/style.sh", "longest_line=(%d+)"},
    {"docs/tool.md", "bodies (%d+) MiB", "front/tool/web/app.lua", "MOST_BODY = ([^\n]+)", 2 ^ 20},
    {"docs/tool.md", "(%d+) streams", "front/tool/web/events.lua", "local MOST, CHANNELS = (%d+)"},
    {"docs/tool.md", "(%d+)%sconsoles", "front/tool/web/console.lua", "local MOST = (%d+)"},
}
for _, row in ipairs(FIGURES) do
    local file, on_page, in_source, pattern, unit = row[1], row[2], row[3], row[4], row[5] or 1
    local told = assert(read(file):match(on_page), file .. ": " .. on_page)
    local code = read(in_source)
    local there = assert((code:match(THE_LAYOUT) or code):match(pattern), in_source .. ": " .. pattern)
    looked = looked + 1
    if value(told) ~= value(there) / unit then
        print(("%s says %s (%s), and %s %s"):format(file, told, on_page, in_source, there))
    end
end

-- ---- the layers, in the line at the top of README.md

local low, high = {}, {}
for line in read "layers":gmatch "[^\n]+" do
    local folders = line:match "^engine (.*)"
    high[#high + 1] = line:match "^front (%l+)"
    if folders then low[#low + 1] = folders:find " " and "{" .. folders:gsub(" ", ", ") .. "}" or folders end
end
local layers = table.concat(low, " -> ") .. " -> {" .. table.concat(high, ", ") .. "}"
looked = looked + 1
if read "README.md":match "`(base %-> .-)`":gsub("%s+", " ") ~= layers then
    print("README.md says other layers than " .. layers)
end

-- ---- how many there are of something: page, its pattern; files, what of them, one of it; to hundreds

local COUNTS = {
    {"docs/m.md", "has over ([%d,]+) cases", "test/m/conf/*.list", ".*", "\n[^ >#:\n]", 100},
    {"docs/engine.md", "with (%w+) errors that", "model/run.sh", ".*", "\nbug parallel "},
    {"docs/reliability.md", "(%w+) seeded%s+errors in it are found, among", "model/run.sh",
        ".*", "\nbug await "},
    {"docs/reliability.md", "with (%w+) seeded errors, each", "model/run.sh", ".*", "\nbug handoff "},
    {"docs/reliability.md", "die at (%d+) fault points", "test/api/test_snapshot.c",
        "names%[%] = {(.-)};", '"[%w_]+"'},
    {"docs/reliability.md", "points of (%d+) kinds of commit", "test/api/stopped.h",
        "op_names%[%] = {(.-)};", '"[^"]+"'},
    {"docs/reliability.md", "killed at (%w+) points of the way", "test/copy/test_backup.c",
        "points%[%] = {(.-)};", '"[%w_]+"'},
    {"docs/reliability.md", "deaths at (%w+) points of archiving", "test/log/test_archive.c",
        "points%[%] = {(.-)};", '"[%w_]+"'},
    {"docs/reliability.md", "(%d+) kinds of calls, from", "test/support/syscalls.h",
        "enum call {(.-)\n    CALLS", "CALL_%u+"},
}
for _, row in ipairs(COUNTS) do
    local file, on_page, in_source, part, one = row[1], row[2], row[3], row[4], row[5]
    local told = assert(read(file):match(on_page), file .. ": " .. on_page)
    local text_there = "\n" .. table.concat(lines("cat " .. in_source), "\n")
    local _, there = assert(text_there:match(part), in_source .. ": " .. part):gsub(one, "")
    looked = looked + 1
    if value(told) ~= (row[6] and math.floor(there / row[6]) * row[6] or there) then
        print(("%s says %s (%s), and in %s are %d"):format(file, told, on_page, in_source, there))
    end
end

-- ---- files of ours that pages name in `...` are there: those with a path, and tests by their name alone

local ours = {}
for _, path in ipairs(lines "find bench front include model src test tools -type f") do
    ours[path], ours[path:match "[^/]+$"], ours[path:match "^%l+/"] = true, true, true
end
for _, file in ipairs(lines "ls README.md CONTRIBUTING.md docs/*.md docs/*/*.md") do
    for name in read(file):gmatch "`(%l[%w_/.-]*%.%l+)`" do
        local known = ours[name:match "^%l+/"] or name:find "^test_[%w_]+%.%l+$"
        if known and not name:find "NAME" then -- which stands for any
            looked = looked + 1
            if not ours[name] then print(("%s names %s, which is not there"):format(file, name)) end
        end
    end
end

-- ---- #anchors of links are headings (that the files are there tools/style.sh checks)

local function anchors(file)
    local there = {}
    for heading in ("\n" .. read(file)):gmatch "\n#+ ([^\n]*)" do
        there[heading:lower():gsub("[^%w%s_-]", ""):gsub(" ", "-")] = true
    end
    return there
end

-- Not those within code: there they are no links.
local function links(file)
    return ("\n" .. read(file)):gsub("\n```.-\n```", ""):gsub("`[^`\n]*`", ""):gmatch "%]%(([^)%s]+)%)"
end

for _, file in ipairs(lines "ls *.md docs/*.md docs/*/*.md model/*.md front/*/*.md test/*/*/*.md") do
    for link in links(file) do
        local path, anchor = link:match "^([^#]*)#?(.*)$"
        local target = path == "" and file or (file:match "^.*/" or "") .. path
        if anchor ~= "" and not link:find "^%a+:" then
            looked = looked + 1
            if not anchors(target)[anchor] then
                print(("%s: the link %s leads nowhere"):format(file, link))
            end
        end
    end
end

print(looked)
