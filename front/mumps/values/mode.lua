-- Bytes or UTF-8: chosen by ydb_chset or gtm_chset when this module is loaded, for the life of the program.
local chset = os.getenv("ydb_chset") or os.getenv("gtm_chset") or "M"

return { utf8 = chset:upper() == "UTF-8", name = chset:upper() == "UTF-8" and "UTF-8" or "M" }
