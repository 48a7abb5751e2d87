#!/usr/bin/env python3
"""reliability_report.py [--tests REGEX]: runs what kills, cuts off and fuzzes, and writes docs/evidence/reliability.md.

The chaos tests, the simulator and `postroom torture` are those of build/release, the fuzz targets those of build/fuzz; both
have to be built. Loads are as POSTROOM_TEST_SCALE says (a tenth when unset), fuzz targets run for POSTROOM_FUZZ_SECONDS.
Figures are what the tests print; a test that failed is shown as that, and the exit status says so.
"""
import argparse
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/evidence/reliability.md"
REPORT = ROOT / "build/junit-reliability.xml"
TESTS = (r"KillTest|ClaimRaceTest|InboxOnceTest|GroupCommitTest|DispatcherProcessTest|AsyncAckTest|FrozenClaimerTest"
         r"|TortureTest|TortureOn.*PromiseKept|Simulator|RelayKill|Failover|GaleraNodeKillTest"
         r"|(Sqlite|Postgres|Mariadb)Restore|Restore(On|Law)")
# Clusters: by the hundred in the full run only.
LEFT_OUT = "mysql|packages" if os.environ.get("POSTROOM_TEST_SCALE") == "1" else "mysql|packages|galera|failover_many"
PLANTED = re.compile(r"SimulatorMutants|TortureTest\.Finds|fuzz\.planted")
FIGURES = re.compile(r"\d.*(kills?|lost|redelivered|effects|handled|poison|stopped|freezes|doubled)")


def output_of(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout.strip().split("\n")[0]
    except (OSError, subprocess.CalledProcessError):
        return ""


def versions():
    found = {
        "commit": output_of("git", "rev-parse", "--short=12", "HEAD"),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "load": os.environ.get("POSTROOM_TEST_SCALE", "0.1") + " of the full one",
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
    """Name, outcome, seconds and output of each test that ran."""
    REPORT.unlink(missing_ok=True)
    subprocess.run(["ctest", *arguments, "--output-junit", str(REPORT), "--test-output-size-passed", "200000"],
                   cwd=ROOT, check=False)
    return sorted((case.get("name"), case.get("status") == "run", float(case.get("time")), case.findtext("system-out") or "")
                  for case in xml.parse(REPORT).getroot().iter("testcase"))


def run_tests(expression):
    cases = ctest("--test-dir", "build/release", "-R", expression, "-LE", f"^({LEFT_OUT})$|_shards$", "-j", "2")
    return [case for case in cases if re.search(expression, case[0])]  # not the servers that were started


def fuzz_runs():
    """Name, outcome, and from the log of each target: inputs tried, code reached, seed."""
    runs = []
    for name, passed, seconds, _ in ctest("--preset", "fuzz"):
        text = (ROOT / "build/fuzz/tests/fuzz" / name.removeprefix("fuzz.") / "log").read_text(errors="replace")
        found = [re.findall(pattern, text) or ["?"] for pattern in
                 (r"stat::number_of_executed_units:\s*(\d+)", r"cov: (\d+)", r"INFO: Seed: (\d+)")]
        runs.append((name, passed, seconds, *(values[-1] for values in found)))
    return runs


def figures_in(output):
    lines = [line.strip() for line in output.split("\n")]
    shown = [line for line in lines if FIGURES.search(line) and not line.startswith(("[", "{", "Note:")) and len(line) < 400]
    return "; ".join(shown).replace("|", "\\|")


def mark(passed):
    return "held" if passed else "**FAILED**"


def torture_rows(cases):
    rows = []
    for name, passed, _, output in cases:
        for line in output.split("\n"):
            if not line.startswith('{"store"'):
                continue
            verdict = json.loads(line)
            for act in verdict["acts"]:
                figures = ", ".join(f"{value} {what}" for what, value in act["figures"].items())
                rows.append(f"| {verdict['server'].split(' on ')[0]} | {verdict['seed']} | {act['name']} | {figures} "
                            f"| {len(act['broken'])} | {mark(passed)} |")
    return rows


def table(cases):
    return ["| test | seconds | what it says | |", "|---|---|---|---|",
            *(f"| `{name}` | {seconds:.1f} | {figures_in(output)} | {mark(passed)} |" for name, passed, seconds, output in cases), ""]


def page(facts, cases, fuzz):
    planted = [case[:4] for case in cases + fuzz if PLANTED.search(case[0])]
    fuzz = [run for run in fuzz if not PLANTED.search(run[0])]
    torture = [case for case in cases if "TortureOn" in case[0]]
    clusters = [case for case in cases if re.search("Failover|Galera", case[0])]
    restored = [case for case in cases if "Restore" in case[0]]
    rest = [case for case in cases if case not in planted + torture + clusters + restored]
    found = sum(passed for _, passed, _, _ in planted)
    lines = ["# Reliability", "",
             "Generated by `make reliability` (`tools/reliability_report.py`) from the runs that it describes; not edited.", "",
             "| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in facts.items()), "",
             "## `postroom torture`", "",
             "Workers killed on each database, judged by a ledger outside of it; see [the guide](../guides/torture.md). The last",
             "column but one counts broken promises.", "",
             "| server | seed | act | figures | broken | |", "|---|---|---|---|---|---|", *torture_rows(torture), "",
             "## Fail-over", "",
             "Three PostgreSQL nodes under Patroni, whose leader is killed with its Patroni or hands over, and three Galera nodes, killed",
             "one after the other; writers, relays and dispatchers have one URL and are told nothing. `make test` runs two fail-overs,",
             "`make test-full` a hundred and twenty node kills of Galera.", "",
             *table(clusters),
             "## Databases put back from a backup", "",
             "Copies of each engine's kind, held until an operator decides; a promoted standby and a file under another name are not",
             "held. See [the guide](../guides/restoring-a-backup.md).", "",
             *table(restored),
             "## Chaos tests and simulator", "",
             f"{sum(passed for _, passed, _, _ in rest)} of {len(rest)} held. One alone: `ctest --test-dir build/release -R NAME`; a seed is",
             "repeated with `POSTROOM_TEST_SEED`.", "",
             *table(rest),
             "## Planted bugs", "",
             f"The judges are trusted because they find bugs that were put there: {found} of {len(planted)} were found.", "",
             "| test | |", "|---|---|",
             *(f"| `{name}` | {'found' if passed else '**NOT FOUND**'} |" for name, passed, _, _ in planted), "",
             "## Fuzzing", "",
             "libFuzzer with AddressSanitizer and UndefinedBehaviorSanitizer, from the corpus in `tests/fuzz/corpus`; `make fuzz` runs",
             "for longer. Inputs for which a fault was mended, or that broke a target, are in `tests/fuzz/regressions`.", "",
             "| target | seconds | inputs tried | code reached (edges) | seed | |", "|---|---|---|---|---|---|",
             *(f"| `{name}` | {seconds:.0f} | {tried} | {reached} | {seed} | {mark(passed)} |"
               for name, passed, seconds, tried, reached, seed in fuzz), ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", default=TESTS, help="a ctest expression, to look at some only")
    arguments = parser.parse_args()
    facts = versions()
    cases = run_tests(arguments.tests)
    fuzz = fuzz_runs()
    PAGE.write_text(page(facts, cases, fuzz))
    failed = [name for name, passed, *_ in cases + fuzz if not passed]
    for name in failed:
        print(f"FAILED: {name}")
    return 1 if failed or not cases or not fuzz else 0


if __name__ == "__main__":
    sys.exit(main())
