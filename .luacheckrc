-- Read by luacheck, which tools/style.sh runs over every Lua file.
std = "max"
codes = true
max_line_length = 110
self = false

-- luaunit finds its tests by their global names.
files["test/lua/test_*.lua"] = {
    allow_defined_top = true,
    ignore = { "131/[tT]est.*" },
}
exclude_files = { "build", "build-*" }
-- Annotations can't be broken; its functions are never run.
files["front/lua/caret/meta*.lua"] = {
    max_line_length = false,
    ignore = { "212", "241", "311" },
}
