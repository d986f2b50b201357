clients ; what the own tests of the Python package call, whose routines are not in its source distribution
hello1() quit "entry called"
hello99() quit "entry was called"
hello2(p1,p2,p3) new answer set answer=p3_p2_p1,p2=p1
 quit answer
noret(p1) set p1="testeroni"
 quit
extend(p1) set p1=1234567890
 quit p1
pass(p1) quit p1
locks() ; the lock that is held
 new held
 zshow "L":held
 quit $get(held("L",1),"LOCK LEVEL=0")
