-- LCS.
return {
    "set key text", "set key text", "set key value", "hset key field value", "del key",
    "lcs key key [LEN|IDX] [MINMATCHLEN {int|value}] [WITHMATCHLEN]", "lcs key key", "lcs key key IDX",
    "lcs key key IDX WITHMATCHLEN MINMATCHLEN count", "lcs key key value",
    makers = {
        text = function()
            local t = {}
            for i = 1, math.random(0, 70) do t[i] = string.char(96 + math.random(4)) end
            return table.concat(t)
        end,
    },
}
