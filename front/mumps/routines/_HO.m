%HO ; %HO, a hexadecimal number, to octal.
 SET %HO=$$FUNC(%HO)
 QUIT
INT ; asked for
 READ !,"Hexadecimal: ",%HO
 SET %HO=$$FUNC(%HO)
 QUIT
FUNC(h) ; "" if it begins with a minus
 IF "-"=$EXTRACT(h) QUIT ""
 IF $EXTRACT(h,1,2)="0x"!($EXTRACT(h,1,2)="0X") SET h=$EXTRACT(h,3,$LENGTH(h))
 QUIT $$GROUPS^%HD(h,3,16,4)
