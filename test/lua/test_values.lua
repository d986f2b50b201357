-- Values: get, set, incr, number, data, kill, delete; on nodes and on databases.
local lu = require "luaunit"
local fixture = require "fixture"

local db, n

TestValues = {}

function TestValues:setUp()
    db, n = fixture.fresh()
end

function TestValues:tearDown()
    db:close()
end

function TestValues:test_get_and_set()
    n.a.__ = "text"
    lu.assertEquals(n.a.__, "text")
    lu.assertEquals(n.a:get(), "text")
    lu.assertEquals(n.a:set("more"), "more")
    lu.assertEquals(n.a:__get("default"), "more")
    lu.assertNil(n.none.__)
    lu.assertNil(n.none:get())
    lu.assertEquals(n.none:get("default"), "default")
    lu.assertEquals(n.none:get("default", 2, 3), "default")
    n.empty.__ = ""
    lu.assertEquals(n.empty.__, "")
    lu.assertEquals(n.empty:get("default"), "")
end

function TestValues:test_nil_deletes_the_value_only()
    n.a.__ = 1
    n.a.b.__ = 2
    n.a.__ = nil
    lu.assertNil(n.a.__)
    lu.assertEquals(n.a.b.__, "2")
    n.a.b:set(nil)
    lu.assertEquals(n.a:data(), 0)
end

function TestValues:test_values_of_any_bytes_and_sizes()
    local all = {}
    for i = 0, 255 do all[i + 1] = string.char(i) end
    all = table.concat(all)
    for _, size in ipairs {1, 100, 3000, 5000, 70000, 1000000} do
        local v = all:rep(math.ceil(size / 256)):sub(1, size)
        n.v.__ = v
        lu.assertTrue(n.v.__ == v, size)
    end
    lu.assertErrorMsgContains("VALUE2BIG", function() n.v.__ = ("x"):rep(16 * 1024 * 1024 + 1) end)
end

function TestValues:test_numbers_become_canonical_text()
    local cases = {[0.5] = ".5", [-0.25] = "-.25", [3] = "3", [-7] = "-7", [0] = "0",
        [1e15] = "1000000000000000",
        [0.1] = ".1", [1 / 3] = ".3333333333333333"}
    for number, text in pairs(cases) do
        n.x.__ = number
        lu.assertEquals(n.x.__, text)
        lu.assertEquals(n.x:number(), number)
    end
    n.x.__ = 6 / 2
    lu.assertEquals(n.x.__, "3")
    if math.type then
        for _, i in ipairs {math.maxinteger, math.mininteger, math.maxinteger - 1} do
            n.x.__ = i
            lu.assertEquals(n.x.__, ("%d"):format(i))
            lu.assertEquals(n.x:number(), i)
        end
        lu.assertEquals(math.type(n.x:number()), "integer")
    end
    for _, bad in ipairs {1 / 0, -1 / 0, 0 / 0} do
        lu.assertErrorMsgContains("can't be a value", function() n.x.__ = bad end)
        lu.assertErrorMsgContains("is not a number to add", function() n.x:incr(bad) end)
        lu.assertErrorMsgContains("is not a number to add", function() return n.x - bad end)
        lu.assertErrorMsgContains("is not a number to add", function() db:incr("^t", bad) end)
        lu.assertErrorMsgContains("can't be a value", function() db:set("^t", bad) end)
        lu.assertErrorMsgContains("is not a subscript", function() return n[bad] end)
    end
end

-- Integers of every length, around where it changes, as values and as subscripts that come back.
function TestValues:test_integers_of_every_length_are_written_and_read()
    local limit = math.type and 1e18 or 2 ^ 53
    local power = 1
    while power <= limit do
        for _, v in ipairs {power - 1, power, power + 1, 7 * power, 5 * power + 5} do
            local i = math.type and math.tointeger(v) or v
            for _, signed in ipairs {i, -i} do
                if signed >= -limit and signed <= limit then
                    local text = ("%d"):format(signed)
                    n.v.__ = signed
                    lu.assertEquals(n.v.__, text)
                    n.s:kill()
                    n.s[signed].__ = text
                    for _, value, sub in n.s:pairs() do
                        lu.assertEquals(sub, signed)
                        lu.assertEquals(value, text)
                    end
                    lu.assertEquals(n.s:next(), signed)
                end
            end
        end
        power = power * 10
    end
