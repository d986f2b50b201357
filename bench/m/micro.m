micro ; Times single commands: micro [n] prints a line "hundredths of a second of CPU, passes, what" for each.
 n a,i,k,n,s,t,x,y,z
 s n=+$zcmdline s:'n n=1000000
 s s="alpha^beta^gamma^delta^epsilon^zeta"
 d t("F I=1:1:N") f i=1:1:n
 d e(n),t("S X=X+1") s x=0 f i=1:1:n s x=x+1
 d e(n),t("S X=X+I*3\2#1000") s x=0 f i=1:1:n s x=x+i*3\2#1000
 d e(n),t("S X=X+.25") s x=0 f i=1:1:n s x=x+.25
 d e(n),t("S X=I*1.5/3") f i=1:1:n s x=i*1.5/3
 d e(n),t("$P(S,""^"",5) of one text") f i=1:1:n s x=$p(s,"^",5)
 d e(n),t("$P of changing texts") f i=1:1:n s x=$p(i_"^b^c","^",2)
 d e(n) s y="" f i=1:1:30 s y=y_"piece"_i_"^"
 d t("$P(Y,""^"",25) of a long text") f i=1:1:n s x=$p(y,"^",25)
 d e(n) s y=s d t("S $P(Y,""^"",3)=I") f i=1:1:n s $p(y,"^",3)=i
 d e(n),t("$E(S,I#30)") f i=1:1:n s x=$e(s,i#30)
 d e(n),t("$L(S,""^"")+$F(S,""delta"")") f i=1:1:n s x=$l(s,"^")+$f(s,"delta")
 d e(n),t("$TR(S,""abc"",""xyz"")") f i=1:1:n s x=$tr(s,"abc","xyz")
 d e(n),t("S X=""abc""_I") f i=1:1:n s x="abc"_i
 d e(n) s x="" d t("S X=X_""x""") f i=1:1:n s x=x_"x" s:i#50000=0 x=""
 d e(n),t("I?1.N") f i=1:1:n s x=i?1.N
 d e(n),t("$J(I,10,2)") f i=1:1:n s x=$j(i,10,2)
 d e(n),t("$FN(I,"","")") f i=1:1:n s x=$fn(i,",")
 d e(n),t("$C($A(S,I#30))") f i=1:1:n s x=$c($a(s,i#30))
 d e(n),t("S[""gam""") f i=1:1:n s x=s["gam"
 d e(n) s y="12" d t("$P(...)+Y, both texts") f i=1:1:n s x=$p("1^22^3","^",2)+y
 d e(n),t("S A(I)=I new") f i=1:1:n s a(i)=i
 d e(n),t("S X=A(I)") f i=1:1:n s x=a(i)
 d e(n) s x="" d t("S X=$O(A(X))") f i=1:1:n s x=$o(a(x))
 d e(n) k a d t("S A(""k""_I)=I new") f i=1:1:n s a("k"_i)=i
 d e(n) k ^A d t("S ^A(I)=I new") f i=1:1:n s ^A(i)=i
 d e(n),t("S ^A(I)=I again") f i=1:1:n s ^A(i)=i
 d e(n),t("S X=^A(I)") f i=1:1:n s x=^A(i)
 d e(n) s x="" d t("S X=$O(^A(X))") f i=1:1:n s x=$o(^A(x))
 d e(n) k a d t("D F1") f i=1:1:n d f1
 d e(n),t("D F2(I)") f i=1:1:n d f2(i)
 d e(n),t("S X=$$F3(I)") f i=1:1:n s x=$$f3(i)
 d e(n),t("D with a dot block") f i=1:1:n d
 . s x=i
 d e(n) s z="x" d t("S @Z=I") f i=1:1:n s @z=i
 d e(n) s z="s x=1" d t("X Z") f i=1:1:n x z
 d e(n) k ^A d t("3n+1 on locals, to a tenth") d collatz(n\10)
 d e(n\10)
 q
t(what) s k=what,t=$zgetjpi("","CPUTIM")
 q
e(n) w $zgetjpi("","CPUTIM")-t," ",n," ",k,!
 q
f1 q
f2(p) n y s y=p
 q
f3(p) q p+1
collatz(to) n high,j,k,l,length,path,step
 s step(1)=0,length=0,high=0 f j=2:1:to d
 . n n s n=j,l=0
 . f  q:$d(step(n))  s l=l+1,path(l)=n,n=$s(n#2:3*n+1,1:n\2) s:n>high high=n
 . f k=1:1:l s step(path(k))=step(n)+l-k+1
 . s:step(j)>length length=step(j)
 q
