%OD ; %OD, an octal number, to decimal.
 SET %OD=$$FUNC(%OD)
 QUIT
INT ; asked for
 READ !,"Octal: ",%OD
 SET %OD=$$FUNC(%OD)
 QUIT
FUNC(oct) ; "" if it begins with a minus
 IF "-"=$EXTRACT(oct) QUIT ""
 QUIT $$VALUE^%HD(oct,8)
