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
VALUE(h,b) ; up to the first character that is not a digit to base b; of any length, as d(1) has the last 12 digits
 NEW at,d,i,j,out
 SET d(1)=0
 FOR i=1:1:$LENGTH(h) SET at=$FIND("0123456789ABCDEF",$TRANSLATE($EXTRACT(h,i),"abcdef","ABCDEF"))-2 QUIT:at<0!(at'<b)  DO
 . FOR j=1:1 QUIT:'$DATA(d(j))  SET d(j)=d(j)*b+at,at=d(j)\1E12,d(j)=d(j)#1E12
 . IF at SET d(j)=at
 SET j=$ORDER(d(""),-1),out=d(j)
 FOR j=j-1:-1:1 SET out=out_$TRANSLATE($JUSTIFY(d(j),12)," ",0)
 QUIT out
GROUPS(h,from,b,to) ; digits to base b, by groups of `from` that are as many to base 8 or 16 as `to` says
 NEW i,n,out
 FOR n=1:1:$LENGTH(h) QUIT:'$FIND($EXTRACT("0123456789ABCDEFabcdef",1,b+(b=16*6)),$EXTRACT(h,n))  SET out=n
 SET h=$EXTRACT(h,1,$GET(out)),h=$TRANSLATE($JUSTIFY("",-$LENGTH(h)#from)," ",0)_h,out=""
 FOR i=1:from:$LENGTH(h) SET out=out_$$BASE^%DH($$VALUE($EXTRACT(h,i,i+from-1),b),to,24-b)
 FOR  QUIT:$EXTRACT(out)'="0"  SET out=$EXTRACT(out,2,$LENGTH(out))
 QUIT $SELECT(out="":0,1:out)
