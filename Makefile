# One command per purpose; CMake does the work. `make help` lists the commands.
#
#   JOBS=n    compilers at a time (default: one per processor)

JOBS ?= $(shell nproc)

export JOBS

.PHONY: all help packages product deb docs release dev asan tsan clang coverage demo screenshots test test-full test-sqlserver bench bench-full bench-storage \
	bench-ordering bench-peers bench-peers-full fuzz mutants reliability format lint clean

all: product

help:
	@echo "make               the libraries and the program, in build/product"
	@echo "make demo          the first minute, on the dashboard: a shop, an outage, a crash, a poison message"
	@echo "make deb           Debian packages, in build/deb"
	@echo "make docs          the documentation as a site, in build/docs"
	@echo "make test          every test with loads at a tenth, sanitizers, clang, lint"
	@echo "make test-full     the same with full loads"
	@echo "make test-sqlserver URL=sqlserver://...   the laws, races and kills on a SQL Server of yours"
	@echo "make release|dev|asan|tsan|clang|coverage   that build with its tests, in build/<name>"
	@echo "make fuzz          let the fuzz targets look for inputs that break them, FUZZ_SECONDS=300 each"
	@echo "make reliability   docs/evidence/reliability.md, from runs of the chaos tests, the torture and the fuzz targets"
	@echo "make mutants       break the product in more than a hundred ways and see whether the tests notice; takes hours"
	@echo "make format        reformat the sources"
	@echo "make lint          clang-format, clang-tidy and shellcheck"
	@echo "make screenshots   docs/images, the dashboard of a real relay"
	@echo "make bench         the library beside hand-written loops, about two minutes"
	@echo "make bench-full    the same with long runs, and docs/evidence/performance.md from it"
	@echo "make bench-storage measure the storage layouts"
	@echo "make bench-ordering measure what ordering keys cost unordered messages"
	@echo "make bench-peers   the library beside graphile-worker, pg-boss, BullMQ and PgQ, some minutes; bench-peers-full: long runs"
	@echo "make packages      install every Debian package that any of these needs; each installs its own"
	@echo "make clean         remove build/"

packages:
	@tools/install_packages.sh

product:
	@tools/install_packages.sh build
	@cmake --preset product
	@cmake --build --preset product -j $(JOBS) --target product

deb: product
	@tools/install_packages.sh deb
	@cpack --config build/product/CPackConfig.cmake -B build/deb
	@rm -rf build/deb/_CPack_Packages

docs:
	@tools/install_packages.sh docs
	@tools/build_docs.sh
	@echo "open build/docs/index.html"

release dev asan tsan clang coverage: packages
	cmake --preset $@
	cmake --build --preset $@ -j $(JOBS)

# The pictures in docs/images, of a real relay.
screenshots: product
	@tools/install_packages.sh build test
	@tests/web/install.sh build/web_tests
	POSTROOM_PROGRAM=$(CURDIR)/build/product/bin/postroom node build/web_tests/screenshots.mjs docs/images

# On a terminal it stays until Ctrl-C, to be watched on the dashboard; elsewhere it ends by itself.
demo: product
	@if [ -t 1 ]; then build/product/bin/postroom demo --open; else build/product/bin/postroom demo; fi

test:
	@tools/run_tests.sh 0.1

test-full:
	@tools/run_tests.sh 1

test-sqlserver:
	@tools/test_sqlserver.sh "$(URL)"

# BENCH="--question=cold_drain --engine=postgresql" chooses; build/product/bin/bench --help says what there is.
bench bench-full bench-storage bench-ordering:
	@tools/install_packages.sh build bench
	cmake --preset product
	cmake --build --preset product -j $(JOBS) --target $(subst -,_,$(@:-full=))
	build/product/bin/$(subst -,_,$(@:-full=)) $(BENCH) \
		$(if $(filter bench-full,$@),--full --page=docs/evidence/performance.md)

# The same program, with what others use instead; writes docs/evidence/peers.md.
bench-peers bench-peers-full:
	@tools/install_packages.sh build bench peers
	@tools/npm_packages.sh bench/peers build/peers --programs
	cmake --preset product
	cmake --build --preset product -j $(JOBS) --target bench
	build/product/bin/bench --peers=build/peers --output=build/bench-peers --page=docs/evidence/peers.md \
		$(if $(filter %-full,$@),--full) $(BENCH)

# An input that breaks a target is left in tests/fuzz/regressions, and every build repeats it from then on.
FUZZ_SECONDS ?= 300
fuzz: packages
	cmake --preset fuzz
	cmake --build --preset fuzz -j $(JOBS) --target fuzz_targets
	POSTROOM_FUZZ_SECONDS=$(FUZZ_SECONDS) ctest --preset fuzz

reliability: release
	cmake --preset fuzz
	cmake --build --preset fuzz -j $(JOBS) --target fuzz_targets
	tools/reliability_report.py

# MUTANTS="--only postgres --limit 3" chooses.
mutants: packages
	tests/mutants/run.py --report docs/evidence/mutants.md $(MUTANTS)

format:
	@tools/format.sh

lint: packages
	@tools/lint.sh

clean:
	rm -rf build
