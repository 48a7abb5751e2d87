# The table of conformance_report.sh: reasons first, then one test name per line.
#
# A test name is Suite.OBX_017_IBX_030_Sentence/Backend or .../Backend_outbox for a law that runs on both queues.

FNR == 1 { file++ }

# "OBX-053..056 reason", "O4 reason", "must <demand> = <sentence of the test>", "demand S001_10_7 <what a section asks for>"
file == 1 && /^(#|$)/ { next }
file == 1 && /^must / {
    split(substr($0, 6), part, " = ")
    must_text[++musts] = part[1]
    must_test[musts] = part[2]
    next
}
file == 1 && /^demand / {
    demand[++demands] = $2
    demand_text[demands] = substr($0, length($1) + length($2) + 3)
    next
}
file == 1 {
    id = $1
    text = substr($0, length($1) + 2)
    if (id ~ /\.\.[0-9]+$/) {
        prefix = substr(id, 1, 4)
        split(substr(id, 5), bounds, /\.\./)
        for (i = bounds[1] + 0; i <= bounds[2] + 0; i++) reason[prefix sprintf("%03d", i)] = text
    } else {
        reason[id] = text
    }
    next
}

function note(id, law, backend) {
    if (!((id, law) in backends)) {
        laws[id] = laws[id] (laws[id] == "" ? "" : "\n") law
        backends[id, law] = ""
    }
    if (backend != "" && index(", " backends[id, law] ",", ", " backend ",") == 0)
        backends[id, law] = backends[id, law] (backends[id, law] == "" ? "" : ", ") backend
}

{
    name = $0
    backend = ""
    queue = ""
    if (match(name, /\/[A-Za-z]+(_outbox|_inbox)?$/)) {
        backend = substr(name, RSTART + 1)
        name = substr(name, 1, RSTART - 1)
        if (match(backend, /_(outbox|inbox)$/)) {
            queue = substr(backend, RSTART + 1)
            backend = substr(backend, 1, RSTART - 1)
        }
    }
    sentence = name
    sub(/^[^.]*\./, "", sentence)
    while (match(sentence, /^((OBX|IBX)_[0-9][0-9][0-9]|O[0-9]+|S00[0-4](_[0-9]+)*)_/)) {
        token = substr(sentence, 1, RLENGTH - 1)
        sentence = substr(sentence, RLENGTH + 1)
        if (token ~ /^OBX/ && queue == "inbox") continue
        if (token ~ /^IBX/ && queue == "outbox") continue
        if (token == "S000_5") note("S000-5 " sentence, name, backend)
        sub(/^OBX_/, "OBX-", token)
        sub(/^IBX_/, "IBX-", token)
        if (token ~ /^S001_18_/) token = "18." substr(token, 9)
        note(token, name, backend)
    }
}

function row(id, shown,    count, list, i, law) {
    if (laws[id] == "") {
        if (!(id in reason)) {
            printf "%s has neither a test nor a reason\n", shown > "/dev/stderr"
            failed = 1
        }
        printf "| %s | %s | |\n", shown, reason[id]
        return
    }
    if (id in reason) {
        printf "%s has a test; remove its reason\n", shown > "/dev/stderr"
        failed = 1
    }
    count = split(laws[id], list, "\n")
    for (i = 1; i <= count; i++) {
        law = list[i]
        printf "| %s | `%s` | %s |\n", (i == 1 ? shown : ""), law, backends[id, law]
    }
}

function head(title) {
    printf "\n## %s\n\n| requirement | test, or the reason why there is none | backends |\n|---|---|---|\n", title
}

END {
    print "# Conformance"
    print ""
    print "Written by `tools/conformance_report.sh` from the names of the tests; a test fails when it is stale."
    print "Every test listed here runs with `make test`, on each of the backends named beside it; on Mysql and MysqlProcedures with `make test-full`."
    print ""
    print "PostgresFunctions is PostgreSQL through the SQL functions `infra.outbox_*` and `infra.inbox_*`, MariadbProcedures and"
    print "MysqlProcedures are those servers through the procedures `outbox_*` and `inbox_*`, PgBouncer is PostgreSQL through a"
    print "transaction pooler. PostgresWorker and MariadbWorker work with the rights that the guide gives a worker."
    print "A test without backends concerns code that knows no database. SQL Server is not named here: its laws are added where a"
    print "server is, with `make test-sqlserver`."
    head("Outbox (000), numbered")
    for (i = 1; i <= 107; i++) { id = sprintf("OBX-%03d", i); row(id, id) }
    head("Outbox (000), section 5 without numbers")
    for (i = 1; i <= musts; i++) row("S000-5 " must_test[i], must_text[i])
    head("Acceptance tests of 001")
    for (i = 1; i <= 6; i++) row("18." i, "18." i)
    head("Sections of 000 to 003 that have no numbers")
    for (i = 1; i <= demands; i++) {
        shown = demand[i]
        sub(/^S/, "", shown)
        sub(/_/, " ", shown)
        gsub(/_/, ".", shown)
        row(demand[i], shown ": " demand_text[i])
    }
    head("Stories of 004")
    for (i = 1; i <= 12; i++) row("O" i, "O" i)
    head("Inbox (003), numbered")
    for (i = 1; i <= 130; i++) { id = sprintf("IBX-%03d", i); row(id, id) }
    exit failed
}
