#!/usr/bin/env python3
"""reliability_report.py [--tests REGEX]: runs what kills, cuts off, overloads and fuzzes; writes docs/evidence/reliability.md.

The tests are those of build/release, the fuzz targets those of build/fuzz; both have to be built. Loads are as
POSTROOM_TEST_SCALE says (a tenth when unset), fuzz targets run for POSTROOM_FUZZ_SECONDS. Figures are what the tests print.
The exit status is 1 when something failed, and when a hole that was closed has no test that ran.
"""
import argparse
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import typing
import xml.etree.ElementTree as xml

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/evidence/reliability.md"
REPORT = ROOT / "build/junit-reliability.xml"
SCALE = os.environ.get("POSTROOM_TEST_SCALE") or "0.1"
# Clusters: by the hundred in the full run only.
LEFT_OUT = "mysql|packages" if SCALE == "1" else "mysql|packages|galera|failover_many"

# Expressions are read by ctest and by Python: both know these signs and no others.
CHAOS = (r"KillTest|ClaimRaceTest|InboxOnceTest|GroupCommitTest|DispatcherProcessTest|AsyncAckTest|FrozenClaimerTest"
         r"|TortureTest|TortureOn.*PromiseKept|Simulator|RelayKill|Failover|GaleraNodeKillTest"
         r"|SqliteRestore|PostgresRestore|MariadbRestore|RestoreOn|RestoreLaw")
LARGE = r"LargeQueueLaw.LooksStayQuick|ThousandStores|AdminAbuseNode.RefusesAbuse|prometheus_sees_an_outage"
PLANTED = r"SimulatorMutants|TortureTest.Finds|fuzz.planted"
# What attacks found, and the tests that keep each of these closed.
HOLES = (
    ("One message that could not be read took its whole claim with it, until its neighbours were dead too.",
     ("ClaimReading", "PostgresUnreadable", "SqlSurfaceLaw.S001_16_2")),
    ("One message that a client library cannot send counted as an outage of its destination, again and again.",
     ("HttpSink.WhatTheClientLibraryCannotSend", "HttpSink.HeadersThatNoRequestHolds", "HttpSinkSuspects.APoisonMessage",
      "KafkaSink.HeadersThatNoMessageHolds", "KafkaSink.WhatABrokerRefusesOfOneMessage",
      "RabbitSinkTest.HeadersThatNoFrameHolds", "RabbitSinkTest.AMessageThatAmqpCannotCarry")),
    ("A plain INSERT with a number of its own, or a lock that anybody may take, stopped all claims.",
     ("SqlSurfaceLaw.ANumberGivenByHand", "SqlSurfaceLaw.AfterANumberFarAhead", "SqlSurfaceLaw.AWaitingRow",
      "PostgresRoles", "MysqlRoles", "PostgresWriter", "MariadbWriter",
      "ClaimLaw.*PostgresWorker", "ClaimLaw.*MariadbWorker")),
    ("Large rows by plain INSERT passed the limits and filled the memory of a relay.",
     ("SqlSurfaceLaw.APlainInsertIsHeldToTheLimits", "SqlSurfaceLaw.WhatIsAboveALimit", "ClaimBytesLaw",
      "DispatcherProcessTest.MemoryStaysBounded")),
    ("commit() reported success for a transaction that its user had ended, and a message that was rolled back was delivered.",
     ("SqlTransactionLaw.ACommitOfATransaction", "SqlTransactionLaw.ATransactionThatWas",
      "SqlTransactionLaw.WhatASavepointTookBack", "ImplicitCommitLaw.OfATransaction",
      "PostgresTransactions.OneThatWasChained", "PostgresTransactions.NothingRunsOnAfter",
      "WhatAStatementOfTheCallerRolledBackIsNotHandedOver")),
    ("A handler that ended its own transaction was called again, and its effect was there several times.",
     ("SqlTransactionLaw.AHandlerThatEndsItsTransaction", "ImplicitCommitLaw.ByAHandler")),
    ("A step of the database's clock kept leases and ordering keys at rest for as long as the step.",
     ("PostgresClock", "MariadbClock", "SqliteClock", "MariadbClaim.AClockThatWasPutBack")),
    ("After a worker was killed its messages went one at a time, and one born leased behind a backlog was found late.",
     ("^Recovery", "IsolationTest", "DispatcherLaw.MessagesLostOnce", "LargeQueueLaw.OneReapFinds")),
    ("A caller with an old snapshot replaced content under a lease; a trigger that drops rows mixed up ids.",
     ("PostgresIsolation", "MysqlIsolation", "DroppedRows")),
    ("A server that stopped answering held relays and writers for minutes, silently or with hundreds of errors.",
     ("PostgresFrozen[.]", "MariadbFrozen", "PostgresHosts", "MariadbHosts", "RelaySilence", "MissingStandbyTest",
      "WaitWatchTest", "^Outage", "PostgresConninfo.ThePeerOfSeveralHosts")),
    ("HTTP went unencrypted to other machines, and names like 127.anything.example passed for this one.",
     ("HttpSink.NothingLeavesTheMachineUnprotected", "RabbitSinkSettings.APassword", "KafkaSink.BadSettings",
      "KafkaSink.TheNameInTheCertificate", "MysqlAddress.AnotherMachine", "PostgresConninfo.AnotherMachine")),
    ("Control characters and invalid UTF-8 reached terminals and JSON, other users could read files and secrets, and malformed "
     "settings got through.",
     ("ProgramOutput", "CommandLine.ControlCharacters", "CompactJson.EscapesWhatCouldDeceive",
      "CompactJson.RefusesHalves", "JsonMap.HalvesOfSurrogatePairs", "JsonString", "SqliteOpenFile",
      "ProgramSecrets.AFileThatEverybodyCanRead", "ProgramSecrets.NeitherUrls", "ProgramConfig.AKeyOfVeryManyParts",
      "ProgramConfig.ANul", "MysqlAddress.AHostWithANul", "PostgresConninfo.AStringWithANul",
      "runpath_has_no_empty_entry")),
)
TESTS = "|".join((CHAOS, LARGE, *(guard for _, guards in HOLES for guard in guards)))

