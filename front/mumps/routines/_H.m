%H ; Dates and times, to $HOROLOG's numbers and back.
 QUIT
%CDS ; %DT, days, to %DAT, MM/DD/YYYY
 SET %DAT=$$CDS(%DT)
 QUIT
%CTS ; %TM, seconds, to %TIM, HH:MM:SS
 SET %TIM=$$CTS(%TM)
 QUIT
%CDN ; %DT, MM/DD/YY[YY], to %DAT, days
 SET %DAT=$$CDN(%DT)
 QUIT
%CTN ; %TM, HH:MM[:SS], to %TIM, seconds
 SET %TIM=$$CTN(%TM)
 QUIT
CDS(dt) ;
 QUIT $SELECT(dt<0:"",1:+$ZDATE(dt,"MM")_"/"_+$ZDATE(dt,"DD")_"/"_$ZDATE(dt,"YEAR"))
CTS(tm) ;
 QUIT $ZDATE(","_tm,"24:60:SS")
CDN(dt) ;
 QUIT $$FUNC^%DATE(dt)
CTN(tm) ; "" if it is not a time
 NEW h,m,s
 SET h=+$PIECE(tm,":",1),m=+$PIECE(tm,":",2),s=+$PIECE(tm,":",3)
 IF h>23!(m>59)!(s>59) QUIT ""
 QUIT h*60+m*60+s
