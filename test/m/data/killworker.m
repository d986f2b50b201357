killworker ; moves amounts between accounts under locks and in transactions, until it is killed (kills.sh)
work ;
 new from,to,amount,i
 for i=1:1 do
 . set from=$random(5),to=$random(5),amount=$random(100)
 . if $random(2) lock +^busy(from):5 else  quit:'$test
 . tstart ():transactionid="BATCH"
 . set ^account(from)=^account(from)-amount
 . set ^account(to)=^account(to)+amount
 . set ^log($job,i)=amount
 . tcommit
 . if $increment(^done)
 . lock
 quit
init ;
 kill ^account,^log,^done,^busy
 new i
 for i=0:1:4 set ^account(i)=1000
 set ^done=0
 quit
check ; the sum is what it was, and all locks are free
 new i,sum
 set sum=0
 for i=0:1:4 set sum=sum+^account(i)
 lock (^busy,^account):10
 write sum,$test,^done>0
 quit
count write ^done quit
