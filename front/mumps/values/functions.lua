-- The intrinsic functions that only know values: name in full -> function with the arguments of the source.
--
-- Functions of text are those of the mode; the Z forms always go by bytes.
local number = require "mumps.values.number"
local bytes = require "mumps.values.text"
local piece = require "mumps.values.piece"
local names = require "mumps.values.names"
local mode = require "mumps.values.mode"

local str = number.str

local function zlength(s, delim)
    if delim then return piece.count(s, delim) end
    return #str(s)
end

local F = {
    FNUMBER = require("mumps.values.format").fnumber,
    QLENGTH = names.qlength,
    QSUBSCRIPT = names.qsubscript,
    SET_ZEXTRACT = bytes.set_extract,
    SET_ZPIECE = piece.set_piece,
    ZASCII = bytes.ascii,
    ZCHAR = bytes.char,
    ZEXTRACT = bytes.extract,
    ZFIND = bytes.find,
    ZJUSTIFY = bytes.justify,
    ZLENGTH = zlength,
    ZPIECE = piece.piece,
    ZTRANSLATE = bytes.translate,
    ZWRITE = names.zwrite,
}

local text = mode.utf8 and require "mumps.values.utf8" or bytes
F.ASCII, F.CHAR, F.EXTRACT, F.FIND = text.ascii, text.char, text.extract, text.find
F.REVERSE, F.TRANSLATE, F.JUSTIFY = text.reverse, text.translate, text.justify
F.LENGTH, F.SET_EXTRACT = text.length or zlength, text.set_extract
F.ZSUBSTR, F.ZWIDTH = text.substr, text.width
F.PIECE, F.SET_PIECE = text.piece or piece.piece, text.set_piece or piece.set_piece

-- Those of modules that few programs need are there when they are wanted: module -> functions.
local rare = {
    bits = { "ZBITAND", "ZBITCOUNT", "ZBITFIND", "ZBITGET", "ZBITLEN", "ZBITNOT", "ZBITOR", "ZBITSET",
        "ZBITSTR", "ZBITXOR" },
    case = { "ZCONVERT" },
    date = { "ZDATE" },
    hash = { "ZYHASH", "ZYSUFFIX" },
    normal = { "ZCOLLATE", "ZATRANSFORM" },
    random = { "RANDOM" },
}
local home = {}
for module, list in pairs(rare) do
    for _, name in ipairs(list) do home[name] = "mumps.values." .. module end
end

return setmetatable(F, { __index = function(_, name)
    local f = home[name] and require(home[name])[name:lower()]
    rawset(F, name, f)
    return f
end })
