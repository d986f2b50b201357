%TO ; %TN, seconds, to %TS, H:MM AM or PM.
 SET %TS=$$TEXT^%T(%TN)
 QUIT
INT ; now, if there is no %TN
 SET %TS=$$TEXT^%T($SELECT($DATA(%TN):%TN,1:$PIECE($HOROLOG,",",2)))
 QUIT
FUNC(ts) ;
 QUIT $$TEXT^%T($GET(ts,$PIECE($HOROLOG,",",2)))
