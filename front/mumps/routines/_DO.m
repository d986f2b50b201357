%DO ; %DO, a decimal number, to octal; %DL digits, 12 if there is no %DL.
 SET %DO=$$FUNC(%DO,$GET(%DL,12))
 QUIT
INT ; asked for
 NEW %DL
 READ !,"Decimal: ",%DO READ !,"Digits:  ",%DL
 IF %DL="" SET %DL=12
 SET %DO=$$FUNC(%DO,%DL)
 QUIT
FUNC(d,ln) ;
 QUIT $$BASE^%DH(d,$GET(ln,12),8)
