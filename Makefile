# One command for each task. `make run` and `make test` need only a Rust toolchain and git; other tools that the
# tests need are installed if that is allowed.

CARGO ?= cargo
# The C library is linked statically if its archive is installed: the program then runs wherever it is copied, and no
# library has to be found when it starts. This works only for a target given by name: the flag must not apply to what
# runs during the build, which loads libraries. For processors other than x86-64, rustc would link such a program to run at a
# fixed address, which is easier to attack.
CARGO_BUILD_TARGET ?= $(shell rustc --print host-tuple 2>/dev/null)
export CARGO_BUILD_TARGET
ifneq ($(and $(filter x86_64-%,$(CARGO_BUILD_TARGET)),$(filter /%,$(shell $(or $(CC),cc) -print-file-name=libc.a 2>/dev/null))),)
RUSTFLAGS ?= -Ctarget-feature=+crt-static
endif
# The program does not name the folder that cargo downloads to, so that the same sources give the same program anywhere.
# A name with a space cannot be passed on, and stays.
DOWNLOADS = $(or $(CARGO_HOME),$(HOME)/.cargo)
UNNAMED = $(if $(word 2,$(DOWNLOADS)),,--remap-path-prefix=$(DOWNLOADS)/=)
RUSTFLAGS := $(strip $(filter-out $(UNNAMED),$(RUSTFLAGS)) $(UNNAMED))
export RUSTFLAGS
# Where cargo puts what it builds for that target.
BUILT = $(or $(CARGO_TARGET_DIR),target)/$(CARGO_BUILD_TARGET)
# The program to install, and the folder to install below; to make packages, DESTDIR is put before that.
PROGRAM ?= target/release/vigil
PREFIX ?= /usr/local
# Where zsh looks for completions, below PREFIX; Debian's own packages use share/zsh/vendor-completions.
ZSH_COMPLETIONS ?= share/zsh/site-functions
export DESTDIR PREFIX ZSH_COMPLETIONS
# How much work the long-running testers do.
COMPARISONS ?= 100000
FUZZ_SECONDS ?= 600
MINUTES ?= 90

# So that `make && make install` works where there is no repository whose status could be shown.
.DEFAULT_GOAL := build
.PHONY: run build install uninstall lint test test-tools test-plugins test-repositories test-git test-git-fsmonitor test-git-hook test-hg test-hg-real random random-daemon random-fsmonitor kills-fsmonitor soak random-objects fuzz bench docs

# Prints the status of this repository, by a program that is built quickly: it is not optimized.
run:
	$(CARGO) build --locked -p vigil
	$(BUILT)/debug/vigil status

build:
	$(CARGO) build --release --locked -p vigil
	install -D $(BUILT)/release/vigil target/release/vigil
	-@$(MAKE) -s --no-print-directory target/release/third-party-licences.txt

# The licences of the crates in the program. Where cargo cannot list them, the program is built all the same.
target/release/third-party-licences.txt: Cargo.lock contrib/licences
	mkdir -p $(@D)
	CARGO="$(CARGO)" contrib/licences >$@.new
	mv $@.new $@

# Installs the program, completions, manual pages, systemd units and licences. Needs no cargo once the program is built.
install: $(PROGRAM)
	contrib/install "$(PROGRAM)"

uninstall:
	contrib/install --uninstall

target/release/vigil:
	$(MAKE) build

# Tests of the daemon and of shells wait half of the time.
test: export RUST_TEST_THREADS ?= $(shell echo $$((2 * $$(nproc))))
test: test-tools
	$(CARGO) build --locked -p vigil
	$(CARGO) test --locked --workspace

# The shells and tools that end-to-end tests drive.
test-tools:
	sh tests/install-tools

# The unmodified gitstatus plugin and Powerlevel10k, from checkouts:
#   make test-plugins GITSTATUS_DIR=/path/to/gitstatus POWERLEVEL10K_DIR=/path/to/powerlevel10k
test-plugins: build
	sh tests/plugins/run "$(GITSTATUS_DIR)" "$(POWERLEVEL10K_DIR)"

