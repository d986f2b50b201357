%HEX2UTF ; %U, bytes in hexadecimal, as a string: %S.
 SET %S=$$FUNC(%U)
 QUIT
INT ; asked for
 NEW %U
 READ !,"Hexadecimal: ",%U
 SET %S=$$FUNC(%U)
 QUIT
FUNC(s) ;
 NEW i,t
 SET t=""
 FOR i=1:2:$ZLENGTH(s) SET t=t_$ZCHAR($$FUNC^%HD($ZEXTRACT(s,i,i+1)))
 QUIT t