FIGURES = re.compile(r"\d.*(kills?|lost|redelivered|effects|handled|poison|stopped|freezes|doubled|arrives|deliveries)")
# What the test program and the log say; the rest are words of the test itself.
NOT_OF_THE_TEST = re.compile(r"^\s*$|^\[|^\{|^Note:|^Running main|^\d{4}-\d\d-\d\dT")


class Case(typing.NamedTuple):
    name: str
    passed: bool
    seconds: float
    output: str


class FuzzRun(typing.NamedTuple):
    name: str
    passed: bool
    seconds: float
    tried: str
    reached: str
    seed: str


def output_of(*command):
    """The first line that a command says; empty when it fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout.strip().split("\n")[0]
    except (OSError, subprocess.CalledProcessError):
        return ""


def commit():
    changed = output_of("git", "status", "--porcelain", "--untracked-files=no", "--", "include", "src", "tests")
    return output_of("git", "rev-parse", "--short=12", "HEAD") + (", and changes that are not committed" if changed else "")


def facts():
    """Commit, loads, machine and versions, as far as they can be found."""
    found = {
        "commit": commit(),
        "load": f"POSTROOM_TEST_SCALE={SCALE}, where 1 is the full load",
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": f"{os.cpu_count()} processors, Linux {os.uname().release}",
        "compiler": output_of("g++", "--version"),
        "fuzzer": output_of("clang++", "--version"),
        "PostgreSQL": output_of("sh", "-c", "$(ls /usr/lib/postgresql/*/bin/postgres | tail -1) --version"),
        "Patroni": output_of("patroni", "--version"),
        "etcd": output_of("etcd", "--version"),
        "MariaDB": output_of("sh", "-c", "mariadbd --version || /usr/sbin/mariadbd --version"),
        "SQLite": output_of("sqlite3", "--version"),
    }
    return {name: value for name, value in found.items() if value}


def ctest(*arguments):
    """Each test that ran, fixtures included."""
    REPORT.unlink(missing_ok=True)
    subprocess.run(["ctest", *arguments, "--output-junit", str(REPORT), "--test-output-size-passed", "200000"],
                   cwd=ROOT, check=False)
    return sorted(Case(case.get("name"), case.get("status") == "run", float(case.get("time")), case.findtext("system-out") or "")
                  for case in xml.parse(REPORT).getroot().iter("testcase"))


def run_tests(expression):
    cases = ctest("--test-dir", "build/release", "-R", expression, "-LE", f"^({LEFT_OUT})$|_shards$", "-j", "2")
    return chosen(cases, expression)  # not the servers that were started


def fuzz_runs():
    runs = []
    for case in ctest("--preset", "fuzz"):
        text = (ROOT / "build/fuzz/tests/fuzz" / case.name.removeprefix("fuzz.") / "log").read_text(errors="replace")
        found = [re.findall(pattern, text) or ["?"] for pattern in
                 (r"stat::number_of_executed_units:\s*(\d+)", r"cov: (\d+)", r"INFO: Seed: (\d+)")]
        runs.append(FuzzRun(case.name, case.passed, case.seconds, *(values[-1] for values in found)))
    return runs


def require_guards():
    """A test that was renamed guards nothing: that shows before anything has run."""
    listed = subprocess.run(["ctest", "--test-dir", "build/release", "-N"], capture_output=True, text=True, cwd=ROOT, check=True)
    names = re.findall(r"^ *Test +#\d+: (\S+)", listed.stdout, re.MULTILINE)
    for hole, guards in HOLES:
        for guard in guards:
            if not any(re.search(guard, name) for name in names):
                raise SystemExit(f"there is no test {guard}, which is to guard this: {hole}")


def chosen(cases, expression):
    return [case for case in cases if re.search(expression, case.name)]


def without(cases, expression):
    return [case for case in cases if not re.search(expression, case.name)]


def guards_of(cases, guards):
    return chosen(cases, "|".join(guards))


def words_of(case):
    return [line.rstrip() for line in case.output.split("\n") if not NOT_OF_THE_TEST.search(line)]


def figures_in(case):
    shown = [line.strip() for line in words_of(case) if FIGURES.search(line) and len(line) < 400]
    return "; ".join(shown).replace("|", "\\|")


def mark(passed):
    return "held" if passed else "**FAILED**"


def passed_of(cases):
    return sum(case.passed for case in cases)


def table(cases):
    return ["| test | seconds | what it says | |", "|---|---|---|---|",
            *(f"| `{case.name}` | {case.seconds:.1f} | {figures_in(case)} | {mark(case.passed)} |" for case in cases), ""]


def heading(known):
    return ["# Reliability", "",
            "Generated by `make reliability` (`tools/reliability_report.py`) from the runs that it describes; not edited.", "",
            "| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in known.items()), ""]


def holes_section(cases):
    lines = ["## Holes that were closed", "",
             "What attacks found, and the tests that keep each of these closed. `ctest --test-dir build/release -R NAME` runs those",
             "of one name.", "",
             "| what went wrong | tests | passed | failed |", "|---|---|---|---|"]
    for hole, guards in HOLES:
        ran = guards_of(cases, guards)
        names = ", ".join(f"`{guard}`" for guard in guards)
        failed = len(ran) - passed_of(ran)
        lines.append(f"| {hole} | {names} | {passed_of(ran) if ran else '**none ran**'} | {f'**{failed}**' if failed else 0} |")
    return [*lines, ""]


def torture_rows(case):
    for line in case.output.split("\n"):
        if not line.startswith('{"store"'):
            continue
        verdict = json.loads(line)
        for act in verdict["acts"]:
            figures = ", ".join(f"{value} {what}" for what, value in act["figures"].items())
            yield (f"| {verdict['server'].split(' on ')[0]} | {verdict['seed']} | {act['name']} | {figures} "
                   f"| {len(act['broken'])} | {mark(case.passed)} |")


def torture_section(cases):
    return ["## `postroom torture`", "",
            "Workers killed on each database, judged by a ledger outside of it; see [the guide](../guides/torture.md). The last",
            "column but one counts broken promises.", "",
            "| server | seed | act | figures | broken | |", "|---|---|---|---|---|---|",
            *(row for case in chosen(cases, "TortureOn") for row in torture_rows(case)), ""]


def failover_section(cases):
    return ["## Fail-over", "",
            "Three PostgreSQL nodes under Patroni, whose leader is killed with its Patroni or hands over. Writers, relays and",
            "dispatchers have one URL that names all nodes; they find the new leader by themselves. `make test` runs two",
            "fail-overs, `make test-full` a hundred more.", "",
            "Three Galera nodes, killed one after the other. Two processes work at each node, with the URL of that node alone:",
            "those of the other nodes go on, those of the killed one go on when it is back. `make test-full` runs twenty kills.", "",
            *table(chosen(cases, "Failover|Galera"))]


def restore_section(cases):
    return ["## Databases put back from a backup", "",
            "Copies of each engine's kind, held until an operator decides; a promoted standby and a file under another name are not",
            "held. See [the guide](../guides/restoring-a-backup.md).", "",
            *table(chosen(cases, "Restore"))]


def large_section(cases):
    lines = ["## Large queues, many stores, abuse and an outage", "",
             "What the tests print. Large queues are 5,000,000 open and 5,000,000 delivered messages on PostgreSQL and 1,000,000",
             "of each elsewhere at full load, 20,000 otherwise; limits of time are enforced at full load only.", ""]
    for case in chosen(cases, LARGE):
        lines += [f"`{case.name}`, {case.seconds:.1f} s: {mark(case.passed)}", "", "```text", *words_of(case), "```", ""]
    return lines


def chaos_section(cases):
    cases = without(chosen(cases, CHAOS), f"{PLANTED}|TortureOn|Failover|Galera|Restore")
    return ["## Chaos tests and simulator", "",
            f"{passed_of(cases)} of {len(cases)} held. One alone: `ctest --test-dir build/release -R NAME`; a seed is",
            "repeated with `POSTROOM_TEST_SEED`.", "",
            *table(cases)]


def planted_section(cases):
    planted = chosen(cases, PLANTED)
    return ["## Planted bugs", "",
            f"The judges are trusted because they find bugs that were put there: {passed_of(planted)} of {len(planted)} were found.",
            "What the tests make of breakages of the product itself is on [a page of its own](mutants.md).", "",
            "| test | |", "|---|---|",
            *(f"| `{case.name}` | {'found' if case.passed else '**NOT FOUND**'} |" for case in planted), ""]


def fuzz_section(runs):
    return ["## Fuzzing", "",
            "libFuzzer with AddressSanitizer and UndefinedBehaviorSanitizer, from the corpus in `tests/fuzz/corpus`; `make fuzz` runs",
            "for longer. Inputs for which a fault was mended, or that broke a target, are in `tests/fuzz/regressions`.", "",
            "| target | seconds | inputs tried | code reached (edges) | seed | |", "|---|---|---|---|---|---|",
            *(f"| `{run.name}` | {run.seconds:.0f} | {run.tried} | {run.reached} | {run.seed} | {mark(run.passed)} |"
              for run in without(runs, PLANTED)), ""]


def page(known, cases, fuzz):
    return "\n".join([*heading(known), *holes_section(cases), *torture_section(cases), *failover_section(cases),
                      *restore_section(cases), *large_section(cases), *chaos_section(cases),
                      *planted_section(cases + fuzz), *fuzz_section(fuzz)])


def complaints(cases, fuzz):
    failed = [f"FAILED: {run.name}" for run in cases + fuzz if not run.passed]
    unguarded = [f"NO TEST RAN: {hole}" for hole, guards in HOLES if not guards_of(cases, guards)]
    return failed + unguarded + ([] if fuzz else ["NO TEST RAN: fuzz targets"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", default=TESTS, help="a ctest expression, to look at some only")
    arguments = parser.parse_args()
    require_guards()
    known = facts()  # of the tree before the tests, which may take hours
    cases = run_tests(arguments.tests)
    fuzz = fuzz_runs()
    PAGE.write_text(page(known, cases, fuzz))
    found = complaints(cases, fuzz)
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
