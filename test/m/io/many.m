many ; jobs and pipes in loops that are compiled: each has pipes of its own
 s failed=0,$et="s failed=failed+1,$ec="""" q"
 f i=1:1:60 d one
 w "jobs that did not begin: ",failed,!
 s failed=0
 f i=1:1:120 d two
 w "pipes that gave another text: ",failed,!
 q
one j none^many:(out="none.mjo":err="none.mje")
 f  q:'$zgetjpi($zjob,"isprocalive")  h .001
 q
none q
two o "p":(command="read x; echo $x$x")::"PIPE" u "p" w i,! r x:60 c "p"
 i x'=(i_i) s failed=failed+1
 q
