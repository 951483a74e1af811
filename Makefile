# Every target that needs OCaml goes through tools/setup, which installs what is missing
# (see its first lines for how) and then runs the command that follows it.

SETUP = tools/setup
RUN = $(SETUP) dune exec --profile release
PREFIX = /usr/local

help:
	@echo 'make demo           the main job: what every Debian package pulls in, in parallel'
	@echo 'make test           build and run every test; the last line counts them'
	@echo 'make bench          measure against Domainslib and the sequential programs'
	@echo 'make bench-never    whether a program with Muster is ever slower than without'
	@echo 'make bench-rivals   the same against rayon, chili, fork_union and OpenMP'
	@echo 'make stress         random task graphs for $(SECONDS) seconds (SECONDS=n)'
	@echo 'make faults         the long forms of what can go wrong: 10,000 pools, 10^7 tasks'
	@echo 'make model          the model checker on deque, parking and promises'
	@echo 'make tsan           the tests under ThreadSanitizer (needs an OCaml built with it)'
	@echo 'make all            build everything'
	@echo 'make doc            the interfaces as HTML (needs odoc)'
	@echo 'make fmt            format the sources (needs ocamlformat)'
	@echo 'make install        install the library and the command under PREFIX=$(PREFIX)'
	@echo 'make setup          only install the tools that are missing'
	@echo 'make clean          remove what was built'
	@echo 'ARGS="..." is handed to demo, bench, bench-never, bench-rivals and stress.'

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

bench-never:
	@$(RUN) bench/never/main.exe -- $(ARGS)

bench-rivals:
	@$(SETUP) bench/rivals/run $(PICTURE) $(ARGS)

SECONDS = 180
stress:
	@$(RUN) test/stress/stress.exe -- --seconds $(SECONDS) $(ARGS)

faults:
	@$(RUN) test/faults/test_faults.exe -- --full
	@$(RUN) test/faults/test_reentry.exe -- --full

model:
	@$(SETUP) dune build @model

tsan:
	@$(SETUP) tools/tsan

fmt:
	@$(SETUP) dune build @fmt --auto-promote

doc:
	@$(SETUP) dune build @doc
	@echo 'The pages start at _build/default/_doc/_html/index.html'

install:
	@$(SETUP) dune build --profile release @install
	@$(SETUP) dune install --profile release --prefix $(PREFIX)

clean:
	rm -rf _build bench/rivals/target

.PHONY: help setup all test demo bench bench-never bench-rivals stress faults model tsan fmt doc install clean
