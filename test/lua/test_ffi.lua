-- ffi.lua calls the functions of the C module by a declaration of its own: one that differs is refused.
local lu = require "luaunit"
require "caret"
local fixture = require "fixture"

TestFfi = {}

local function jit_only()
    local over = package.loaded["caret.ffi"]
    lu.skipIf(over == nil, "this Lua does not use ffi.lua")
    return over
end

local function refused(over, declared)
    local ok, why = pcall(over, {ffi = {declared = declared}})
    lu.assertFalse(ok)
    lu.assertStrContains(why, "of different builds")
end

-- The C module's own text is what is asked for; nothing is called before that.
local function own()
    for i = 1, 8 do
        local _, value = debug.getupvalue(jit_only(), i)
        if type(value) == "function" then
            local name, text = debug.getupvalue(value, 2)
            if name == "declared" then return text end
        end
    end
end

function TestFfi:test_a_module_without_declarations_is_refused()
    refused(jit_only(), nil)
    refused(jit_only(), "")
end

function TestFfi:test_each_difference_is_refused()
    local over, text = jit_only(), own()
    lu.assertNotNil(text)
    refused(over, (text:gsub("int %(%*move%)[^;]*;", "")))
    refused(over, text .. "int (*more)(void *);")
    refused(over, (text:gsub("double sub%)", "int sub)", 1)))
    refused(over, (text:gsub("%(%*get%)", "(*fetch)")))
    local ok, why = pcall(over, {ffi = {declared = text}}) -- goes on, and fails for want of the rest
    lu.assertFalse(ok)
    lu.assertNotStrContains(tostring(why), "of different builds")
end

fixture.run()
