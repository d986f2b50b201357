%HD ; %HD, a hexadecimal number, to decimal.
 SET %HD=$$FUNC(%HD)
 QUIT
INT ; asked for
 READ !,"Hexadecimal: ",%HD
 SET %HD=$$FUNC(%HD)
 QUIT
FUNC(h) ; "" if it begins with a minus
 IF "-"=$EXTRACT(h) QUIT ""
 IF $EXTRACT(h,1,2)="0x"!($EXTRACT(h,1,2)="0X") SET h=$EXTRACT(h,3,$LENGTH(h))
 QUIT $$VALUE(h,16)
VALUE(h,b) ; up to the first character that is not a digit to base b
 NEW at,d,i
 SET d=0
 FOR i=1:1:$LENGTH(h) SET at=$FIND("0123456789ABCDEF",$TRANSLATE($EXTRACT(h,i),"abcdef","ABCDEF"))-2 QUIT:at<0!(at'<b)  SET d=d*b+at
 QUIT d
