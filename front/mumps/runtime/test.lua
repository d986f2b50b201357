-- test.lua - $TEST: t is 0 or 1.
return {t = 1}
