err(code) ; run code, print the mnemonic of its error
 n $et s $et="zg "_$zl_":e^err"
 x code
 w "no error"
 q
e w $p($p($p($zs,",",3),"-",3),",")
 s $ec=""
 q
