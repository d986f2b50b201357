%ZMVALID(line) ; "" if it is a line of M, else what is wrong with it
 NEW $ETRAP,%ok
 SET $ETRAP="SET $ECODE="""" QUIT $ZSTATUS"
 XECUTE "QUIT  "_line
 QUIT ""
