 ; a routine whose label comes after lines of comments,
 ;
 ;

later(x) w "later ",$g(x),! q:$q x+1
 q
 ;
more(x) w "more",! q
