-- Positions.
local function any(list) return list[math.random(#list)] end
local function degrees(limit) return ("%.6f"):format((math.random() * 2 - 1) * limit) end

return {
    makers = {
        lon = function()
            return math.random(2) == 1 and degrees(180) or any({"13.361389", "15.08", "-180", "180", "0"})
        end,
        lat = function()
            return math.random(2) == 1 and degrees(85) or any({"38.11", "37.5", "-85.05112878", "0", "86"})
        end,
        near = function() return ("%.5f"):format(13 + math.random() / 10) end,
        place = function() return "p" .. math.random(12) end,
        far = function() return any({"0", "1", "5.5", "100", "2000", "30000", "1e6"}) end,
        unit = function() return any({"m", "km", "ft", "mi", "KM"}) end,
    },
    "geoadd key lon lat place[lon lat place]...",
    "geoadd key near near place near near place near near place",
    "geoadd key [NX|XX] [CH] near near place[lon lat place]...",
    "geodist key place place [unit]", "geopos key place[place]...", "geohash key place[place]...",
    "geosearch key {FROMMEMBER place|FROMLONLAT near near|FROMLONLAT lon lat} "
        .. "{BYRADIUS far unit|BYBOX far far unit} "
        .. "{ASC|DESC} [COUNT count] [WITHDIST] [WITHHASH] [WITHCOORD]",
    "geosearch key FROMLONLAT near near BYBOX far far unit [COUNT count ANY] [WITHCOORD]",
    "geosearch key BYRADIUS far unit FROMMEMBER place [COUNT count [ANY]] [ASC]",
    "geosearch key FROMMEMBER place", "GeoSearch key BYRADIUS far unit", "GEOSEARCH key FROMMEMBER place",
    "geosearch key BYRADIUS far unit FROMMEMBER place ANY",
    "geosearch key BYBOX far far unit [ASC] [WITHDIST]",
    "geosearchstore key key FROMLONLAT near near {BYRADIUS far unit|BYBOX far far unit} "
        .. "[ASC] [COUNT count] [STOREDIST]",
    "geosearchstore key key FROMMEMBER place BYRADIUS far unit [WITHDIST] [STOREDIST]",
    "georadius key near near far unit [WITHDIST] [WITHHASH] [WITHCOORD] [COUNT count] [ASC|DESC]",
    "georadius key lon lat far unit [COUNT count] {ASC|DESC} [STORE key|STOREDIST key] [WITHDIST]",
    "georadius_ro key lon lat far unit [ASC] [STORE key]",
    "georadiusbymember key place far unit [WITHDIST] [COUNT count ANY] [DESC] "
        .. "[STORE key|STOREDIST key]",
    "georadiusbymember_ro key place far unit [WITHDIST] [ASC]",
    "zrem key place", "del key", "set key value", "zadd key score place",
    probes = {"TYPE KEY", "OBJECT ENCODING KEY", "ZRANGE KEY 0 -1 WITHSCORES"},
    -- Of members at one distance COUNT takes any: one name differs, and nothing else.
    alike = function(words, a, b)
        local count, differ, others = false, 0, b:gmatch("[^\n]+")
        for _, word in ipairs(words) do count = count or word:lower() == "count" end
        for line in a:gmatch("[^\n]+") do
            local other = others()
            if line ~= other then
                if not other or not line:find("^p%d") or not other:find("^p%d") then return false end
                differ = differ + 1
            end
        end
        return count and differ == 1 and not others()
    end,
}
