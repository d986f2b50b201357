-- The words of M: commands, functions and special variables, each with its abbreviations.
--
-- A standard word has one abbreviation, written in capitals before the rest in small letters.  One that
-- begins with Z may be cut anywhere after its capitals, as in YottaDB and GT.M.

local words = {}

local function list(text)
    local result, full = {}, {}
    for word in text:gmatch("%S+") do
        local whole, n = word:upper(), #word:match("^[^a-z]*")
        result[whole] = whole
        full[#full + 1] = whole
        result[whole:sub(1, n)] = whole
    end
    for _, whole in ipairs(full) do
        for n = 1, whole:sub(1, 1) == "Z" and #whole - 1 or 0 do
            local short = whole:sub(1, n)
            result[short] = result[short] or whole
        end
    end
    return result
end

-- HALT and HANG are the same word: the one with an argument is HANG.
words.commands = list [[
    Break Close Do Else For Goto Halt HANG If Job Kill Lock Merge New Open Quit Read Set TCommit TREstart
    TROllback TStart Use View Write Xecute
    ZAllocate ZATtach ZBreak ZContinue ZCOMpile ZDeallocate ZEDit ZGoto ZHelp ZHALT ZInvcmd ZKill ZLink
    ZMessage
    ZPrint ZRUPdate ZSHow ZSTep ZSYstem ZTCommit ZTRigger ZTStart ZWIthdraw ZWRite ZAUdit
]]
words.commands.ZW = "ZWRITE"

for short, full in pairs(words.commands) do
    if full == "ZWITHDRAW" then words.commands[short] = "ZKILL" end
end

words.functions = list [[
    Ascii Char Data Extract Find FNumber Get Increment INCRement Justify Length NAme Next Order Piece QLength
    QSubscript Query Random REverse Select STack Text TRanslate View
    ZAHandle ZAscii ZATransform ZAUditlog ZBITAnd ZBITCount ZBITFind ZBITGet ZBITLen ZBITNot ZBITOr ZBITSet
    ZBITStr
    ZBITXor ZCHar ZCOllate ZCOnvert ZDATA ZDate ZExtract ZFind ZGetjpi ZINcrement ZINCRement ZJObexam ZJustify
    ZLength
    ZMessage ZPIece ZPArse ZPEek ZPrevious ZQgblmod ZSEarch ZSIgproc ZSOcket ZSUbstr ZSYslog
    ZTRanslate
    ZTRIgger ZTRNlnm ZWidth ZWRite ZYCompile ZYHash ZYISsqlnull ZYSUffix
]]
words.functions.N = "NEXT"
for short, full in pairs(words.functions) do
    if full == "ZINCREMENT" then words.functions[short] = "INCREMENT" end
end

-- The abbreviation Z of these is of another word, or of none.
words.variables = list [[
    Device ECode EStack ETrap Horolog Io Job Key Principal Quit Reference STack Storage SYstem Test TLevel
    TRestart
    X Y
    ZA ZALlocstor ZAUdit ZB ZCHset ZCLose ZCmdline ZCOmpile ZCStatus ZDAteform ZDirectory ZEDitor ZEOf
    ZError ZGbldir
    ZHorolog ZICUVER ZINInterrupt ZINTerrupt ZIO ZJob ZKey ZLevel ZMALLoclim ZMAXTPTime ZMLkhash ZMOde
    ZONlnrlbk
    ZPATNumeric ZPIN ZPOSition ZPOUt ZPROMpt ZQUit ZREAlstor ZRELdate ZROutines ZSOurce ZStatus ZSTep
    ZSTRPllim ZSYstem ZTDAta ZTDElim ZTExit ZTImeout ZTLevel ZTNAme ZTOldval ZTrap ZTRIggerop ZTSLate ZTUpdate
    ZTVAlue ZTWormhole ZUSedstor ZUT ZVersion ZYERror ZYIntrsig ZYJobparent ZYRElease ZYSQlnull
]]

-- What is short for several is short for these, as in fis-gtm.
words.variables.ZC, words.variables.ZI = "ZCSTATUS", "ZININTERRUPT"
words.variables.ZP, words.variables.ZST = "ZPOSITION", "ZSTATUS"

local function set(text)
    local result = {}
    for word in text:gmatch("%S+") do result[word] = true end
    return result
end

-- What SET may change, and NEW.
words.settable = set [[
    ECODE ETRAP SYSTEM X Y ZCOMPILE ZDATEFORM ZDIRECTORY ZERROR ZGBLDIR ZINTERRUPT ZMALLOCLIM ZMAXTPTIME
    ZPROMPT
    ZQUIT ZROUTINES ZSOURCE ZSTATUS ZSTEP ZSTRPLLIM ZTEXIT ZTIMEOUT ZTRAP ZTSLATE ZTVALUE ZTWORMHOLE ZYERROR
    ZYINTRSIG
]]
words.newable = set "ESTACK ETRAP ZGBLDIR ZTRAP ZTWORMHOLE ZYERROR"

return words
