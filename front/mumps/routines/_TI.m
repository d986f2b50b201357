%TI ; A time as people write it, to seconds.
 NEW %TS
 FOR  READ !,"Time: ",%TS SET %TN=$$FUNC(%TS) QUIT:%TN'=""  WRITE "   invalid"
 QUIT
INT ; %TS to %TN; without %TS now
 SET %TN=$$FUNC($GET(%TS))
 QUIT
FUNC(ts) ; the seconds, or "" if it is not a time
 NEW h,m,u
 SET u=$$PARTS($$UP^%DATE($GET(ts)))
 IF u="" QUIT $PIECE($HOROLOG,",",2)
 IF $$WORD^%DATE(u,"NOON",1) QUIT 43200
 IF $$WORD^%DATE(u,"MIDNIGHT",1)!$$WORD^%DATE(u,"MIDNITE",1) QUIT 0
 IF u=2400!(u="24:00") QUIT 86400
 IF u?4N QUIT $$TIME(u\100,u#100,"")
 IF u?4N1(1"A",1"P",1"AM",1"PM") SET u=$EXTRACT(u,1,2)_":"_$EXTRACT(u,3,9)
 IF u?3."0" QUIT 0
 IF u'?1.2N.1(1":"1.2N).1(1":"1N).1(1"A",1"P",1"AM",1"PM") QUIT ""
 SET h=+u,m=+$PIECE(u,":",2)
 QUIT $$TIME(h,m,$SELECT(u["A":"A",u["P":"P",1:""))
PARTS(u) ; any punctuation parts hours from minutes
 NEW i,c,parts
 SET parts=""
 FOR i=1:1:$LENGTH(u) SET c=$EXTRACT(u,i) SET:c?1P&(c'=" ") c=":" SET:c'=" "&(c'=":"!($EXTRACT(parts,$LENGTH(parts))?1AN)) parts=parts_c
 IF $EXTRACT(parts,$LENGTH(parts))=":" QUIT $EXTRACT(parts,1,$LENGTH(parts)-1)
 QUIT parts
TIME(h,m,half) ;
 IF half'="",h>12 QUIT ""
 IF h>23!(m>59) QUIT ""
 IF half'="" SET h=h#12+$SELECT(half="P":12,1:0)
 QUIT h*60+m*60
