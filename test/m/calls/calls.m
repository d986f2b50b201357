calls ; what callin.c and m_calls.sh call
 quit
types(a,b,c,d,e,f,g,h,i,j) new r
 set r=a_"|"_$length(b)_"|"_c_"|"_d_"|"_e_"|"_f_"|"_g_"|"_h_"|"_i_"|"_j
 set a=a_"!",b="0123456789abc",c=c_"!",d=d+1,e=e-1,g=g/2
 quit r
undef ; an error
 write y
 quit
tight() quit "12345"
wide(x,y) set y="longer"
 quit x_"abc"
stay(to,from) do &t.stay(to,from)
 quit
count() quit $increment(^count)
put set ^put=7
 quit
lua ; the package mlua
 new o,h,x,i
 do run("return 'a'..1,2") do run("return 1e20") do run("return true") do run("return {}") do run("") do run("error'x'")
 do run("retrn") do run(">nothing") do run("function add(a,b) return a+b end t={f=function(x) return 'f'..x end}")
 write $&mlua.lua(">add",.o,,3,4)," ",o,! write $&mlua.lua(">t.f",.o,,3)," ",o,!
 for i=1:1:3 set h(i)=$&mlua.open(.o) write h(i)," "
 write $&mlua.lua("g=1",.o,h(1)),$&mlua.lua("return tostring(g)",.o,h(2)),o,$&mlua.lua("return g",.o,h(1)),o,!
 write $&mlua.close(h(2))," ",$&mlua.close(h(2))," ",$&mlua.close(99)," ",$&mlua.close(h(3))," ",$&mlua.open(.o)," ",$&mlua.close(),!
 write $&mlua.lua("return 1",.o,h(1))," ",o,!
 write $&mlua.version()," ",$&mlua.nanoseconds()>0,!
 set x="M's",x("k",1)="v",^x(1)=5
 do run("ydb=require'yottadb' return ydb.get('x')..ydb.get('x','k',1)..ydb.get('^x',1)..tostring(ydb.get('nope'))")
 do run("ydb.set('x',2,.5) ydb.incr('^x',2,3) return table.concat(ydb.node_next('x','k'),',')") write x(2),^x(2),!
 do run("local t={} for s in ydb.subscripts('x','') do t[#t+1]=s end return table.concat(t,',')")
 do run("ydb.tp(function() ydb.set('^x',9,'nine') end) return ydb.get('^x',9)")
 do run("return tostring(pcall(ydb.tp,function() ydb.set('^x',9,0) return ydb.YDB_TP_ROLLBACK end))..ydb.get('^x',9)")
 do run("local n=ydb.node('x') n.y.__=1 return n.k[1].__..n:data()..tostring(n.y)") write x("y"),!
 set x="local n=ydb.node('^t') n:settree({1,2,a={__='v',b='w'}},function(n,k,v) if k~=2 then return k,v end end) "
 do run(x_"local t=n:gettree() return t['1']..tostring(t['2'])..t.a.__..t.a.b")
 do run("local n=ydb.node('^t') return tostring(n:gettree(0).a)..tostring(n.a:has_tree())..tostring(n:has_value())")
 do run("ydb.node('^t'):nosuch{}")
 do run("local n=ydb.node('^g') n.get.__=1 n.get.data.__=2 return n:get('none')..n.get:get()..n.get.data.__..n:data()..tostring(n.get)")
 do run("local n=ydb.node('^deep') for i=1,31 do n=n(i) end n.__=7 return n:get()..n:data()")
 do run("return ydb.node('x').__nosuch")
 do run("local n=0 local t=ydb.node('^t'):gettree(nil,function() n=n+1 end) return n..tostring(t.a)..tostring(ydb.dump('^none'))")
 do run("local a,b=ydb.tp(nil,nil,function(...) ydb.set('^x',8,1) return 5,... end,'five') return a..b..ydb.get('^x',8)")
 do run("local n=0 ydb.tp(function() n=n+1 if n<3 then pcall(ydb.trestart) end end) return n")
 do run("local n=0 ydb.tp(function() n=n+1 if n<3 then xpcall(ydb.trestart,tostring) end end) return n")
 do run("local n=0 ydb.tp(function() n=n+1 if n<3 then coroutine.resume(coroutine.create(ydb.trestart)) end end) return n")
 do run("local _,e=pcall(ydb.tp,function() ydb.set('^x',7,1) pcall(ydb.trollback) ydb.set('^x',7,2) end) return e..ydb.data('^x',7)")
 do run("ydb.tp(function() pcall(ydb.tp,ydb.trollback) ydb.set('^x',7,3) end) return ydb.get('^x',7)..tostring(pcall(ydb.trollback))")
 do run("return tostring(pcall(error,{control='goto'}))") do run("error{control='goto',level=1}")
 do run("local co=coroutine.wrap(function() ydb.tp(coroutine.yield) end) return tostring(pcall(co))..tostring(pcall(ydb.trollback))")
 do run("return tostring(pcall(error,5))..select('#',pcall(unpack,{1,2,3}))..select(2,xpcall(error,type,5))")
 do run("ydb.set('^x(',1)") do run("ydb.tp({'^x'},function() end)") do run("return ydb.get('$tl')")
 do run("ydb.lock(5)") do run("ydb.lock{5}") do run("ydb.node('^t'):settree(5)") do run("ydb.node('^t'):settree{a={true}}")
 do run("return select(2,pcall(ydb.get,'x',{false}))")
 for x="w","^w" set @x@(-3)="a",@x@(1)="b",@x@(1,2)="c",@x@(1.5)="d",@x@(10)="e",@x@("x")="f"
 set x="local t={} for _,n in ipairs{'w','^w'} do local function put(s) t[#t+1]=tostring(s) return s end "
 set x=x_"local N,P=ydb.subscript_next,ydb.subscript_previous for _,f in ipairs{N,P} do local s='' "
 set x=x_"repeat s=put(f(n,{s})) if s then put(ydb.get(n,s)..ydb.get(n,{s})) end until not s end "
 set x=x_"put(N(n,1,'')) put(N(n,{1,2})) put(N(n,'01')) put(N(n,1)) put(N(n,1.5)) put(P(n,'y')) put(P(n,{1,''})) "
 do run(x_"put(N(n,'1')) put(N(n,{'1',''})) ydb.set(n,N(n,{''}),'new') put(ydb.get(n,-3)) end return table.concat(t,',')")
 do run("coroutine.yield(1)") do run("return coroutine.wrap(function() return coroutine.yield(5) end)()")
 do run("getmetatable('').__index=nil return ('x'):upper()") do run("debug.sethook(print,'c')")
 do run("ydb.tp(function() ydb.set('^x',9,0) error('no',0) end)") write $tlevel,^x(9),!
 quit
