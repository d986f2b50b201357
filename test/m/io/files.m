files ;
 s f="f2.txt"
 o f:newversion u f w "l1",!,"l2",!,"l3 no eol" c f
 d try("o f:readonly u f r x d p(x) r x d p(x) r x d p(x) r x d p(x) r x d p(x)") c f

 d try("o f u f w ""new""") c f zsy "cat -A "_f
 d try("o f u f r x w ""new""") c f zsy "cat -A "_f
 d try("o f:append u f w ""app"",! s x=$x,y=$y u 0 w x,"" "",y,!") c f zsy "cat -A "_f
 d try("o f u f:truncate r x w ""trunc""") c f zsy "cat -A "_f
 d try("o f:readonly u f w ""trunc""") c f
 d try("o f:writeonly u f r x") c f
 d try("o ""/nonex/a"":newversion")
 d try("o ""/nonex/a"":readonly")
 d try("o ""/nonex/a"":readonly:0 w $t")
 d try("o ""/nonex/a"":newversion:2 w $t")
 d try("u ""nonopen""")
 d try("c ""nonopen"" w ""ok"",!")
 d try("o f:readonly u f r *x d p(x) r *x d p(x) r *x d p(x) r y#2 d p(y) r y#10 d p(y) r y d p(y) r *x d p(x) r *x d p(x)") c f
 d try("o f:readonly u f r x:0 d p(x,$t) r x:0 d p(x,$t)  r x:0 d p(x,$t)") c f
 d try("o f:(newversion:width=5) u f w ""abcdefgh"" s a=$x_"",""_$y u 0 w a,!") c f zsy "cat -A "_f
 d try("o f:(newversion:nowrap:width=5) u f w ""abcdefgh"" s a=$x_"",""_$y u 0 w a,!") c f zsy "cat -A "_f
 d try("o f:(newversion:nowrap:record=5) u f w ""abcdefgh"",!,""x"",?3,""yzzz"",?8 s a=$x_"",""_$y u 0 w a,!") c f zsy "cat -A "_f
 d try("o f:(newversion:width=5:nowrap) u f w ""abcdefgh"",! s a=$x_"",""_$y u 0 w a,!") c f zsy "cat -A "_f
 d try("o f:(newversion:stream:nowrap:record=5) u f w ""abcdefgh"",! s a=$x_"",""_$y u 0 w a,!") c f zsy "cat -A "_f
 d try("o f:(newversion:fixed:record=5) u f w ""abcdefgh"",!,""x"",#,""zz"" s a=$x_"",""_$y u 0 w a,!") c f zsy "cat -A "_f
 d try("o f:(newversion:fixed:nowrap:record=5) u f w ""abcdefgh"",!,""x"",! s a=$x_"",""_$y u 0 w a,!") c f zsy "cat -A "_f
 q
p(x,t) n io s io=$io s z="["_x_"] X="_$x_" Y="_$y_" ZEOF="_$zeof_" ZA="_$za_" ZB="_$zwrite($zb)_" KEY="_$zwrite($key)_" D="_$device_" T="_$g(t)
 u 0 w z,! u io q
try(c) n $et s $et="s zs=$zs,$ec="""" u 0 w ""ERR "",zs,! q"
 w "-- ",c,! x c u 0 q
