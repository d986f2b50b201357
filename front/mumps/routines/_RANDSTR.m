%RANDSTR(strlen,charranges,patcodes,charset) ; strlen characters by chance
 NEW c,i,n,s
 SET strlen=$GET(strlen,8)
 IF $GET(charset)="" SET charset="" XECUTE "FOR i="_$GET(charranges,"1:1:127")_" SET c=$CHAR(i) SET:c?1"_$GET(patcodes,"AN")_" charset=charset_c"
 SET n=$LENGTH(charset),s=""
 IF n>0 FOR i=1:1:strlen SET s=s_$EXTRACT(charset,$RANDOM(n)+1)
 QUIT s