run(code) new o,r
 set r=$&mlua.lua(code,.o)
 write r,"|",o,!
 quit
xc ; C functions
 new b,c,d,e,f
 set b=40,c="1.5",d="abc",f="buf"
 write $&t.add(2,.b,.c,.d,.e,.f)," ",b," ",c," ",d," ",e," ",f,!
 do &t.intexp(.b) write b,!
 write $&t.ret("18446744073709551615")," ",$&t.rets(),!
 set b="" for i="s x=$&t.fails()","s x=$&t.add(1,2,3,4,5,6,7)","s x=$&t.nope()","d &none.x()","d &t.fails() w ""on"",!" do try(i)
 write $&t.again(5),!
 quit
try(line) new $etrap
 set $etrap="write $piece($zstatus,"","",3,9),! set $ecode="""" quit"
 xecute line
 quit
local(x) ; M's variables are those of C
 set shared=x,shared("a",1)=2,shared("a",1.5)="y"
 quit
walk(name) new q,r
 set r="",q=name if $data(@q)#2 set r=q_"="_@q_";"
 for  set q=$query(@q) quit:q=""  set r=r_q_"="_@q_";"
 quit r
scope(x) new shared
 set shared="inner",x=$&t.look("shared")_","_$&t.look("x")
 set *alias=shared,alias=alias_"2",x=x_","_$&t.look("shared")_","_$$ref(.shared)
 quit x
ref(by) quit $&t.look("by")
leave() new first ; C that M calls ends nothing, and tells M its errors
 set $zstatus="",first=$zstatus do &t.leave() quit first_$zstatus_";"_$&t.look("none")_";"_$piece($zstatus,",",3,9)
tp() set tried=$get(tried)+1,kept=$get(kept)+1
 quit
locks(what) ; LOCK, and what ZSHOW has
 new l,i,r
 if what="plus" lock +^mlock(1)
 if what="minus" lock -^mlock(1)
 if what="undo" tstart () lock +^undone,+^mlock(1) trollback
 if what="other" lock +^clock:0 set r=$test_";"
 zshow "L":l set i=0,r=$get(r) for  set i=$order(l("L",i)) quit:i=""  set r=r_l("L",i)_";"
 quit r
setting(name,value) set:value'="" @(name_"=value")
 quit @name
host(what) ; levels of the caller and M's own
 if what="commit" tcommit
 if what="rollback" trollback
 if what="all" tstart () trollback
 if what="own" tstart () tstart () trollback $tlevel-1 tcommit
 if what="again",$trestart<2 trestart
 quit $tlevel_";"_$trestart
inside(begins) ; a transaction of the caller
 if begins tstart () set ^seen=$get(^ofm) tcommit  quit $tlevel
 set ^seen=$get(^ofm)
 quit $tlevel
deep(n) goto forever:n<0 quit:n=0 "end" quit $&t.deeper(n-1)
forever goto forever
endless(kind) new $etrap set $etrap="set $ecode="""" goto more"
 tstart () set ^endless=1
more if kind=1 for  set x=1
 if kind=2 hang 100000
 if kind=4 set x=$&t.deeper(-1)
 goto more
numbers(a,b) set ^ran=1,b=b_a quit a
none(x) set x="set" quit
away(x) set x="set" zgoto 0
beyond() zgoto 0:put
both(v,i,u) set (i,u)=v
 quit
single(x) quit x
unset(i,s) quit
leaves tstart () set ^left=1
 quit
level() quit $zlevel_";"_$stack_";"_$estack_";"_$tlevel_";"_$etrap_";"_$ztrap_";"_$stack(0)
elsewhere zgoto 1:there
there set ^there=$zlevel
 quit
abcdefghijklmnopqrstuvwxyz12345() quit "of 31 bytes"
echo(v) quit $get(v)
gbldir() quit $zgbldir
trapped() do traps quit $tlevel
traps new $etrap set $etrap="set $ecode=""""" tstart  set ^traps=1,x=1/0 tcommit
 quit
