-- The intrinsic functions that only know values: name in full -> function with the arguments of the source.
--
-- Functions of text are those of the mode; the Z forms always go by bytes.
local number = require "mumps.values.number"
local bytes = require "mumps.values.text"
local piece = require "mumps.values.piece"
local bits = require "mumps.values.bits"
local names = require "mumps.values.names"
local mode = require "mumps.values.mode"
local normal = require "mumps.values.normal"

local str = number.str

local function zlength(s, delim)
    if delim then return piece.count(s, delim) end
    return #str(s)
end

local F = {
    FNUMBER = require("mumps.values.format").fnumber,
    QLENGTH = names.qlength,
    QSUBSCRIPT = names.qsubscript,
    RANDOM = require("mumps.values.random").random,
    SET_ZEXTRACT = bytes.set_extract,
    SET_ZPIECE = piece.set_piece,
    ZASCII = bytes.ascii,
    ZBITAND = bits.zbitand,
    ZBITCOUNT = bits.zbitcount,
    ZBITFIND = bits.zbitfind,
    ZBITGET = bits.zbitget,
    ZBITLEN = bits.zbitlen,
    ZBITNOT = bits.zbitnot,
    ZBITOR = bits.zbitor,
    ZBITSET = bits.zbitset,
    ZBITSTR = bits.zbitstr,
    ZBITXOR = bits.zbitxor,
    ZCHAR = bytes.char,
    ZCONVERT = require("mumps.values.case").zconvert,
    ZDATE = require("mumps.values.date").zdate,
    ZEXTRACT = bytes.extract,
    ZFIND = bytes.find,
    ZJUSTIFY = bytes.justify,
    ZLENGTH = zlength,
    ZPIECE = piece.piece,
    ZTRANSLATE = bytes.translate,
    ZWRITE = names.zwrite,
    ZYHASH = require("mumps.values.hash").zyhash,
    ZYSUFFIX = require("mumps.values.hash").zysuffix,
}

local text = mode.utf8 and require "mumps.values.utf8" or bytes
F.ASCII, F.CHAR, F.EXTRACT, F.FIND = text.ascii, text.char, text.extract, text.find
F.REVERSE, F.TRANSLATE, F.JUSTIFY = text.reverse, text.translate, text.justify
F.LENGTH, F.SET_EXTRACT = text.length or zlength, text.set_extract
F.ZSUBSTR, F.ZWIDTH = text.substr, text.width
F.PIECE, F.SET_PIECE = text.piece or piece.piece, text.set_piece or piece.set_piece

F.ZCOLLATE, F.ZATRANSFORM = normal.zcollate, normal.zatransform

return F
