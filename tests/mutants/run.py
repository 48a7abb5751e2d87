#!/usr/bin/env python3
"""run.py [--work FOLDER | --tree FOLDER] [--only WORD]... [--rest] [--limit N] [--report FILE]: breaks the product on purpose.

Each mutant of the list is one small breakage: a text in a file and what stands in its place. It is applied to a copy of
the tree, the targets that its tests need are built, and the tests that should notice are run. A mutant whose tests all
pass has survived: a hole in the tests. Without --only all of them are run, which takes hours on a small machine.

A mutant is killed when a test failed that passes on the tree as it is, and the report names that test. A test that ran
into its time limit and a server that did not start prove nothing: such a mutant is "in doubt".

The list is blocks separated by blank lines; a line is `key: value`, and `old` and `new` go on in lines that begin with
`| `. Keys: name, file, old, new, targets, tests (a ctest expression), breaks (what would go wrong). The old text must
stand in the file exactly once.
"""
import argparse
import dataclasses
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


@dataclasses.dataclass
class Mutant:
    name: str
    file: str
    old: str
    new: str
    targets: list
    tests: str
    breaks: str
    result: str = "not run"
    noticed_by: str = ""
    seconds: float = 0.0


def read_list(path):
    mutants = []
    for block in path.read_text().split("\n\n"):
        fields, last = {}, None
        for line in block.splitlines():
            if line.startswith("#"):
                continue
            if line.startswith("| ") or line == "|":
                fields[last].append(line[2:])
            else:
                last, _, value = line.partition(": ")
                last = last.rstrip(":")
                fields[last] = [value] if value else []
        if not fields:
            continue
        text = {key: "\n".join(lines) for key, lines in fields.items()}
        mutants.append(Mutant(text["name"], text["file"], text["old"], text.get("new", ""), text["targets"].split(),
                              text["tests"], text["breaks"]))
    return mutants


def mutate(mutant, tree):
    """The file of the mutant and its content before."""
    path = tree / mutant.file
    before = path.read_text()
    if before.count(mutant.old) != 1:
        raise SystemExit(f"{mutant.name}: the old text stands {before.count(mutant.old)} times in {mutant.file}")
    path.write_text(before.replace(mutant.old, mutant.new))
    return path, before


def run(command, log, **options):
    with open(log, "ab") as out:
        return subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=False, **options).returncode


def ctest(tree, log, expression, *options):
    """The exit code, and every test that did not pass with what ctest says of it."""
    command = ["ctest", "--test-dir", tree / "build" / "release", "-R", expression, "--no-tests=error", *options]
    begin = log.stat().st_size if log.is_file() else 0
    code = run(command, log)
    said = log.read_bytes()[begin:].decode(errors="replace").rpartition("The following tests FAILED:")[2]
    return code, re.findall(r"^\s*\d+ - (\S+) \((.+)\)$", said, re.MULTILINE) if code else []


def run_tests(tree, log, expression):
    # One test that notices is enough; broken code lets others wait until their limit.
    code, failed = ctest(tree, log, expression, "-j2", "--stop-on-failure", "--output-on-failure")
    if code:
        # What stops at a failure leaves its servers running.
        ctest(tree, log, "^server_.*_stop$")
    return code, failed


def noticing_test(failed):
    """The first test that really failed: a server is no test, and a limit that passed says nothing about the product."""
    for name, how in failed:
        if not re.fullmatch(r"servers?_.*_(start|stop)", name) and how not in ("Timeout", "Not Run"):
            return name
    return ""


def judge(mutant, tree, log):
    if run(["cmake", "--build", tree / "build" / "release", "-j2", "--target", *mutant.targets], log) != 0:
        return "does not build", ""
    code, failed = run_tests(tree, log, mutant.tests)
    if code == 0:
        return "survived", ""
    noticed_by = noticing_test(failed)
    return "killed" if noticed_by else "in doubt", noticed_by


def require_passing_tests(mutants, tree, log):
    """The tests of each of the mutants are there, and they pass as long as nothing is broken."""
    for mutant in mutants:
        if ctest(tree, log, mutant.tests, "-N")[0]:
            raise SystemExit(f"{mutant.name}: there is no test {mutant.tests}")
    code, failed = run_tests(tree, log, "|".join(sorted({f"({m.tests})" for m in mutants}))) if mutants else (0, [])
    if code:
        raise SystemExit(f"fails before anything is broken: {failed or 'ctest'}: see {log}")


