# Reads a JUnit report of ctest; prints "<passed> <failed>", then the name of each test that did not pass.
#
# A shard is one test for ctest and many for us: what counts is what googletest says in it. A shard that
# ended without naming a failed test (a crash, a sanitizer's report, the time limit) is one failure.

function attribute(name) {
    return match($0, " " name "=\"[^\"]*\"") ? substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 4) : ""
}

/^[[:space:]]*<testcase / {
    test = attribute("name")
    ran = attribute("status") == "run"
    shard = test ~ /_shard_[0-9]+$/
    named = 0
    counted = 0
}

# With a comma behind the name while the test reports itself, without one in the list at the end.
shard && /^\[  FAILED  \] [^ ,]+\.[^ ,]+$/ || shard && /^\[  FAILED  \] [^ ,]+\.[^ ,]+, where / {
    name = $4
    sub(/,$/, "", name)
    if (!((test, name) in seen)) {
        seen[test, name] = 1
        failures[++failed] = name
        named = 1
    }
}

shard && /\[  PASSED  \] [0-9]+ tests?\./ {
    match($0, /PASSED  \] [0-9]+/)
    passed += substr($0, RSTART + 10, RLENGTH - 10)
    counted = 1
}

/^[[:space:]]*<\/testcase>/ || /^[[:space:]]*<testcase .*\/>$/ {
    if (ran && (!shard || counted))
        passed += shard ? 0 : 1
    else if (!named)
        failures[++failed] = test
}

END {
    print passed + 0, failed + 0
    for (i = 1; i <= failed; ++i) print failures[i]
}
