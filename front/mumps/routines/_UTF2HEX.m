%UTF2HEX ; %S, as its bytes in hexadecimal: %U.
 SET %U=$$FUNC(%S)
 QUIT
INT ; asked for
 NEW %S
 READ !,"String: ",%S
 SET %U=$$FUNC(%S)
 QUIT
FUNC(s) ;
 NEW h,i
 SET h=""
 FOR i=1:1:$ZLENGTH(s) SET h=h_$$FUNC^%DH($ZASCII(s,i),2)
 QUIT h
