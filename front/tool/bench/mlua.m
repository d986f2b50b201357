mlua ; MLua's benchmarks and loops of M, for caret bench m: all^mlua LUA TIME prints lines "microseconds name, size".
 ; LUA is 1 where there is $&mlua.  CPU time; passes are doubled until they take TIME hundredths of a second.
all n chars,least,lua,out,passes,rc,s,size
 s lua=+$zcmdline,least=+$p($zcmdline," ",2),chars=" -_"
 f size=10,1000,1000000 d texts
 d fill,row("M: $ORDER over ^BCAT, 10,000","og"),row("M: $ORDER over BCAT, 10,000","ol")
 d row("M: $ORDER below 11 subscripts, 10,000 of a global","dg"),row("M: $ORDER below 11 subscripts, 10,000","dl")
 d row("M: tree of 3,905 by @, global","tg"),row("M: tree of 3,905 by @, local","tl")
 i lua d row("mlua: subscripts of ^BCAT, 10,000","lg"),row("mlua: subscripts of BCAT, 10,000","ll")
 d row("M: 3n+1 to 10,000, locals","collatz")
 q
texts s s="",$p(s,"x",size-3)="",s="  "_s_"_-",s=$e(s,1,size-2)_"_-"
 i $l($$strip(s,chars))'=(size-4) w "strip: wrong",! zhalt 1
 d row("M: strip, "_size,"strips")
 q:'lua
 s rc=$&mlua.lua(">sha512",.out,,"abc") i $e(out,1,8)'="ddaf35a1" w "sha512: wrong",! zhalt 1
 d row("mlua: SHA-512, "_size,"sha"),row("mlua: strip by parameters, "_size,"prm"),row("mlua: strip by variables, "_size,"db")
 q
row(name,label) n t
 s passes=1 d @label
 f  s t=$zgetjpi("","CPUTIM") d @label s t=$zgetjpi("","CPUTIM")-t q:t'<least  s passes=passes*2
 w t*10000/passes," ",name,!
 q
fill n a,i
 k ^BCAT,BCAT,^D,D,^T,T
 f i=1:1:10000 s a=i*7919#1000003,^BCAT(a)=i,BCAT(a)=i,^D(1,2,3,4,5,6,7,8,9,0,a)=i,D(1,2,3,4,5,6,7,8,9,0,a)=i
 d tree("^T",0),tree("T",0)
 q
tree(at,depth) n i
 q:depth=5
 f i=1:1:5 s @at@(i)=i d tree($na(@at@(i)),depth+1)
 q
strip(s,chars) n i,t
 s t=$tr(s,chars) q:t="" ""
 s i=$f(s,$e(t))-1
 q $e(s,i,$l(s)-$f($re(s),$e(t,$l(t)))+2)
strips n i,x f i=1:1:passes s x=$$strip(s,chars)
 q
sha n i f i=1:1:passes s rc=$&mlua.lua(">sha512",.out,,s)
 q
prm n i f i=1:1:passes s rc=$&mlua.lua(">strip",.out,,s,chars)
 q
db n i,x f i=1:1:passes s rc=$&mlua.lua(">stripdb",.x)
 q
og n i,x f i=1:1:passes s x="" f  s x=$o(^BCAT(x)) q:x=""
 q
ol n i,x f i=1:1:passes s x="" f  s x=$o(BCAT(x)) q:x=""
 q
dg n i,x f i=1:1:passes s x="" f  s x=$o(^D(1,2,3,4,5,6,7,8,9,0,x)) q:x=""
 q
dl n i,x f i=1:1:passes s x="" f  s x=$o(D(1,2,3,4,5,6,7,8,9,0,x)) q:x=""
 q
tg n i,k f i=1:1:passes s k=0 d count("^T") i k'=3905 w "tree: wrong",! zhalt 1
 q
tl n i,k f i=1:1:passes s k=0 d count("T") i k'=3905 w "tree: wrong",! zhalt 1
 q
count(at) n x
 s x="" f  s x=$o(@at@(x)) q:x=""  s k=k+1 d count($na(@at@(x)))
 q
lg n i f i=1:1:passes s rc=$&mlua.lua(">traverse",.out,,"^BCAT") i out'=10000 w "traverse: wrong",! zhalt 1
 q
ll n i f i=1:1:passes s rc=$&mlua.lua(">traverse",.out,,"BCAT") i out'=10000 w "traverse: wrong",! zhalt 1
 q
collatz n high,i,j,k,l,length,path,step
 f i=1:1:passes k step s step(1)=0,length=0,high=0 f j=2:1:10000 d
 . n n s n=j,l=0
 . f  q:$d(step(n))  s l=l+1,path(l)=n,n=$s(n#2:3*n+1,1:n\2) s:n>high high=n
 . f k=1:1:l s step(path(k))=step(n)+l-k+1
 . s:step(j)>length length=step(j)
 q
