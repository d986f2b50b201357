-- lua5.4 tools/amalgamate.lua OUT: writes OUT/caret.c and OUT/caret.h, the whole engine as two files, and
-- OUT/caret_lua.c, the Lua modules caret and yottadb, to be compiled beside them by a program that embeds
-- Lua: their Lua files are in it, and it needs no path.
--
-- Each .c file is one translation unit: headers once and in the order in which they need each other, then
-- the sources, layer by layer.  What is static in one file may have the name of something static in
-- another: such names get the file's name in front.  Strings, comments and members are left alone.

local out = arg[1]
if not out then
    io.stderr:write("where to?  lua5.4 tools/amalgamate.lua FOLDER\n")
    os.exit(2)
end
local quoted = out:gsub("'", "'\\''")
if not os.execute("mkdir -p -- '" .. quoted .. "'") then os.exit(1) end -- mkdir has said why
local root = arg[0]:match("^(.*)/tools/[^/]*$") or "."

local function read(path)
    local f = assert(io.open(root .. "/" .. path, "rb"))
    local text = f:read("a")
    f:close()
    return text
end

local function write(name, parts)
    local f = assert(io.open(out .. "/" .. name, "wb"))
    f:write(table.concat(parts))
    f:close()
end

local function sources(folder)
    local list = {}
    local pipe = assert(io.popen(("ls '%s/%s'/*.c"):format(root, folder)))
    for path in pipe:lines() do list[#list + 1] = folder .. "/" .. path:match("[^/]*$") end
    pipe:close()
    return list
end

-- The place of a header that is included by that name.
local function place_of(header)
    local f = io.open(root .. "/src/" .. header)
    if not f then return "front/" .. header end
    f:close()
    return "src/" .. header
end

-- Tables for macros, .def, stay where they are included.
local function with_tables(text)
    return (text:gsub('\n%s*#%s*include%s+"([^"]+%.def)"', function(name)
        return "\n" .. read(place_of(name))
    end))
end

-- ------------------------------------------------------------------ tokens

-- Calls f(kind, text) for the pieces of C source: "word", "text" (strings, characters, comments), "other".
local function tokens(text, f)
    local at = 1
    local function take(kind, pattern)
        local from, to = text:find("^" .. pattern, at)
        if not from then return false end
        f(kind, text:sub(from, to))
        at = to + 1
        return true
    end
    while at <= #text do
        local _ = take("text", "/%*.-%*/") or take("text", "//[^\n]*") or take("word", "[%a_][%w_]*")
            or take("other", "%d[%w_%.]*")
        if text:sub(at, at) == '"' or text:sub(at, at) == "'" then
            local quote, to = text:sub(at, at), at + 1
            while text:sub(to, to) ~= quote do
                to = to + (text:sub(to, to) == "\\" and 2 or 1)
            end
            f("text", text:sub(at, to))
            at = to + 1
        elseif not text:find("^[%w_]", at) and text:sub(at, at) ~= "/" and at <= #text then
            take("other", "[^%w_\"'/]+")
        elseif text:sub(at, at) == "/" and not text:find("^/[%*/]", at) then
            take("other", "/")
        end
    end
end

-- What a file defines for itself: statics, tags, constants and types; macros apart.
local function own_names(text)
    local code = {}
    tokens(text, function(kind, piece) code[#code + 1] = kind == "text" and " " or piece end)
    local plain = table.concat(code)
    local names, macros, flat = {}, {}, plain
    for name in plain:gmatch("\n%s*#%s*define%s+([%a_][%w_]*)") do macros[name] = true end
    flat = flat:gsub("\\\n", " "):gsub("\n%s*#[^\n]*", "\n")
    local depth, top = 0, {} -- only what stands outside of braces
    for at, c in flat:gmatch("()(.)") do
        if c == "{" then depth = depth + 1 end
        if depth == 0 or c == "{" and depth == 1 then top[#top + 1] = c end
        if c == "}" then
            depth = depth - 1
            local declares = flat:find("^%s*[%a_][%w_]*%s*[;=%[]", at + 1) -- struct {...} name;
            if depth == 0 then top[#top + 1] = declares and "}" or "};" end
        end
    end
    for statement in table.concat(top):gmatch("[^;]+") do
        local s = statement:gsub("__attribute__%s*%b()", " "):gsub("alignas%s*%b()", " ")
            :gsub("_Atomic%s*%b()", " ")
        if s:match("^[%s}]*static[%s]") or s:match("^[%s}]*_Thread_local%s+static") then
            local name = s:match("([%a_][%w_]*)%s*%(") or s:match("([%a_][%w_]*)%s*[=%[]")
                or s:match("([%a_][%w_]*)%s*$")
            if s:match("=") and s:find("=") < (s:find("%(") or math.huge) then
                name = s:match("([%a_][%w_]*)%s*[%[=]")
            end
            if name and name ~= "_Static_assert" then names[name] = true end
        end
        for tag in s:gmatch("struct%s+([%a_][%w_]*)%s*{") do names[tag] = true end
        for tag in s:gmatch("union%s+([%a_][%w_]*)%s*{") do names[tag] = true end
        for tag in s:gmatch("enum%s+([%a_][%w_]*)%s*{") do names[tag] = true end
    end
    for body in flat:gmatch("enum[%s%w_]*(%b{})") do
        for name in body:gmatch("[{,]%s*([%a_][%w_]*)") do names[name] = true end
    end
    return names, macros
end

-- The text with the names in `clash` renamed, members excepted.
local function renamed(text, prefix, clash)
    local parts, before = {}, ""
    tokens(text, function(kind, piece)
        if kind == "word" and clash[piece] and not before:find("[%.>]%s*$") then
            parts[#parts + 1] = prefix .. piece
        else
            parts[#parts + 1] = piece
        end
        before = before:sub(-8) .. (kind == "text" and "" or piece)
    end)
    return table.concat(parts)
end

-- ----------------------------------------------------------------- one unit

-- The header and those it needs, at the end of the unit, once.
local function add_header(unit, path)
    if unit.done[path] then return end
    unit.done[path] = true
    local text = with_tables(read(path))
    for name in text:gmatch('\n%s*#%s*include%s+"([^"]+)"') do
        if name ~= "caret.h" then add_header(unit, place_of(name)) end
    end
    unit[#unit + 1] = "\n/* ---- " .. path .. " ---- */\n" .. text:gsub('\n%s*#%s*include%s+"[^"]+"', "")
end

-- The sources in the folders, and how many of them define each name.
local function load_sources(folders)
    local files, users, macro_users = {}, {}, {}
    for _, folder in ipairs(folders) do
        for _, path in ipairs(sources(folder)) do
            local text = with_tables(read(path))
            local names, macros = own_names("\n" .. text)
            files[#files + 1] = {path = path, text = text, names = names, macros = macros}
            for name in pairs(names) do users[name] = (users[name] or 0) + 1 end
            for name in pairs(macros) do macro_users[name] = (macro_users[name] or 0) + 1 end
        end
    end
    return files, users, macro_users
end

local function add_source(unit, file, users, macro_users)
    local clash = {}
    for name in pairs(file.names) do
        if users[name] > 1 or macro_users[name] then clash[name] = true end
    end
    local prefix = "caret__" .. file.path:match("^%w+/(.*)%.c$"):gsub("%W", "_") .. "_c_"
    local text = renamed(file.text, prefix, clash):gsub('\n%s*#%s*include%s+"[^"]+"', "")
    unit[#unit + 1] = "\n/* ---- " .. file.path .. " ---- */\n" .. text
    local undefs = {}
    for name in pairs(file.macros) do undefs[#undefs + 1] = "#undef " .. name .. "\n" end
    table.sort(undefs)
    unit[#unit + 1] = table.concat(undefs)
end

-- The system's headers come first: what they declare must not be hidden.
local function system_headers(unit)
    local systems, seen = {}, {}
    for name in table.concat(unit):gmatch("\n%s*#%s*include%s+(<[^>]+>)") do
        if not seen[name] and not name:find("intrin") and not name:find("acle") then
            seen[name] = true
            systems[#systems + 1] = "#include " .. name .. "\n"
        end
    end
    table.sort(systems)
    return table.concat(systems)
end

local license = read("LICENSE"):gsub("[^\n]*\n", function(line)
    return (" * " .. line):gsub(" +\n", "\n")
end)

local OPENING = [[
/*
 * %s  Made by tools/amalgamate.lua from the sources: change those.
 *
 *     %s
 *
%s */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wunused-function" /* what headers offer inline */
#endif
#include "caret.h"
]]

-- The folders as one file; what: its first line; compile: how it is compiled; tail: what comes after.
local function write_unit(name, folders, what, compile, tail)
    local unit = {done = {}}
    local files, users, macro_users = load_sources(folders)
    for _, file in ipairs(files) do
        for header in file.text:gmatch('\n%s*#%s*include%s+"([^"]+)"') do
            if header ~= "caret.h" then add_header(unit, place_of(header)) end
        end
    end
    for _, file in ipairs(files) do add_source(unit, file, users, macro_users) end
    write(name, {
        OPENING:format(what, compile, license), system_headers(unit),
        "#if defined(__GNUC__)\n#pragma GCC visibility push(hidden)\n#endif\n", table.concat(unit),
        "#if defined(__GNUC__)\n#pragma GCC visibility pop\n#endif\n", tail or "",
    })
end

-- ------------------------------------------------------------- the Lua part

local LOADER = [[
static int run_embedded(lua_State *L, size_t i)
{
    const char *text = (const char *)lua_files[i].text;

    if (luaL_loadbuffer(L, text, lua_files[i].len, lua_files[i].chunk) != 0)
        return lua_error(L);
    lua_pushstring(L, lua_files[i].name);
    lua_call(L, 1, 1);
    return 1;
}

static int load_embedded(lua_State *L)
{
    return run_embedded(L, (size_t)lua_tointeger(L, lua_upvalueindex(1)));
}

/* The module of that name; the others, which it requires, go into package.preload. */
static int open_embedded(lua_State *L, const char *name)
{
    size_t own = 0;

    lua_getglobal(L, "package");
    lua_getfield(L, -1, "preload");
    lua_pushcfunction(L, luaopen_caret_core);
    lua_setfield(L, -2, "caret.core");
    for (size_t i = 0; i < sizeof lua_files / sizeof *lua_files; i++) {
        if (strcmp(lua_files[i].name, name) == 0)
            own = i;
        lua_pushinteger(L, (lua_Integer)i);
        lua_pushcclosure(L, load_embedded, 1);
        lua_setfield(L, -2, lua_files[i].name);
    }
    return run_embedded(L, own);
}

/*
 * Put them into package.preload, or call luaL_requiref(L, "caret", luaopen_caret, 0): the module caret, for a
 * state that has the standard libraries.  The same for yottadb.
 */
CARET_API int luaopen_caret(lua_State *L);
CARET_API int luaopen_yottadb(lua_State *L);

int luaopen_caret(lua_State *L)
{
    return open_embedded(L, "caret");
}

int luaopen_yottadb(lua_State *L)
{
    return open_embedded(L, "yottadb");
}
]]

-- The Lua files of both modules: path in the module, file.
local function lua_files()
    local list = {}
    local pipe = assert(io.popen(("cd '%s/front' && ls lua/*/*.lua yottadb/lua/*.lua yottadb/lua/*/*.lua")
        :format(root)))
    for path in pipe:lines() do
        local name = path:gsub("^lua/", ""):gsub("^yottadb/lua/", "")
        list[#list + 1] = {name, "front/" .. path}
    end
    pipe:close()
    return list
end

-- Every Lua file as bytes, and the functions that load them.
local function embedded()
    local arrays, files = {}, {}
    for _, file in ipairs(lua_files()) do
        local path = file[1]
        local module = path:gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", ".")
        if not module:match "^caret%.meta" then
            local name = "lua_" .. module:gsub("%.", "_")
            local bytes = read(file[2]):gsub(".", function(c) return c:byte() .. "," end)
            arrays[#arrays + 1] = ("static const unsigned char %s[] = {%s0};\n"):format(name, bytes)
            files[#files + 1] = ('    {"%s", "@%s", %s, sizeof %s - 1},\n'):format(module, path, name, name)
        end
    end
    return table.concat(arrays) .. "static const struct {\n    const char *name, *chunk;\n"
        .. "    const unsigned char *text;\n    size_t len;\n} lua_files[] = {\n"
        .. table.concat(files) .. "};\n\n" .. LOADER
end

local engine = {}
for names in read("layers"):gmatch("\nengine ([^\n]*)") do
    for name in names:gmatch("%S+") do engine[#engine + 1] = "src/" .. name end
end
write_unit("caret.c", engine,
    "Caret, the whole engine in one file.", "cc -O2 -c caret.c && cc program.c caret.o -pthread -lm")
write_unit("caret_lua.c", {"front/m", "front/lua"},
    "Caret's Lua modules in one file; caret.c has the engine.",
    "cc -O2 -I/usr/include/lua5.4 program.c caret.c caret_lua.c -llua5.4 -pthread -lm -ldl", embedded())
write("caret.h", {read("include/caret.h")})
