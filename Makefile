# Everything by one command each. `make run` and `make test` need nothing but a Rust toolchain and git; what
# the tests need beside that is installed where that is allowed.

CARGO ?= cargo
# The C library is linked into the program, where there is an archive of it: it runs wherever it is copied to, and none
# has to be found when it starts. Only what is built for a target by name can be so, since what runs during the build
# loads libraries.
CARGO_BUILD_TARGET ?= $(shell rustc --print host-tuple 2>/dev/null)
export CARGO_BUILD_TARGET
ifneq ($(filter /%,$(shell $(or $(CC),cc) -print-file-name=libc.a 2>/dev/null)),)
RUSTFLAGS ?= -Ctarget-feature=+crt-static
export RUSTFLAGS
endif
# Where cargo puts what it builds for that.
BUILT = $(or $(CARGO_TARGET_DIR),target)/$(CARGO_BUILD_TARGET)
# What is installed, and below which folder; packages are made in another, DESTDIR.
PROGRAM ?= target/release/vigil
PREFIX ?= /usr/local
export DESTDIR PREFIX
# How much the long testers do.
COMPARISONS ?= 100000
FUZZ_SECONDS ?= 600
MINUTES ?= 90

.PHONY: run build install uninstall lint test test-tools test-plugins test-repositories test-git test-git-fsmonitor test-hg test-hg-real random random-daemon random-fsmonitor kills-fsmonitor soak random-objects fuzz bench docs

# The status of the repository this stands in.
run: build
	target/release/vigil status

build:
	$(CARGO) build --release --locked -p vigil
	install -D $(BUILT)/release/vigil target/release/vigil

# The program, completions, manual pages and units; cargo is not needed once it is built.
install: $(PROGRAM)
	contrib/install "$(PROGRAM)"

uninstall:
	contrib/install --uninstall

target/release/vigil:
	$(MAKE) build

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

# git's own test scripts of monitors, with vigil in the place of its builtin one.
test-git-fsmonitor: build
	tests/git/run --fsmonitor "$(GIT_SOURCE)" $(SCRIPTS)

# Mercurial's own test scripts, with vigil as its `status`; from an unpacked release of Mercurial, and the program of that:
#   make test-hg HG_SOURCE=/path/to/mercurial-7.2.4 HG_PROGRAM=/path/to/hg SCRIPTS="test-status.t test-status-rev.t"
test-hg: build
	tests/hg/run --hg "$(or $(HG_PROGRAM),hg)" "$(HG_SOURCE)" $(SCRIPTS)

# Real repositories of Mercurial's, cloned, with random updates and edits:
#   make test-hg-real REPOSITORIES="/path/one /path/two" UPDATES=1000
test-hg-real: build
	tests/hg/real --hg "$(or $(HG_PROGRAM),hg)" --updates $(or $(UPDATES),100) $(REPOSITORIES)

# Random operations with git as the client of the monitor, against git without one; WAY is hook or socket.
random-fsmonitor: build
	$(CARGO) run --release --locked -p vigil-testkit --bin random-tester -- \
		--vigil target/release/vigil --mode fsmonitor --monitor $(or $(WAY),hook) --comparisons $(COMPARISONS)

# Random operations, each step compared with every git that is installed.
random: build
	$(CARGO) run --release --locked -p vigil-testkit --bin random-tester -- \
		--vigil target/release/vigil --comparisons $(COMPARISONS)

# The same asked at once after each operation through a daemon, as a command and as a shell does.
random-daemon: build
	for mode in status gitstatusd; do \
		$(CARGO) run --release --locked -p vigil-testkit --bin random-tester -- \
			--vigil target/release/vigil --daemon --mode $$mode --comparisons $(COMPARISONS) || exit; \
	done

# Many clients at once, for long, of a daemon that is killed, halted, replaced and flooded; its memory, too.
soak: build
	$(CARGO) run --release --locked -p vigil-testkit --bin soak -- --vigil target/release/vigil --minutes $(MINUTES)

# The daemon is killed COUNT times while git asks it, by a hook, and by its socket with a git that has a monitor of its own
# (GIT_NEWEST); each time what git says is compared.
kills-fsmonitor: build
	$(CARGO) run --release --locked -p vigil-testkit --bin kills -- \
		--vigil target/release/vigil --way hook --count $(or $(COUNT),1000)
	[ -z "$(GIT_NEWEST)" ] || $(CARGO) run --release --locked -p vigil-testkit --bin kills -- \
		--vigil target/release/vigil --git "$(GIT_NEWEST)" --way socket --count $(or $(COUNT),1000)

# Sound and damaged repositories of all shapes, each question about objects compared with git's answer (2.55 or newer).
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

docs:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps
