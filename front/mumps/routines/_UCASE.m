%UCASE ; %S to upper case.
 SET %S=$$FUNC(%S)
 QUIT
INT ; asked for
 NEW %S
 READ !,"String: ",%S
 WRITE !,"Upper: ",$$FUNC(%S)
 QUIT
FUNC(s) ;
 QUIT $ZCONVERT(s,"U")
