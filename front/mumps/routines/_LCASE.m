%LCASE ; %S to lower case.
 SET %S=$$FUNC(%S)
 QUIT
INT ; asked for
 NEW %S
 READ !,"String: ",%S
 WRITE !,"Lower: ",$$FUNC(%S)
 QUIT
FUNC(s) ;
 QUIT $ZCONVERT(s,"L")
