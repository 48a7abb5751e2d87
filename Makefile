# One command per purpose; CMake does the work. `make help` lists the commands.
#
#   JOBS=n    compilers at a time (default: one per processor)

JOBS ?= $(shell nproc)

export JOBS

.PHONY: all help packages release dev asan tsan clang coverage demo test test-full bench bench-full bench-storage \
	bench-ordering format lint clean

all: release

help:
	@echo "make               release build in build/release, programs in build/release/bin"
	@echo "make demo          the first minute: a shop, the relay, an outage, a crash, a poison message"
	@echo "make test          every test with loads at a tenth, sanitizers, clang, lint"
	@echo "make test-full     the same with full loads"
	@echo "make dev|asan|tsan|clang|coverage   that build alone, in build/<name>"
	@echo "make format        reformat the sources"
	@echo "make lint          clang-format, clang-tidy and shellcheck"
	@echo "make bench         the library beside hand-written loops, about two minutes"
	@echo "make bench-full    the same with long runs, and docs/evidence/performance.md from it"
	@echo "make bench-storage measure the storage layouts"
	@echo "make bench-ordering measure what ordering keys cost unordered messages"
	@echo "make clean         remove build/"

packages:
	@tools/install_packages.sh

release dev asan tsan clang coverage: packages
	cmake --preset $@
	cmake --build --preset $@ -j $(JOBS)

demo: packages
	@cmake --preset release
	@cmake --build --preset release -j $(JOBS) --target postroom_program
	@build/release/bin/postroom demo

test:
	@tools/run_tests.sh 0.1

test-full:
	@tools/run_tests.sh 1

# BENCH="--question=cold_drain --engine=postgresql" chooses; build/release/bin/bench --help says what there is.
bench bench-full: packages
	cmake --preset release
	cmake --build --preset release -j $(JOBS) --target bench
	build/release/bin/bench --output=build/bench $(BENCH) \
		$(if $(filter bench-full,$@),--full --page=docs/evidence/performance.md)

bench-storage: packages
	@test -d bench || { echo "there is no bench folder" >&2; exit 1; }
	cmake --preset release
	cmake --build --preset release -j $(JOBS) --target bench_storage
	build/release/bin/bench_storage

bench-ordering: packages
	cmake --preset release
	cmake --build --preset release -j $(JOBS) --target bench_ordering
	build/release/bin/bench_ordering

format:
	@tools/format.sh

lint: packages
	@tools/lint.sh

clean:
	rm -rf build
