jobs ;
 d try("j tt^jobs:(out=""j1o.txt"":err=""j1e.txt"") d wait zsy ""cat j1o.txt j1e.txt""")
 d try("j tt^jobs(1,,""x y"") d wait zsy ""cat jobs.mjo jobs.mje""")
 d try("j nolab^jobs:(out=""j1o.txt"":err=""j1e.txt""):60 w $t,! zsy ""cat j1o.txt j1e.txt""")
 d try("j ^noroutine:(out=""j1o.txt"":err=""j1e.txt""):60 w $t,!")
 d try("j tt^jobs:(in=""/nonexist""):60 w $t,!")
 d try("j tt^jobs:(def=""/nonexist""):60 w $t,!")
 d try("j tt+1^jobs:(out=""j1o.txt"":err=""j1e.txt""):60 w $t,! d wait zsy ""cat j1o.txt j1e.txt""")
 d try("s a=5,a(1)=6 j pv^jobs:(passcurlvn:out=""j1o.txt"":err=""j1e.txt"") d wait zsy ""cat j1o.txt j1e.txt""")
 d try("j tt^jobs:(cmdline=""x y z"":def=""."":out=""j1o.txt"":err=""j1e.txt"") d wait zsy ""cat j1o.txt j1e.txt""")
 d try("j tt:(out=""j1o.txt"":err=""j1e.txt"") d wait zsy ""cat j1o.txt j1e.txt""")
 d try("s r=""tt"" j @r^jobs:(out=""j1o.txt"":err=""j1e.txt"") d wait zsy ""cat j1o.txt j1e.txt""")
 d try("j lv^jobs(1):(out=""j1o.txt"":err=""j1e.txt"") d wait zsy ""cat j1o.txt j1e.txt""")
 d try("j lv^jobs(2):(out=""j1o.txt"":err=""j1e.txt"") d wait zsy ""cat j1o.txt j1e.txt""")
 d try("j tt+99^jobs:(out=""j1o.txt"":err=""j1e.txt"") w ""begun""")
 zsy "cat j1e.txt"
 d try("j tt+1^jobs(7):(out=""j1o.txt"":err=""j1e.txt"") d wait zsy ""cat j1o.txt j1e.txt""")
 d try("j tt^jobs:(foo=1)")
 d try("j tt^jobs:(out)")
 q
wait f  q:'$zgetjpi($zjob,"isprocalive")  h .02
 q
lv(n) s $et="w $zl,$ec,! s $ec="""" zg 1:lw" w $zl,$st,$st(0,"PLACE"),! d:n=2  w 1/0
 . w 2/0
lw w n," ",$zl,! h
pv w $g(a),$g(a(1)),! q
tt(a,b,c) w "job ",$g(a),",",$g(b,"undef"),",",$g(c),! w $p,"|",$io,"|",$zmode,"|",$zcmdline,! zshow "D"
 r x w "[",x,"]",$zeof,!
 q
try(c) n $et s $et="s zs=$zs,$ec="""" u 0 w ""ERR "",zs,! q"
 w "-- ",c,! x c u 0 q
