# Reads a JUnit report of ctest; prints what each test that did not pass said last, at most `lines` lines of it.

function attribute(name) {
    return match($0, " " name "=\"[^\"]*\"") ? substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 4) : ""
}

/^[[:space:]]*<testcase / {
    test = attribute("name")
    good = attribute("status") == "run"
    count = 0
}

!good { said[count++] = $0 }

/^[[:space:]]*<\/testcase>/ && !good {
    print "-- " test
    for (i = count > lines ? count - lines : 0; i < count; ++i) print said[i]
}
