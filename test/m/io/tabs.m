tabs ;
 s f="t7.txt"
 f n=5,9,10,11,12,20,21,25,31,45 d one(n,0)
 f n=5,9,10,11,12,20,21,25,31,45 d one(n,3)
 f n=5,10,11,20,21,25 d wr(n)
 q
one(n,k) o f:newversion u f:width=10 w $e("abcdefghij",1,k) w ?n s s=$x_","_$y u 0 w n,"/",k,": ",s,!
 c f q
wr(n) o f:newversion u f:width=10 w $j("",n) s s=$x_","_$y u 0 w "wr ",n,": ",s,!
 c f q
