%DH ; %DH, a decimal number, to hexadecimal; %DL digits, 8 if there is no %DL.
 SET %DH=$$FUNC(%DH,$GET(%DL,8))
 QUIT
INT ; asked for
 NEW %DL
 READ !,"Decimal: ",%DH READ !,"Digits:  ",%DL
 IF %DL="" SET %DL=8
 SET %DH=$$FUNC(%DH,%DL)
 QUIT
FUNC(d,l) ;
 QUIT $$BASE(d,$GET(l,8),16)
BASE(d,l,b) ; digits of d to base b, with zeros in front to l of them; of a negative number the complement
 NEW h,negative
 SET h="",negative=d<0
 IF negative SET d=-d-1
 SET d=d\1
 FOR  QUIT:d=0  SET h=$EXTRACT("0123456789ABCDEF",d#b+1)_h,d=d\b
 IF negative,h="" SET h=0
 IF negative,$FIND("0123456789ABCDEF",$EXTRACT(h))-2*2'<b SET h=0_h
 SET h=$EXTRACT($TRANSLATE($JUSTIFY("",l)," ",0),1,l-$LENGTH(h))_h
 IF negative SET h=$TRANSLATE(h,"0123456789ABCDEF",$EXTRACT("FEDCBA9876543210",17-b,16))
 QUIT h
