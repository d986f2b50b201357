threen ; The 3n+1 job in M, for GT.M and YottaDB: globals and locks as in bench/3n1/job.lua.
 ;     mumps -run parent^threen N W
 ;     mumps -run worker^threen
 ; Transactions are BATCH: they don't wait for a journal, which there is none of.
 quit
parent ;
 new n,w,i,count,start,seconds
 set n=+$piece($zcmdline," ",1),w=+$piece($zcmdline," ",2)
 set count=$select(10*w<n:10*w,1:n)
 for i=1:1:count do
 . set ^blocks(i,"first")=n*(i-1)\count+1
 . set ^blocks(i,"last")=n*i\count
 lock +^trigger
 set ^blocks=count
 set ^queued=w ; what the workers wait for
 for  quit:^queued=0  hang 0.001
 set start=$$now
 lock -^trigger
 lock +^finished
 set seconds=$$now-start
 lock -^finished
 write "{""seconds"":",$justify(seconds,0,6),",""longest"":",$get(^longest,0),",""highest"":",$get(^highest,0)
 write ",""reads"":",$get(^reads,0),",""updates"":",$get(^updates,0),"}",!
 quit
worker ;
 new i,reads,updates
 set reads=0,updates=0
 for  quit:$data(^queued)  hang 0.001
 lock +^finished($job)
 if $increment(^queued,-1)
 lock +^trigger($job)
 lock -^trigger($job)
 for i=1:1:^blocks if '$data(^blocks(i,"taken")),$increment(^blocks(i,"taken"))=1 do block(i)
 if $increment(^reads,reads),$increment(^updates,updates)
 lock -^finished($job)
 quit
block(i) ;
 new n
 for n=^blocks(i,"first"):1:^blocks(i,"last") do sequence(n)
 quit
sequence(n) ;
 new path,length,high,total,i
 set length=0,high=0
 for  quit:n'>1  set reads=reads+1 quit:$data(^step(n))  do
 . set length=length+1,path(length)=n
 . set n=$select(n#2:3*n+1,1:n\2)
 . set:n>high high=n
 quit:'length
 set total=length
 if n>1 set reads=reads+1,total=total+^step(n)
 do raise(total,high)
 for i=1:1:length set ^step(path(i))=total-i+1
 set updates=updates+length
 quit
raise(length,high) ;
 new more
 tstart ():transactionid="BATCH"
 set more=0
 set:length>$get(^longest) ^longest=length,more=more+1
 set:high>$get(^highest) ^highest=high,more=more+1
 tcommit
 set reads=reads+2,updates=updates+more
 quit
now() quit $zut/1000000
