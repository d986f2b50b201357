nulsub(x) ; run x, and say which global its error is about
 n $et s $et="w $p($zs,""variable: "",2),! s $ec="""" q"
 x x w "on",!
 q
