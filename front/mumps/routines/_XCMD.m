%XCMD ; What the command line has after -run %XCMD, as a line of M.
 XECUTE $ZCMDLINE
 QUIT
LOOP ; --before=/text/ --xec=/text/ --after=/text/: xec for each line of standard input, which is %l, with number %NR
 NEW %NR,%after,%before,%i,%l,%text,%xec,%key,%d
 SET %text=$ZCMDLINE
 FOR  SET %i=$FIND(%text,"--") QUIT:%i=0  DO
 . SET %text=$EXTRACT(%text,%i,$LENGTH(%text)),%key=$PIECE(%text,"=",1),%text=$PIECE(%text,"=",2,$LENGTH(%text,"="))
 . SET %d=$EXTRACT(%text),%key(%key)=$PIECE(%text,%d,2),%text=$PIECE(%text,%d,3,$LENGTH(%text,%d))
 SET %before=$GET(%key("before")),%xec=$GET(%key("xec")),%after=$GET(%key("after"))
 KILL %key
 XECUTE:%before'="" %before
 FOR %NR=1:1 READ %l QUIT:$ZEOF  XECUTE:%xec'="" %xec
 XECUTE:%after'="" %after
 QUIT