def copy_tree(tree):
    tree.mkdir(parents=True, exist_ok=True)
    for listed in subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout.split(b"\0"):
        if not listed:
            continue
        source, target = ROOT / listed.decode(), tree / listed.decode()
        if not source.is_file():
            continue
        content = source.read_bytes()
        # What is as it was keeps its time, so that nothing is built twice.
        if target.is_file() and target.read_bytes() == content:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        target.chmod(source.stat().st_mode)


def take_earlier_results(mutants, path):
    """What the report says already: a run of some mutants keeps what others brought."""
    if not path.is_file():
        return
    rows = [line.removesuffix(" |").split(" | ") for line in path.read_text().splitlines() if line.startswith("| ")]
    earlier = {row[0][2:]: row[3:] for row in rows if len(row) == 5}
    for mutant in mutants:
        mutant.result, mutant.noticed_by = earlier.get(mutant.name, (mutant.result, ""))
        mutant.noticed_by = mutant.noticed_by.strip("`-")


def write_report(mutants, path):
    counts = {result: sum(m.result == result for m in mutants) for result in
              ("killed", "survived", "does not build", "in doubt", "not run")}
    lines = ["# Mutants", "",
             "Each line is one small breakage, applied to a copy of the tree, and what the tests made of it. Written by `make mutants`",
             "(`tests/mutants/run.py`) from `tests/mutants/list.txt`, which has the texts. A mutant is killed when a test failed that",
             "passes on the tree as it is; a time limit that passed, or a server that did not start, leaves it in doubt.", "",
             ", ".join(f"{count} {result}" for result, count in counts.items()) + f", of {len(mutants)}.", "",
             "| mutant | file | what breaks | result | noticed by |", "|---|---|---|---|---|"]
    lines += [f"| {m.name} | `{m.file}` | {m.breaks} | {m.result} | {f'`{m.noticed_by}`' if m.noticed_by else '-'} |"
              for m in mutants]
    path.write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", type=pathlib.Path, default=ROOT / "tests/mutants/list.txt")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/mutants")
    parser.add_argument("--tree", type=pathlib.Path, help="a configured tree to break and mend, in place of a new copy")
    parser.add_argument("--only", action="append", default=[], help="names that contain this")
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--rest", action="store_true", help="only those for which the report has no result yet")
    parser.add_argument("--report", type=pathlib.Path)
    parser.add_argument("--check", action="store_true", help="only look whether every old text is where it should be")
    given = parser.parse_args()
    mutants = read_list(given.list)
    if given.check:
        for mutant in mutants:
            if (ROOT / mutant.file).read_text().count(mutant.old) != 1:
                raise SystemExit(f"{mutant.name}: its old text is not in {mutant.file}, or not once")
        print(f"{len(mutants)} mutants, all applicable")
        return 0
    if given.report:
        take_earlier_results(mutants, given.report)
    chosen = [m for m in mutants if not given.only or any(word in m.name for word in given.only)]
    if given.rest:
        chosen = [m for m in chosen if m.result not in ("killed", "survived")]
    chosen = chosen[:given.limit or len(chosen)]
    given.work.mkdir(parents=True, exist_ok=True)
    tree, log = given.tree or given.work / "tree", given.work / "log"
    if not given.tree:
        copy_tree(tree)
    targets = sorted({target for m in chosen for target in m.targets})
    # What a breakage leaves unused is no reason not to try it, and broken code need not be fast.
    if run(["cmake", "--preset", "release", "-DPOSTROOM_WARNINGS_AS_ERRORS=OFF", "-DCMAKE_CXX_FLAGS_RELEASE=-O0", "-DPOSTROOM_HARDEN=OFF"],
           log, cwd=tree) or \
            run(["cmake", "--build", tree / "build/release", "-j2", "--target", *targets], log):
        raise SystemExit(f"the tree does not build before it is broken: see {log}")
    require_passing_tests(chosen, tree, log)
    for mutant in chosen:
        begun = time.monotonic()
        path, before = mutate(mutant, tree)
        try:
            mutant.result, mutant.noticed_by = judge(mutant, tree, log)
        finally:
            path.write_text(before)
        mutant.seconds = time.monotonic() - begun
        print(f"{mutant.result:15} {mutant.seconds:6.0f} s  {mutant.name}", flush=True)
        if given.report:
            write_report(mutants, given.report)
    return int(any(m.result != "killed" for m in chosen))


if __name__ == "__main__":
    sys.exit(main())
