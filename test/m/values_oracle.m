values ; Evaluates expressions: one a line from the input; writes `V` and the value as ZWRITE has it, or `E` and the error.
 u $p:(width=1048576:nowrap)
 f  r L q:$zeof  d one(L)
 q
one(L) ;
 n R,T,Z,$et s T="V",$et="s:T=""V"" Z=$p($p($zs,""%"",2),""-"",3),T=""E"" s $ec="""""
 d run
 w T," ",$s(T="V":$zwrite(R),1:$p(Z,",")),!
 q
run x "s R="_L
 q
sp(X,D,A,B,N) ;
 i '$d(B) s $p(X,D,A)=N q X
 s $p(X,D,A,B)=N q X
se(X,A,B,N) ;
 i '$d(A) s $e(X)=N q X
 i '$d(B) s $e(X,A)=N q X
 s $e(X,A,B)=N q X
