%T ; The time, H:MM AM or PM.
 WRITE $$FUNC
 QUIT
INT ; %TIM
 SET %TIM=$$FUNC
 QUIT
FUNC() ;
 QUIT $$TEXT($PIECE($HOROLOG,",",2))
TEXT(n) ; of n seconds
 NEW h
 SET h=n\3600
 QUIT $SELECT(h#12=0:12,1:h#12)_":"_$EXTRACT(100+(n\60#60),2,3)_$SELECT(h<12:" AM",1:" PM")
