stack ; what $STACK() has of the levels above those of the suite
 n n,from s from=$g(%from,3)
 w $st(-1) f n=from:1:$st(-1) w ";",$st(n),":",$st(n,"PLACE"),"|",$st(n,"MCODE"),"|",$st(n,"ECODE")
 w ! q
