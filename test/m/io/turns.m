turns ;
 d try("o ""p"":(command=""cat"")::""PIPE"" u ""p"" w ""hello"" r x:3 s s=x_$t_$x_$y w ""foo"",! r y:3 s s=s_y u 0 w s,! c ""p""")
 d try("o ""t10.txt"":newversion u ""t10.txt"" w ""hello"" r x s z=$zeof c ""t10.txt"" zsy ""od -c t10.txt""")
 d try("o ""t10.txt"":newversion u ""t10.txt"" w ""hello"" u ""t10.txt"":rewind r x s z=$zeof c ""t10.txt"" w x,z,! zsy ""od -c t10.txt""")
 d try("o ""fi"":fifo u ""fi"" w ""hello"" r x:1 s t=$t c ""fi"":delete w x,t,!")
 q
try(c) n $et s $et="s zs=$zs,$ec="""" u 0 w ""ERR "",zs,! q"
 w "-- ",c,! x c u 0 q
