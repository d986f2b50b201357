tables ; each line of tables.list: an external call table, an expression that uses it as package, what it gives
 new line,n,from
 set from="tables.list" open from:readonly use from
 for n=1:1 read line quit:$zeof  if $extract(line)'="#" use $principal do one($piece(line,"|",1),$piece(line,"|",2),$piece(line,"|",3)) use from
 close from
 quit
one(table,expression,wanted) ; package tN, whose file is tN.xc
 new $etrap,file,x,r,p
 set p="t"_n,file=p_".xc",x="in"
 open file:newversion use file write "$CALLS/external.so",!
 for  write $piece(table,"\n"),! set table=$piece(table,"\n",2,99) quit:table=""
 close file use $principal
 view "SETENV":"ydb_xc_"_p:file
 set $etrap="set r=$piece($zstatus,"","",3,99),$ecode="""" goto said"
 for  quit:expression'["&."  set expression=$piece(expression,"&.")_"&"_p_"."_$piece(expression,"&.",2,99)
 set @("r="_expression)
said set r=$translate(r,$char(0),"0") if p_r'=(p_wanted),$piece(r,p,1)_"P"_$piece(r,p,2,9)'=wanted write "line ",n,": ",expression," is ",r,", not ",wanted,!
 quit
