%DATE ; A date as people write it, to $HOROLOG's number of days.
 NEW %DS
 FOR  READ !,"Date: ",%DS SET %DN=$$FUNC(%DS) QUIT:%DN'=""  WRITE "   invalid"
 QUIT
INT ; %DS to %DN; without %DS today
 SET %DN=$$FUNC($GET(%DS))
 QUIT
FUNC(ds) ; the days, or "" if it is not a date
 NEW d,i,n,p,u
 SET u=$$UP($GET(ds))
 FOR p="+","-" FOR  SET i=$FIND(u," "_p) QUIT:'i  SET u=$EXTRACT(u,1,i-3)_$EXTRACT(u,i-1,$LENGTH(u))
 FOR p="+","-" FOR  SET i=$FIND(u,p_" ") QUIT:'i  SET u=$EXTRACT(u,1,i-2)_$EXTRACT(u,i,$LENGTH(u))
 SET n=0
 FOR i=1:1:$LENGTH(u) DO
 . SET d=$EXTRACT(u,i)
 . SET p=$SELECT(d?1N:"N",d?1U:"A",d="+":"S",d="-":"S",1:"")
 . IF p="" SET n(0)="" QUIT
 . IF p="S",$GET(n(0))="N"!($GET(n(0))="")!(n'=1)!($GET(n(n))'?1U.U) SET n(0)="" QUIT
 . IF p=$GET(n(0)),p'="S" SET n(n)=n(n)_d QUIT
 . SET n=n+1,n(n)=d,n(0)=p
 QUIT $$DAY(.n)
DAY(n) ; of the words n(1), n(2)...
 NEW d,m,y
 IF n=0 QUIT +$HOROLOG
 IF $$WORD(n(1),"TODAY",1) QUIT $$OFFSET(.n,0)
 IF $$WORD(n(1),"TOMORROW",3) QUIT $$OFFSET(.n,1)
 IF $$WORD(n(1),"YESTERDAY",1) QUIT $$OFFSET(.n,-1)
 IF n>3!(n<2) QUIT ""
 SET m=n(1),d=n(2)
 IF d?1A.A SET d=n(1),m=n(2)
 SET m=$$MONTH(m)
 IF m<1!(m>12)!(d'?1.2N) QUIT ""
 SET y=$GET(n(3))
 IF y="" SET y=$ZDATE($HOROLOG,"YEAR")
 IF y?1.2N SET y=$$CENTURY(y)
 IF y'?4.5N QUIT ""
 QUIT $$DAYS(y,m,+d)
OFFSET(n,by) ; TODAY+3
 IF n=1!(n=2) QUIT +$HOROLOG+by
 IF n=3,n(2)="+"!(n(2)="-"),n(3)?1.N QUIT $HOROLOG+by+$SELECT(n(2)="+":n(3),1:-n(3))
 QUIT ""
WORD(text,full,least) ; is it an abbreviation?
 QUIT $LENGTH(text)'<least&($EXTRACT(full,1,$LENGTH(text))=text)
MONTH(m) ; number of a month, 0 if there is none
 NEW at,names
 IF m?1.2N QUIT +m
 SET names="JANUARY  FEBRUARY MARCH    APRIL    MAY      JUNE     JULY     AUGUST   SEPTEMBEROCTOBER  NOVEMBER DECEMBER"
 IF $LENGTH(m)<2 QUIT 0
 FOR at=1:1:12 QUIT:$EXTRACT(names,at-1*9+1,at-1*9+$LENGTH(m))=m
 QUIT $SELECT($EXTRACT(names,at-1*9+1,at-1*9+$LENGTH(m))=m:at,1:0)
CENTURY(y) ; the year that two digits mean: $ZDATEFORM
 NEW f
 SET f=$ZDATEFORM
 IF f=0 QUIT 1900+y
 IF f>1840,f<10000 QUIT f\100*100+y+$SELECT(f#100>y:100,1:0)
 QUIT 2000+y
DAYS(y,m,d) ; since 31 December 1840, or ""
 NEW last,n
 IF y=1840,m=12,d=31 QUIT 0
 SET last=$EXTRACT("312831303130313130313031",m*2-1,m*2)
 IF m=2,$$LEAP(y) SET last=29
 IF d<1!(d>last)!(y<1841) QUIT ""
 SET n=y-1841*365+(y-1\4-460)-(y-1\100-18)+(y-1\400-4)
 FOR m=1:1:m-1 SET n=n+$EXTRACT("312831303130313130313031",m*2-1,m*2)+$SELECT(m=2:$$LEAP(y),1:0)
 QUIT n+d
LEAP(y) ;
 QUIT y#4=0&(y#100'=0)!(y#400=0)
UP(text) ; capitals
 QUIT $TRANSLATE(text,"abcdefghijklmnopqrstuvwxyz","ABCDEFGHIJKLMNOPQRSTUVWXYZ")
