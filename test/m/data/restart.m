restart ; transactions of all kinds, for restart.lua: what they leave must not depend on restarts
 quit
flat ;
 tstart *
 set ^r(1)=$get(^r(1))+1,x=$get(x)+1,x(1)=x
 set ^r(2)=^r(1)_","_x
 kill ^r(3)
 if $data(^r(2)) set ^r(4)=$order(^r(1))
 tcommit
 quit
loop ;
 new i,j
 for i=1:1:3 tstart (i,x) set ^r("i",i)=i,x=$get(x)+i,j=^r("i",i) do  tcommit
 . set ^r("sum")=$get(^r("sum"))+j
 . if i=2 set ^r("two")=x
 set ^r("end")=i
 quit
inner ;
 tstart (x,y):serial
 set x=$$double(3),y=$$double(x)
 do add(.x),add(.y)
 tstart (y)
 set y=y+$get(^r("y"),5),^r("y")=y
 tcommit
 tstart ()
 set ^r("undone")=1,z=$data(^r("undone"))
 trollback -1
 set ^r("z")=z_$data(^r("undone"))
 tcommit
 quit
double(n) new m set m=$get(^r("d"))+n,^r("d")=m quit m*2
add(v) new w set w=^r("d"),v=v+w,w(1)=$increment(^r("n")) quit
naked ;
 set ^r(1,1)=1,^r(1,2)=2
 if ^r(1,1)
 tstart *
 set ^(3)=^(2)+1
 set a=^r(1,3) if 0
 set ^r("else")=$test
 tcommit
 else  set ^r("test")=$test
 set ^(4)=4
 quit
trap ;
 new $etrap,n set $etrap="set $ecode="""",^r(""trapped"")=$get(n) trollback:$tlevel  quit"
 set n=0
 tstart (n)
 set n=n+1,^r("n")=n,^r("m")=^r("n")/0
 tcommit
 quit
deep ;
 tstart (x) do d1 tcommit
 set ^r("deep")=x
 quit
d1 set x=$get(x)+1 do d2 quit
d2 new x set x=10,^r("a")=$get(^r("a"))+x do d3 quit
d3 for x=1:1:2 set ^r("b",x)=$get(^r("a"))
 quit
merge ;
 set ^r(1)=1,^r(1,2)=3 kill a
 tstart *
 merge a=^r,^r("copy")=a
 kill ^r(1,2),a(1)
 lock +^r:0
 set ^r("lock")=$test,b=$order(^r(""),-1)
 tcommit
 lock
 quit