# Real repositories, cloned, clean and edited:  make test-repositories REPOSITORIES="/path/one /path/two"
test-repositories: build
	tests/repositories/run target/release/vigil git $(REPOSITORIES)

# git's own test scripts, with vigil as its `status`, `cat-file` and `describe`; from a built source tree of git:
#   make test-git GIT_SOURCE=/path/to/git SCRIPTS="t7508-status.sh t7064-wtstatus-pv2.sh"
test-git: build
	tests/git/run "$(GIT_SOURCE)" $(SCRIPTS)

# git's own test scripts for file system monitors, with vigil in place of git's builtin one.
test-git-fsmonitor: build
	tests/git/run --fsmonitor "$(GIT_SOURCE)" $(SCRIPTS)

# All of git's own test scripts, with vigil as the monitor of every git.
test-git-hook: build
	tests/git/run --hook "$(GIT_SOURCE)" $(SCRIPTS)

# Mercurial's own test scripts, with vigil as its `status`; from an unpacked release of Mercurial, with that release's program:
#   make test-hg HG_SOURCE=/path/to/mercurial-7.2.4 HG_PROGRAM=/path/to/hg SCRIPTS="test-status.t test-status-rev.t"
test-hg: build
	tests/hg/run --hg "$(or $(HG_PROGRAM),hg)" "$(HG_SOURCE)" $(SCRIPTS)

# Real Mercurial repositories, cloned, with random updates and edits:
#   make test-hg-real REPOSITORIES="/path/one /path/two" UPDATES=1000
test-hg-real: build
	tests/hg/real --hg "$(or $(HG_PROGRAM),hg)" --updates $(or $(UPDATES),100) $(REPOSITORIES)

# Random operations with git as the client of the monitor, compared with git without one; WAY is hook or socket.
random-fsmonitor: build
	$(CARGO) run --release --locked -p vigil-testkit --bin random-tester -- \
		--vigil target/release/vigil --mode fsmonitor --monitor $(or $(WAY),hook) --comparisons $(COMPARISONS)

# Random operations; after each step, answers are compared with those of the installed git.
random: build
	$(CARGO) run --release --locked -p vigil-testkit --bin random-tester -- \
		--vigil target/release/vigil --comparisons $(COMPARISONS)

# The same through a daemon, which is asked right after each operation, as a command asks and as a shell does.
random-daemon: build
	for mode in status gitstatusd; do \
		$(CARGO) run --release --locked -p vigil-testkit --bin random-tester -- \
			--vigil target/release/vigil --daemon --mode $$mode --comparisons $(COMPARISONS) || exit; \
	done

# Many clients at once, for a long time, of a daemon that is killed, halted, replaced and flooded; its memory is checked, too.
soak: build
	$(CARGO) run --release --locked -p vigil-testkit --bin soak -- --vigil target/release/vigil --minutes $(MINUTES)

# Kills the daemon COUNT times while git asks it through a hook, and as often through the daemon's socket with a git that has a
# builtin monitor (GIT_NEWEST). Each time, git's output is compared.
kills-fsmonitor: build
	$(CARGO) run --release --locked -p vigil-testkit --bin kills -- \
		--vigil target/release/vigil --way hook --count $(or $(COUNT),1000)
	[ -z "$(GIT_NEWEST)" ] || $(CARGO) run --release --locked -p vigil-testkit --bin kills -- \
		--vigil target/release/vigil --git "$(GIT_NEWEST)" --way socket --count $(or $(COUNT),1000)

# Sound and damaged repositories of all shapes: each answer about objects is compared with git's (2.55 or newer).
random-objects: build
	$(CARGO) run --release --locked -p vigil-testkit --bin object-tester -- \
		--vigil target/release/vigil --ids-only --cases $(COMPARISONS)

# Each fuzz target in turn (needs a nightly toolchain and cargo-fuzz).
fuzz:
	sh fuzz/run $(FUZZ_SECONDS)

bench: build
	$(CARGO) run --release --locked -p vigil-bench -- all

lint: test-tools
	sh tests/lint-scripts
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	$(CARGO) clippy --locked --manifest-path fuzz/Cargo.toml --target-dir target --all-targets -- -D warnings

docs:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps
