-- What `caret bench m` has M call: SHA-512 in Lua, and strip() by parameters and by M's variables.  Runs on
-- LuaJIT and on Lua 5.4, which MLua is made of.
local bit = bit
local sub = string.sub
if not bit then
    bit = load([[return {bxor = function(a, b, c) return a ~ b ~ (c or 0) end,
        band = function(a, b) return a & b end,
        ror = function(a, n) return a >> n | a << 64 - n end, rshift = function(a, n) return a >> n end}]])()
end
local bxor, band, ror, rshift = bit.bxor, bit.band, bit.ror, bit.rshift
local end_of = math.type and "" or "ULL"

local function numbers(text)
    local list = "return {" .. text:gsub("%x+", "0x%0" .. end_of .. ",") .. "}"
    return (loadstring or load)(list)()
end

local first = numbers [[
    6a09e667f3bcc908 bb67ae8584caa73b 3c6ef372fe94f82b a54ff53a5f1d36f1 510e527fade682d1 9b05688c2b3e6c1f
    1f83d9abfb41bd6b 5be0cd19137e2179
]]
-- n numbers of 64 bits
local function room(n)
    return math.type and {} or require("ffi").new("uint64_t[?]", n + 1)
end

local K = numbers [[
    428a2f98d728ae22 7137449123ef65cd b5c0fbcfec4d3b2f e9b5dba58189dbbc 3956c25bf348b538 59f111f1b605d019
    923f82a4af194f9b ab1c5ed5da6d8118 d807aa98a3030242 12835b0145706fbe 243185be4ee4b28c 550c7dc3d5ffb4e2
    72be5d74f27b896f 80deb1fe3b1696b1 9bdc06a725c71235 c19bf174cf692694 e49b69c19ef14ad2 efbe4786384f25e3
    0fc19dc68b8cd5b5 240ca1cc77ac9c65 2de92c6f592b0275 4a7484aa6ea6e483 5cb0a9dcbd41fbd4 76f988da831153b5
    983e5152ee66dfab a831c66d2db43210 b00327c898fb213f bf597fc7beef0ee4 c6e00bf33da88fc2 d5a79147930aa725
    06ca6351e003826f 142929670a0e6e70 27b70a8546d22ffc 2e1b21385c26c926 4d2c6dfc5ac42aed 53380d139d95b3df
    650a73548baf63de 766a0abb3c77b2a8 81c2c92e47edaee6 92722c851482353b a2bfe8a14cf10364 a81a664bbc423001
    c24b8b70d0f89791 c76c51a30654be30 d192e819d6ef5218 d69906245565a910 f40e35855771202a 106aa07032bbd1b8
    19a4c116b8d2d0c8 1e376c085141ab53 2748774cdf8eeb99 34b0bcb5e19b48a8 391c0cb3c5c95a63 4ed8aa4ae3418acb
    5b9cca4f7763e373 682e6ff3d6b2b8a3 748f82ee5defb2fc 78a5636f43172f60 84c87814a1f0ab72 8cc702081a6439ec
    90befffa23631e28 a4506cebde82bde9 bef9a3f7b2c67915 c67178f2e372532b ca273eceea26619c d186b8c721c0c207
    eada7dd6cde0eb1e f57d4f7fee6ed178 06f067aa72176fba 0a637dc5a2c898a6 113f9804bef90dae 1b710b35131c471b
    28db77f523047d84 32caab7b40c72493 3c9ebe0a15c9bebc 431d67c49c100d4c 4cc5d4becb3e42b6 597f299cfc657e2a
    5fcb6fab3ad6faec 6c44198c4a475817
]]
local w = room(80)
local zero = first[1] - first[1]

local function schedule(s, at)
    for i = 1, 16 do
        local a, b, c, d, e, f, g, h = s:byte(at + i * 8 - 7, at + i * 8)
        w[i] = (zero + (a * 16777216 + b * 65536 + c * 256 + d)) * 4294967296 +
            (e * 16777216 + f * 65536 + g * 256 + h)
    end
    for i = 17, 80 do
        local x, y = w[i - 15], w[i - 2]
        w[i] = w[i - 16] + bxor(ror(x, 1), ror(x, 8), rshift(x, 7)) + w[i - 7] +
            bxor(ror(y, 19), ror(y, 61), rshift(y, 6))
    end
end

-- Eight rounds, after which each variable has its place again.
local ROUND = [[
    t = h + bxor(ror(e, 14), ror(e, 18), ror(e, 41)) + bxor(g, band(e, bxor(f, g))) + K[i + #] + w[i + #]
    d, h = d + t, t + bxor(ror(a, 28), ror(a, 34), ror(a, 39)) + bxor(band(a, b), band(c, bxor(a, b))) ]]

local function rounds_text()
    local names, text = "abcdefgh", ""
    for round = 0, 7 do
        local round_text = ROUND:gsub("%f[%w][a-h]%f[%W]", function(name)
            local at = (name:byte() - 97 - round) % 8 + 1
            return sub(names, at, at)
        end)
        text = text .. round_text:gsub("#", tostring(round))
    end
    return text
end

local rounds = (loadstring or load)("local bxor, band, ror, K, w = ... return function(H) " ..
    "local a, b, c, d, e, f, g, h = H[1], H[2], H[3], H[4], H[5], H[6], H[7], H[8] local t " ..
    "for i = 1, 80, 8 do" .. rounds_text() .. "end " ..
    "H[1], H[2], H[3], H[4] = H[1] + a, H[2] + b, H[3] + c, H[4] + d " ..
    "H[5], H[6], H[7], H[8] = H[5] + e, H[6] + f, H[7] + g, H[8] + h end")(bxor, band, ror, K, w)

local function compress(H, s, at)
    schedule(s, at)
    rounds(H)
end

local function hex(x)
    local high, low = rshift(x, 32), band(x, 4294967295)
    return ("%08x%08x"):format(tonumber(high), tonumber(low))
end

function _G.sha512(s)
    local H, n = room(8), #s
    for i = 1, 8 do H[i] = first[i] end
    for at = 0, n - 128, 128 do compress(H, s, at) end
    local rest = sub(s, n - n % 128 + 1) .. "\128"
    rest = rest .. ("\0"):rep((112 - #rest) % 128 + 8)
    local length = ""
    n = n * 8
    for _ = 1, 8 do length, n = string.char(n % 256) .. length, (n - n % 256) / 256 end
    rest = rest .. length
    for at = 0, #rest - 128, 128 do compress(H, rest, at) end
    local text = ""
    for i = 1, 8 do text = text .. hex(H[i]) end
    return text
end

local function strip(s, chars)
    local from = s:find("[^" .. chars .. "]")
    return from and s:match("^.*[^" .. chars .. "]", from) or ""
end

_G.strip = strip

local ydb

function _G.stripdb()
    ydb = ydb or require "yottadb"
    ydb.set("out", strip(ydb.get("s"), ydb.get("chars")))
end

function _G.traverse(name)
    ydb = ydb or require "yottadb"
    local n, key = 0, ydb.subscript_next(name, {""})
    while key do n, key = n + 1, ydb.subscript_next(name, {key}) end
    return n
end
