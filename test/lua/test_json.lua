-- json and setjson: exact both ways.
local lu = require "luaunit"
local caret = require "caret"
local fixture = require "fixture"

local db, n

TestJson = {}

function TestJson:setUp()
    db, n = fixture.fresh()
end

function TestJson:tearDown()
    db:close()
end

-- Every node below n as text, in order.
local function contents(node)
    local lines = {tostring(node:get())}
    for child, value in node:walk() do
        lines[#lines + 1] = table.concat(child:subsarray(), "\1") .. "=" .. tostring(value)
    end
    return table.concat(lines, "\n")
end

-- The tree becomes that JSON, and the same tree again.
local function check(text)
    lu.assertEquals(n:json(), text)
    local before = contents(n)
    lu.assertIs(n:setjson(text), n)
    lu.assertEquals(contents(n), before)
    lu.assertEquals(n:json(), text)
end

function TestJson:test_trees_become_json()
    n:settree {name = "oak", height = 15.5, [1] = "x", shadow = {length = 3}}
    check '{"1":"x","height":15.5,"name":"oak","shadow":{"length":3}}'
    n:kill()
    lu.assertNil(n:json())
    n.__ = "just a value"
    check '"just a value"'
    n.a.b.c.__ = 1
    check '{"__":"just a value","a":{"b":{"c":1}}}'
    n:kill()
    n.a.b.__ = "only a grandchild"
    check '{"a":{"b":"only a grandchild"}}'
end

function TestJson:test_children_from_1_up_are_an_array()
    n:settree {"a", "b", {"c", {d = 1}}}
    check '["a","b",["c",{"d":1}]]'
    n[5].__ = "far"
    check '{"1":"a","2":"b","3":["c",{"d":1}],"5":"far"}'
    n:kill()
    n[0].__ = 1
    n[1].__ = 2
    check '{"0":1,"1":2}'
    n:kill()
    n:settree {__ = "own", "a", "b"}
    check '{"__":"own","1":"a","2":"b"}'
end

function TestJson:test_documents_come_back_as_they_were()
    for _, text in ipairs {"1", '"x"', "true", "false", "null", '""', "[]", "{}", "[[],{},[[]],[{}]]",
        '{"a":[],"b":{}}', '["1","2",3]', '{"n":5551234,"phone":"5551234","zip":"01234"}',
        '["true",true,"false",false,"null",null]', '{"1":"a"}', '{"1":"a","2":"b"}', '{"1":"a","3":"b"}',
        '{"__":1}', '{"__":"1"}', '{"__":"1","1":2}', '{"__":"x","1":2}', '{"__":null,"a":"null"}',
            '{"__":""}',
        '{"__json":1}', '{"__json":"array"}', '{"___json":[1],"__json":{"__json":"x"}}', '{"___":{"a":1}}',
        '{"___":2,"____":1}', '{"":{"":""}}', '[null,null]',
        '{"a\\"b\\\\c\\n\\u0000\\u007f":"\195\164\240\159\140\179/"}',
        '["\\udcff\\udc80","\195\164\\udcc3"]', '[0,-1,0.5,-0.25,100,1.5E300,1E-50,-1E48]',
        '[9223372036854775807,18446744073709551615,0.1000000000000000055511151231257827]',
        ('["' .. ("x"):rep(100000) .. '"]')} do
        n:setjson(text)
        check(text)
    end
end

function TestJson:test_numbers_are_exact_and_canonical()
    local cases = {["1.0"] = "1", ["1e2"] = "100", ["0.10"] = ".1", ["-0.5e1"] = "-5", ["-0"] = "0",
        ["0.0e9"] = "0",
        ["12345678901234567890123"] = "12345678901234567890123", ["1E400"] = "1E400",
        ["150e-400"] = "1.5E-398",
        ["0.00000001"] = ".00000001", ["9007199254740993"] = "9007199254740993", ["1e+5"] = "100000",
        ["9007199254740993.0"] = "9007199254740993", ["1e-0"] = "1",
        ["1e-999999999"] = "1E-999999999", ["12.5e999999998"] = "1.25E999999999"}
    for text, value in pairs(cases) do
        n:setjson(text)
        lu.assertEquals(n.__, value)
        local written = n:json()
        lu.assertNotStrContains(written, '"')
        n:setjson(written)
        lu.assertEquals(n.__, value)
        lu.assertEquals(n:json(), written)
    end
    for _, v in ipairs {1e300, 1.5e-300, 0.1, 1 / 3, -2 ^ 53, 1e47, 1e15, 123456.789, 5e-324} do
        n.__ = v -- what Lua writes is a number
        lu.assertEquals(tonumber(n:json()), v)
        lu.assertNotStrContains(n:json(), '"')
    end
    for _, s in ipairs {"1.", "1.0", "01", "0.5", "+1", "1e5", "1E5", "-", ".", "", "-0", "0x1", " 1", "1 ",
        "1E400 ",
        "10E400", "1E0400", "E5", "1E", "nan", "inf", "--1", "1.5.5", "1E5E5", "1-5"} do
        n.__ = s -- these are text
        lu.assertEquals(n:json(), '"' .. s .. '"')
        n:setjson(n:json())
        lu.assertEquals(n.__, s)
        lu.assertEquals(n:data(), 1)
    end
end

function TestJson:test_what_programs_see_of_a_document()
    n:setjson [[ { "name" : "oak", "zip": "12345", "age": 12345, "ok": true, "tags": ["a", "b"],
        "none": [], "nil": null, "sub": {"x": {"y": 0.5}} } ]]
    lu.assertEquals(n.name.__, "oak")
    lu.assertEquals(n.zip.__, "12345")
    lu.assertEquals(n.age:number(), 12345)
    lu.assertEquals(n.ok.__, "true")
    lu.assertEquals(n["nil"].__, "null")
    lu.assertEquals(n.tags[2].__, "b")
    lu.assertEquals(n.sub.x.y:number(), 0.5)
    lu.assertEquals(n.none:gettree(), {__json = "array"})
    lu.assertEquals(n.zip("__json").__, "string")
end

function TestJson:test_marks_hold_while_the_tree_changes()
    n:setjson '{"list":[],"zip":"12345","o":{}}'
    n.list[1].__ = "a"
    n.list[3].__ = "c"
    n.zip.__ = 7
    n.o[1].__ = 1
    lu.assertEquals(n:json(), '{"list":["a",null,"c"],"o":{"1":1},"zip":"7"}')
    n.list[1000].__ = "too far"
    lu.assertStrContains(n:json(), '{"1":"a","3":"c","1000":"too far"}')
    n.list[1000]:kill()
    n.list.__ = "own"
    n.zip:delete()
    lu.assertEquals(n:json(), '{"list":{"__":"own","1":"a","3":"c"},"o":{"1":1},"zip":null}')
    n("__json").__ = "what"
    lu.assertErrorMsgContains('^t("__json") is kept for marks', function() n:json() end)
    n("__json").__ = "object"
    n("__json", 1).__ = "what"
    lu.assertErrorMsgContains('^t("__json") is kept for marks', function() n:json() end)
end

function TestJson:test_a_text_replaces_what_was_there()
    n:settree {1, 2, 3, old = {x = 1}}
    n:setjson '[9]'
    lu.assertEquals(n:gettree(), {"9"})
end

function TestJson:test_reading_takes_all_of_json()
    n:setjson('\239\187\191 {"a" : [ 1 ,\t2 ] ,\r\n' ..
        '"\\u0062\\u00e4\\u20ac\\ud83c\\udf33\\/\\b\\f\\r\\t" : "\\uDCff" } ')
    lu.assertEquals(n.a[2].__, "2")
    lu.assertEquals(n("b\195\164\226\130\172\240\159\140\179/\b\f\r\t").__, "\255")
    n:setjson '"\255 raw"' -- bytes that are not UTF-8 are taken as they are
    lu.assertEquals(n.__, "\255 raw")
    lu.assertEquals(n:json(), '"\\udcff raw"')
end

function TestJson:test_what_is_written_is_utf8()
    for _, s in ipairs {"\237\160\128", "\224\159\191", "\240\143\191\191", "\244\144\128\128", "\192\128",
        "\248\136\128",
        "\128", "\194", "\226\130", "\240\159\140", "\255\254"} do
        n.__ = s
        local expected = s:gsub(".", function(c) return ("\\udc%02x"):format(c:byte()) end)
        lu.assertEquals(n:json(), '"' .. expected .. '"')
        n:setjson(n:json())
        lu.assertEquals(n.__, s)
    end
    for _, s in ipairs {"\194\128", "\223\191", "\224\160\128", "\237\159\191", "\238\128\128",
        "\240\144\128\128",
        "\244\143\191\191"} do
        n.__ = s .. "\128" .. s
        lu.assertEquals(n:json(), '"' .. s .. "\\udc80" .. s .. '"')
    end
end

function TestJson:test_a_wrong_text_changes_nothing_and_says_where()
    n:settree {a = 1}
    local cases = {[""] = "column 1: a value was expected, not the end", ["[1,"] = "not the end",
        ["[1,]"] = "not ']'", ["[1 2]"] = "column 4: ',' or ']'", ['{"a"}'] = "':' was expected",
        ["{,}"] = "a key",
        ['{"a":1,}'] = "a key was expected, not '}'", ['{"a":1 "b"}'] = "',' or '}'", ["{a:1}"] = "a key",
        ["nul"] = "'nul'",
        ["NaN"] = "'NaN'", ["01"] = "leading zero", ["1."] = "goes on with '.'", [".5"] = "not '.'",
        ["+1"] = "not '+'",
        ["1e"] = "goes on with 'e'", ["-"] = "not '-'", ["0x10"] = "goes on with 'x'",
        ["1 2"] = "the end was expected, not '2'",
        ['"a'] = "no end", ['"a\n"'] = "control character", ['"\\x"'] = "no such escape",
        ['"\\u12"'] = "four hexadecimal",
        ['"\\ud800"'] = "surrogate", ['"\\ud800\\u0041"'] = "surrogate", ['"\\udc00"'] = "surrogate",
        ['{"a":1,"a":2}'] = "second member 'a'", ['{"__":[1]}'] = "own value",
        ["[\n1,\n  x]"] = "line 3, column 3",
        ["1e9999999999"] = "nine digits", ["123e999999999"] = "nine digits",
        ["0.1e-999999999"] = "nine digits", [("["):rep(100)] = "MAXSUBS", ["\1"] = "not byte 1",
        ["'a'"] = "not '''",
        [("[1,"):rep(31) .. "[]" .. ("]"):rep(31)] = "MAXSUBS",
        ['{"' .. ("x"):rep(2000) .. '":1}'] = "KEY2BIG"}
    for text, message in pairs(cases) do
        lu.assertErrorMsgContains(message, n.setjson, n, text)
        lu.assertErrorMsgContains("test_json.lua:", function() n:setjson(text) end)
        lu.assertEquals(n:gettree(), {a = "1"})
    end
    lu.assertErrorMsgContains("needs JSON text", n.setjson, n, {})
    lu.assertErrorMsgContains("needs JSON text", function() n:setjson() end)
    lu.assertErrorMsgContains("options of json", n.json, n, 5)
    lu.assertErrorMsgContains("no option 'x'", n.json, n, {x = 1})
    lu.assertErrorMsgContains("option indent", n.json, n, {indent = {}})
end

function TestJson:test_indented()
    n:setjson '{"a":[1,[]],"b":{},"c":{"__":1,"d":2}}'
    local text = n:json {indent = 2}
    lu.assertEquals(text, [[
{
  "a": [
    1,
    []
  ],
  "b": {},
  "c": {
    "__": 1,
    "d": 2
  }
}]])
    local before = contents(n)
    n:setjson(text)
    lu.assertEquals(contents(n), before)
    lu.assertStrContains(n:json {indent = "\t"}, "\n\t\t1,")
    lu.assertEquals(n:json {indent = 2.5}, text)
end

function TestJson:test_subclasses_and_locals()
    local new, class = caret.inherit(db.node)
    function class.get() error("get") end
    function class.set() error("set") end
    local c = new("v")
    c:setjson '{"a":[1,2]}'
    lu.assertEquals(c:json(), '{"a":[1,2]}')
    lu.assertEquals(c.a:json(), "[1,2]")
    c:kill()
end

-- Random trees and documents.

local random = math.random
local ATOMS = {"", "1", "2", "10", "-5", ".5", "0.5", "1E5", "1E300", "true", "null", "false", "__", "___",
    "___json",
    "____json", "x", "key", "\195\164", "\255", "a\0b", "\195", "\237\160\128", '"', "\\", "\n",
    "9223372036854775807",
    "18446744073709551616", "-1", "0", "-0", "00", "1.50"}

local function bytes()
    local t = {}
    for i = 1, random(0, 12) do t[i] = string.char(random(0, 255)) end
    return table.concat(t)
end

local function text()
    return random(4) == 1 and bytes() or ATOMS[random(#ATOMS)]
end

local function grow(node, depth)
    if random(3) > 1 then node:__set(text()) end
    local array = random(4) == 1
    for i = 1, depth > 0 and random(0, 4) or 0 do
        grow(node(array and i or text()), depth - 1)
    end
end

function TestJson:test_random_trees_round_trip()
    for _ = 1, fixture.times(400) do
        n:kill()
        grow(n, 4)
        local before, written = contents(n), n:json()
        if written then
            n:setjson(written)
            -- marks that were needed have come to it: without them it is the same
            local marked = n:json()
            for child, _, sub in n:walk() do if sub == "__json" then child:kill() end end
            if n("__json"):data() > 0 then n("__json"):kill() end
            lu.assertEquals(contents(n), before)
            lu.assertEquals(marked, written)
        end
    end
end

local function document(depth)
    local kind = random(depth > 0 and 8 or 5)
    local q = {"\\u0000", "\195\164", "a", "1", "\\udc81", "__", "true", "\\\\", "7"}
    local function str()
        local t = {}
        for i = 1, random(0, 3) do t[i] = q[random(#q)] end
        return '"' .. table.concat(t) .. '"'
    end
    if kind <= 2 then return str() end
    if kind == 3 then return tostring(random(-1000, 1000)) end
    if kind == 4 then return ({"true", "false", "null"})[random(3)] end
    if kind == 5 then return random(0, 9) .. "." .. random(0, 99) .. random(9) end
    local items, keys = {}, {}
    for _ = 1, random(0, 4) do
        local key = kind == 6 and "" or random(2) == 1 and '"' .. random(3) .. '"' or str()
        if not keys[key] or kind == 6 then
            keys[key] = true
            items[#items + 1] = (kind == 6 and "" or key .. ":") .. document(key == '"__"' and 0 or depth - 1)
        end
    end
    return (kind == 6 and "[%s]" or "{%s}"):format(table.concat(items, ","))
end

function TestJson:test_random_documents_round_trip()
    for _ = 1, fixture.times(400) do
        local before = document(4)
        n:setjson(before)
        local first, tree = n:json(), contents(n)
        lu.assertEquals(#first, #before) -- the same but for the order of members
        n:setjson(first)
        lu.assertEquals(n:json(), first)
        lu.assertEquals(contents(n), tree)
    end
end

fixture.run()
