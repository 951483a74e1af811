# Every target that needs OCaml goes through tools/setup, which installs what is missing
# (see its first lines for how) and then runs the command that follows it.

SETUP = tools/setup
RUN = $(SETUP) dune exec
PREFIX = /usr/local

help:
	@echo 'make demo     the main job: what every Debian package pulls in, in parallel'
	@echo 'make test     build and run every test; the last line counts them'
	@echo 'make bench    measure against Domainslib and the sequential programs'
	@echo 'make doc      guide, limits and interfaces as web pages'
	@echo 'make install  install the library and the command under PREFIX=$(PREFIX)'
	@echo 'make help-dev shows the other targets.'

help-dev: help
	@echo
	@echo 'make why            does muster why find each planted problem, five times? (minutes)'
	@echo 'make bench-never    whether a program with Muster is ever slower than without'
	@echo 'make bench-service  jobs of a service beside Eio'"'"'s Executor_pool, and the solver service'
	@echo 'make bench-sync     locks beside the stdlib'"'"'s'
	@echo 'make bench-scaling  times faster than the sequential program on 1, 2, 4 ... workers'
	@echo 'make bench-collections  arrays and the like beside the stdlib'"'"'s'
	@echo 'make bench-ported   programs of Domainslib on muster.domainslib and on Domainslib'
	@echo 'make bench-mpi      ranks of MPI beside domains, and beside MPI in C'
	@echo 'make bench-rivals   fork-join and loops beside rayon, chili, Fork Union and OpenMP'
	@echo 'make stress         random task graphs for $(SECONDS) seconds (SECONDS=n), then random'
	@echo '                    programs against models, $(ROUNDS) times those of make test (ROUNDS=n)'
	@echo 'make soak           random graphs beside busy processes, with signals, faults; memory flat; an hour'
	@echo 'make soak-jobs      jobs of Workers that raise, are cancelled and drained; ten minutes'
	@echo 'make faults         the long forms of what can go wrong: 10,000 pools, 10^7 tasks'
	@echo 'make test-report    the report of muster why in Chromium, with a million events (may install it)'
	@echo 'make model          the model checker on the core as it ships, channels and locks (minutes)'
	@echo 'make litmus         each litmus test of the order of reads and writes a million times (ROUNDS=n)'
	@echo 'make coverage       how much of src/ the tests reach (installs bisect_ppx)'
	@echo 'make tsan           races under ThreadSanitizer (builds an OCaml for it, once)'
	@echo 'make all            build everything'
	@echo 'make uninstall      remove what make install has put under PREFIX=$(PREFIX)'
	@echo 'make fmt            format the sources (needs ocamlformat)'
	@echo 'make setup          only install the tools that are missing'
	@echo 'make clean          remove what was built'
	@echo 'ARGS="..." is handed to demo, stress, soak and all of bench.'

setup:
	@$(SETUP)

all:
	@$(SETUP) dune build

test:
	@$(SETUP) tools/test

demo:
	@$(RUN) examples/closure/main.exe -- $(ARGS)

# A full run draws the README's picture; one with ARGS is for looking.
PICTURE = $(if $(ARGS),,--svg doc/bench.svg)

bench:
	@$(RUN) bench/main.exe -- $(PICTURE) $(ARGS)

why:
	@$(SETUP) dune build ./test/why
	@cd _build/default/test/why && ./corpus.exe $(ARGS)

bench-collections:
	@$(RUN) bench/collections/main.exe -- $(ARGS)

bench-never:
	@$(RUN) bench/never/main.exe -- $(ARGS)

bench-scaling:
	@$(RUN) bench/scaling/main.exe -- $(ARGS)

# Debian has wrk; elsewhere it has to be there.
bench-service:
	@command -v wrk >/dev/null || apt-get install -y --no-install-recommends wrk
	@$(RUN) bench/service/main.exe -- $(ARGS)
	@$(SETUP) dune build ./examples/solver_service/main.exe
	@$(RUN) bench/solver/main.exe -- $(ARGS)

bench-sync:
	@$(RUN) bench/sync/main.exe -- $(ARGS)

bench-ported:
	@$(RUN) bench/ported/main.exe -- $(ARGS)

bench-mpi:
	@$(RUN) bench/mpi/main.exe -- $(ARGS)

bench-rivals:
	@$(SETUP) bench/rivals/run $(PICTURE) $(ARGS)

SECONDS = 180
ROUNDS = 10
MODELS = test_stm_core test_stm_chan test_stm_locks test_stm_pool test_lin
stress:
	@$(RUN) test/stress/stress.exe -- --seconds $(SECONDS) $(ARGS)
	@MUSTER_ROUNDS=$(ROUNDS) MUSTER_TEST_TIMEOUT=3600 $(SETUP) tools/test $(MODELS)

soak: SECONDS = 3600
soak:
	@MUSTER_GOVERNOR=$${MUSTER_GOVERNOR:-random} $(RUN) test/stress/stress.exe -- --soak --seconds $(SECONDS) $(ARGS)

soak-jobs: SECONDS = 600
soak-jobs:
	@$(RUN) test/stress/test_jobs.exe -- --seconds $(SECONDS)

faults:
	@$(SETUP) dune build ./test/faults ./test/child
	@$(RUN) test/faults/test_faults.exe -- --full
	@$(RUN) test/faults/test_reentry.exe -- --full

# Chromium is of Debian's; elsewhere it has to be there.
test-report:
	@command -v chromium >/dev/null || apt-get install -y --no-install-recommends chromium
	@$(SETUP) dune build ./cli/main.exe ./examples/fib.exe ./test/report/test_report.exe
	@cd _build/default/test/report && ./test_report.exe --full

model:
	@$(RUN) test/model/test_model.exe -- --full $(ARGS)

LITMUS = litmus litmus_chan litmus_loops litmus_sync litmus_tasks
litmus: ROUNDS = 1000000
litmus:
	@$(SETUP) dune build ./test/litmus
	@failed=0; for it in $(LITMUS); do \
	  MUSTER_LEAST_ROUNDS=$(ROUNDS) _build/default/test/litmus/test_$$it.exe || failed=1; done; exit $$failed

coverage:
	@$(SETUP) --coverage tools/coverage $(ARGS)

tsan:
	@$(SETUP) tools/tsan

fmt:
	@$(SETUP) dune build @fmt --auto-promote

doc:
	@$(SETUP) --doc dune build @doc
	@echo 'The pages start at _build/default/_doc/_html/muster/index.html'

install:
	@$(SETUP) --install dune build --profile release @install
	@$(SETUP) --install tools/install "$(PREFIX)"

uninstall:
	@$(SETUP) --install dune build --profile release @install
	@$(SETUP) --install tools/install --undo "$(PREFIX)"

clean:
	rm -rf _build bench/rivals/target

.PHONY: help help-dev setup all test why demo bench bench-mpi bench-never bench-ported bench-scaling bench-service bench-sync bench-collections bench-rivals stress soak soak-jobs faults test-report model litmus coverage tsan fmt doc install uninstall clean
