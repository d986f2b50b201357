growth ; programs that grow until there is no more memory: test/run/m_limits.sh
 s $etrap="w ""caught "",$p($p($zstatus,"","",3),""-"",3),! k a,b tro:$tlevel  s $ecode="""" zgoto 1:end^growth"
 d @$zcmdline
end w "end",!
 q
nodes f i=1:1 s a(i)=i
 q
keys f i=1:1 s a("k"_i,i#7)="v"_i
 q
texts f i=1:1 s a(i)=$j(i,100000)
 q
pieces s b="" f i=1:1 s $p(b,"^",i#500+1)=i,a(i)=b
 q
levels d level(1) q
level(n) n b s b=$j(n,20000),b(n)=b d level(n+1) q
blocks f i=1:1 d
 . n x s x=$j(i,3000)
 . s a(i)=x
 q
merge f i=1:1:1000 s b(i)=i,b(i,"x")="y"_i
 f i=1:1 m a(i)=b
 q
xecute f i=1:1 x "s b("_i_")=$j("_i_",20000) f j=1:1:3 s a("_i_",j)="""_$j(i,1000)_""""
 q
lua f  s x=$&mlua.lua("T=T or {} for i=1,1e5 do T[#T+1]={i} end",.o) i x s x=$&mlua.lua("T=nil"),$ecode=",U"_$p($p(o,"%YDB-",2),",")_",MEMORY,"
 q
patterns f i=1:1 s a(i)=$j(i,1000)?@(".N1"""_i_""".E."""_i_""""),b(i)=$j(i,3000)
 q
garbage f i=1:1:20000 s x=$j(i,i#200000),y=x_i
 q
order f i=1:1:20000 s ^a(i)=$j(i,50)
 f n=1:1 s k="" f  s k=$o(^a(k)) q:k=""  s a(n,k)=^a(k)
 q
sets ts  f i=1:1 s ^c(i)=$j(i,200)
 q
saved f j=1:1 f i=1:1:20000 s a(j,i)="x"_i i i=20000 ts *:serial  s ^b(i)=i,b(j)=$j(j,1000) k a(j,1) tc
 q
begun d begin(1) q
begin(n) ts *:serial  f i=1:1:3000 s a(n,i)=i
 i n<120 d begin(n+1) q
 f i=1:1 s a(i)=i
 q
