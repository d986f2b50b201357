-- For test_nodes.lua, which runs it by `caret run`: make trees below ^j, and print for each its subscript and
-- its JSON.
local n = require "caret".open(os.getenv "CARET_DB").node "^j"
local texts = {
    "1", "0", "-5", "-0.5", "1.10", "1E400", "-1.5e-300", "12345678901234567890", "true", "null",
    '"true"', '"1"', '"0815"', '""', '"a\\u0000\\u007f\\"\\\\\\n\\u00e9\\ud83d\\ude00\\udcff"',
    "[]", "{}", '["1",1,true,"true",null,[],{},[[1]]]', '{"1":"x"}', '{"__":1,"a":2}', '{"__":"1","1":2}',
    '{"__":"x","__json":1,"___":2,"___json":3,"_":4,"__j":5}', '{"1":{"2":{"3":[1,{"b":{}}]}}}',
    "1E47", "1E46", "1e-43", "1e-44", "0.00001", "100000000000000000000000000000000000000000000000",
}
for i, text in ipairs(texts) do n[i]:setjson(text) end
local values = {"1.0", "+1", "-0", ".", "-", "1.", ".50", ".5", "1E5", "1E47", "1E-44", "1E-43", "12E50",
    "1.5E0500",
    "1E", "\255x\237\160\128\240\159\152\128\192\175", "01", "-01", "1E1234567890"}
for i, value in ipairs(values) do n["v" .. i].__ = value end
n.t1[1].__, n.t1[3].__ = 1, 3                                           -- no array
n.t2[1].__, n.t2[3].__, n.t2("__json").__ = 1, 3, "array"                  -- one, marked
n.t3.__, n.t3[1].__ = "both", 1
n.t4.__, n.t4("__json").__ = "5", "string"
n.t5[2].__ = 1
n.t6("__json").__ = "array"
n.t7("__json").__ = "object"
n.t8[1].__, n.t8[100].__, n.t8("__json").__ = 1, 3, "array"
for sub in n:subscripts() do print(sub .. " " .. n[sub]:json()) end