end

-- What comes back where the numbers of this Lua can't be that integer.
local function integer(text)
    local fits = math.type and tostring(math.tointeger(tonumber(text))) == text
    return fits and math.tointeger(tonumber(text)) or text
end

function TestValues:test_integers_of_any_length_up_to_38_digits_add_exactly()
    local nine = ("9"):rep(38)
    for _, case in ipairs {{"1700000000000000001", 1, "1700000000000000002"},
        {"9007199254740992", 1, "9007199254740993"}, {"-9007199254740992", -1, "-9007199254740993"},
        {"9223372036854775806", 1, "9223372036854775807"}, {"9223372036854775807", 1, "9223372036854775808"},
        {"-9223372036854775808", -1, "-9223372036854775809"},
        {"0", "1234567890123456789", "1234567890123456789"},
        {"1", "9223372036854775807", "9223372036854775808"}, {nine, -1, ("9"):rep(37) .. "8"},
        {nine, 1, "1" .. ("0"):rep(38)}, {nine, "-" .. nine, "0"}} do
        n.x.__ = case[1]
        local sum = n.x:incr(case[2])
        lu.assertEquals(n.x.__, case[3])
        lu.assertEquals(sum, #case[3] < 16 and tonumber(case[3]) or integer(case[3]))
        n.x.__ = case[1]
        lu.assertEquals(db:incr("^t", "x", case[2]), sum)
        n.x.__ = case[1]
        lu.assertEquals((n.x + case[2]).__, case[3])
    end
    n.x.__ = "12345678901234567890"
    lu.assertEquals((n.x - "12345678901234567889.5").__, ".5")
    n.x.__ = "999999999999999999"
    lu.assertEquals({n.x:incr(.6), n.x.__}, {1e18, "999999999999999999.6"})
end

function TestValues:test_what_would_need_more_digits_changes_nothing()
    for _, case in ipairs {{("9"):rep(38), .1}, {"1E46", 1}, {("7"):rep(39), 1}, {"9E46", "1E46"},
        {"1", "1E47"}, {"1", 1e47}, {"1", "1E-38"}, {"1E-43", 1}, {"1E-44", 0}, {"1", 2 ^ 200}} do
        n.x.__ = case[1]
        local ok, err = pcall(function() n.x:incr(case[2]) end)
        lu.assertEquals({ok, err.name}, {false, "NUMOFLOW"}, case[1])
        lu.assertStrContains(err.message, "the value, what is added, or the sum ")
        lu.assertEquals(n.x.__, case[1])
    end
end

function TestValues:test_floats_add_as_their_shortest_decimal()
    for _, case in ipairs {{2 ^ 53, "9007199254740992"}, {2 ^ 63, "9223372036854776000"},
        {-2 ^ 63, "-9223372036854775808"}, {0.1, ".1"}, {1e-7, ".0000001"},
        {2 ^ 64, "18446744073709552000"}, {1e22, "10000000000000000000000"}} do
        n.x:delete()
        n.x:incr(case[1])
        lu.assertEquals(n.x.__, case[2])
    end
    n.x.__ = -1
    n.x:incr(2 ^ 63)
    lu.assertEquals(n.x.__, "9223372036854775999")
end

function TestValues:test_an_increment_that_is_no_number_is_misuse()
    n.x.__ = 5
    for _, by in ipairs {"five", "", " 5", "5 ", "0x10", "1e3", "1E", ".", "-", "--5", "+-5",
        "12 oaks", "1\0", "nan"} do
        for _, f in ipairs {function() n.x:incr(by) end, function() return n.x + by end,
            function() return n.x - by end, function() db:incr("^t", "x", by) end} do
            local line = debug.getinfo(f, "S").linedefined
            local ok, err = pcall(f)
            lu.assertFalse(ok, by)
            lu.assertStrContains(tostring(err), ("test_values.lua:%d: "):format(line), by)
            lu.assertStrContains(tostring(err), "is not a number to add", by)
        end
    end
    for _, f in ipairs {function() n.x:incr(nil) end, function() db:incr("^t", "x", nil) end} do
        lu.assertErrorMsgContains("leave it out to add 1", f)
    end
    lu.assertEquals(n.x.__, "5")
    for _, by in ipairs {"12", "+12", "1.2E1", "012", "12.0"} do
        n.x.__ = by
        lu.assertEquals(n.x:number(), 12)
        n.x.__ = 0
        lu.assertEquals(n.x:incr(by), 12)
    end
end

function TestValues:test_number_reads_decimal_text_only()
    local cases = {["12"] = 12, ["-3.5"] = -3.5, [".5"] = 0.5, ["007"] = 7, ["1E3"] = 1000, ["+5"] = 5,
        ["12345678901234567890"] = 12345678901234567890}
    for text, number in pairs(cases) do
        n.x.__ = text
        lu.assertEquals(n.x:number(), number, text)
    end
    for _, text in ipairs {"", "abc", "0x10", " 1", "1 ", "1e", "1e3", "1E", "--1", "-", ".", "1\0", "inf",
        "nan"} do
        n.x.__ = text
        lu.assertErrorMsgContains("is not a number", function() n.x:number() end)
    end
    lu.assertNil(n.none:number())
    lu.assertEquals(n.none:number(7), 7)
end

function TestValues:test_numbers_do_not_depend_on_the_locale()
    fixture.in_two_locales(function()
        for text, x in pairs {[".1234567890123456789"] = 1234567890123456789 / 1e19, ["-12.5E30"] = -125e29,
            ["1.5E-3"] = 15 / 10000, ["0.1E+1"] = 1, ["1.25E9999"] = math.huge,
            ["2.5E-9999"] = 0, ["." .. ("0"):rep(60) .. "1E61"] = 1} do
            n.__ = text
            lu.assertEquals(n:number(), x)
        end
        n.__ = "1.5E30"
        lu.assertEquals(n:incr(0.5), 15e29)
        lu.assertEquals(n.__, "1500000000000000000000000000000.5")
    end)
end

function TestValues:test_numbers_beyond_the_range_of_floats()
    for text, x in pairs {["1.25E99999999999999999999"] = math.huge, ["-1E9999999999"] = -math.huge,
        ["1.5E-99999999999"] = 0, ["0E99999999999"] = 0, ["-.0E-1"] = 0, [".1E400"] = math.huge,
        ["." .. ("0"):rep(500) .. "1E501"] = 1, ["1E-320"] = 1e-320, ["17.5E307"] = 1.75e308} do
        n.__ = text
        lu.assertEquals(n:number(), x)
    end
end

function TestValues:test_incr_reads_the_whole_of_a_long_number()
    local zeros = ("0"):rep(20000)
    n.long:set(zeros .. "7")
    lu.assertEquals(n.long:incr(), 8)
    n.long:set("." .. zeros .. "1E20001")
    lu.assertEquals(n.long:incr(), 2)
    n.long:set("12" .. (" "):rep(20000))
    lu.assertEquals(n.long:incr(), 13)
end

function TestValues:test_incr_is_exact_and_returns_a_number()
    for _ = 1, 10 do n.sum:incr(".1") end
    lu.assertEquals(n.sum.__, "1")
    lu.assertEquals(n.sum:incr(), 2)
    lu.assertEquals(n.sum:incr(5), 7)
    lu.assertEquals(n.sum:incr(-3), 4)
    lu.assertEquals(n.sum:incr(0.5), 4.5)
    lu.assertEquals(n.sum:incr(1), 5.5)
    lu.assertEquals(n.sum:incr("1E1"), 15.5)
    n.text.__ = "12 monkeys"
    lu.assertEquals(n.text:incr(), 13)
    n.none.__ = "monkeys"
    lu.assertEquals(n.none:incr(2), 2)
end

function TestValues:test_plus_and_minus_increment()
    local sum = n.sum
    lu.assertIs(sum + 3, sum)
    local _ = sum + 3 - 1
    lu.assertEquals(sum.__, "5")
    _ = sum - "2"
    lu.assertEquals(sum.__, "3")
    _ = sum - "-.5"
    lu.assertEquals(sum.__, "3.5")
    _ = sum - "+.5"
    lu.assertEquals(sum.__, "3")
    _ = sum - -4
    lu.assertEquals(sum.__, "7")
end

function TestValues:test_data_kill_delete()
    lu.assertEquals(n.a:data(), 0)
    n.a.__ = 1
    lu.assertEquals(n.a:data(), 1)
    n.a.b.__ = 1
    lu.assertEquals(n.a:data(), 11)
    lu.assertTrue(n.a:has_value())
    lu.assertTrue(n.a:has_tree())
    n.a:delete()
    lu.assertEquals(n.a:data(), 10)
    lu.assertTrue(n.a:has_tree())
    lu.assertFalse(n.a:has_value())
    n.a:kill()
    lu.assertEquals(n.a:data(), 0)
    n.a:kill()
    n.a:delete()
end

function TestValues:test_locals_have_the_same_methods()
    local v = db.node("v")
    v.a.__ = "x"
    lu.assertEquals(v.a:get(), "x")
    lu.assertEquals(v.n:incr(3), 3)
    lu.assertEquals(v:data(), 10)
    local got = {}
    for s in v:subscripts() do got[#got + 1] = s end
    lu.assertEquals(got, {"a", "n"})
    v:kill()
    lu.assertEquals(v:data(), 0)
end

function TestValues:test_databases_take_the_address_in_front()
    db:set("^t", 1, "a", "value")
    lu.assertEquals(db:get("^t", 1, "a"), "value")
    lu.assertEquals(db:get(n, {1, "a"}), "value")
    lu.assertEquals(db:data("^t", 1), 10)
    lu.assertEquals(db:incr("^t"), 1)
    lu.assertEquals(db:incr("^t", 5), 6)
    lu.assertEquals(db:incr("^t", "c", 5), 5)
    db:delete("^t", 1, "a")
    lu.assertNil(db:get("^t", 1, "a"))
    db:kill("^t")
    lu.assertEquals(db:data("^t"), 0)
end

function TestValues:test_numbers_are_the_nearest_floats()
    local random = math.random
    local texts = {"0.1", "-0.1", ".5", "-.5", "5.", "1.10", "123456789012345.6", "0.000000000000001", "+1.5",
        "9007199254740993.0", "1234567890.12345678", "99999999999999.9", "-0.0", "1E5", "2.5E-3", "007.25",
        "123456789012345678901234567890", "0.1000000000000000055511151231257827"}
    for _ = 1, 2000 do
        local digits = {}
        for i = 1, random(17) do digits[i] = random(0, 9) end
        table.insert(digits, random(#digits + 1), ".")
        texts[#texts + 1] = (random(2) == 1 and "-" or "") .. table.concat(digits)
    end
    for _, text in ipairs(texts) do
        n.__ = text
        lu.assertEquals(n:number(), tonumber(text), text)
    end
    for _, text in ipairs {".", "-", "", "-.", "1e", "0x10", " 1", "1 ", "1.2.3", "1_0", ".e5", "nan",
        "inf"} do
        n.__ = text
        lu.assertErrorMsgContains("is not a number", function() return n:number() end)
    end
end

fixture.run()
