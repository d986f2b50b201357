-- What the golden database of format 2 holds beside what contents.lua says: contents(f) calls f(value or
-- nil, name, subscripts...) for each node that was set; nil: it was killed as one of a range.
-- Never change it: a new format gets a new file.

return function(f)
    for i = 1, 400 do
        f((i < 100 or i > 300) and "r" .. i or nil, "^range", i)
        f((i < 100 or i > 300) and ("below"):rep(i % 9) or nil, "^range", i, "below")
    end
    for i = 1, 50 do
        f(nil, "^range", "user:" .. i)
        f("stays", "^range", "user;" .. i)
    end
    f("root", "^range")
end
