# `make` alone lists all targets.

# Tools are pinned here and run from the module cache, so that the module and its
# users do not require them.
GOFUMPT     := go run mvdan.cc/gofumpt@v0.12.0
STATICCHECK := go run honnef.co/go/tools/cmd/staticcheck@v0.8.2
MISSPELL    := go run github.com/golangci/misspell/cmd/misspell@v0.8.0
TEMPL       := go run github.com/a-h/templ/cmd/templ@v0.3.977
VULNCHECK   := golang.org/x/vuln/cmd/govulncheck@v1.9.0
NFPM        := go run github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.0
CYCLONEDX   := go run github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0

# The root module, e2e and bench.
MODULES := $(patsubst %/go.mod,%,$(wildcard ./go.mod e2e/go.mod bench/go.mod))

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null)
COMMIT  := $(shell git rev-parse HEAD 2>/dev/null)
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)

# Tests spend a third of their time waiting for servers, so three packages run on two processors.
together := -p $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) * 3 / 2)))

# The packages with the slowest tests come first, so that none of them runs alone at the end.
first := ./cmd/retwis ./internal/web ./internal/app ./internal/social/removal ./internal/social/media ./internal/social/modeltest \
	./internal/social/posts ./model ./index/text ./index/suggest ./redlock ./bulk ./internal/redis/store
tests := REDISTEST_REQUIRE=1 RAPID_CHECKS=$(or $(CHECKS),30) go test -vet=off -timeout 30m $(together) $(TESTFLAGS)

# With the race detector, a program sleeps for a second before it exits, and the tests
# run many programs. None of them has goroutines that could race at exit.
export GORACE ?= atexit_sleep_ms=10

# Lets clones of the repository share the build cache.
export GOFLAGS += -trimpath

.PHONY: capacity help run test test-race test-programs test-long mutants stress test-servers test-deb e2e screenshots pictures lint bench attack cluster-lab generate build dist rename-module clean

help:
	@echo 'make TARGET, where TARGET is'
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { sub(/:.*/, "", $$1); printf "  %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Does not use "go run", which reports Ctrl-C as a failure.
run: ## serve Retwis with a small sample network; ARGS='--addr :9000' adds flags
	@scripts/deps
	@[ -e bin/retwis ] || echo 'make: building bin/retwis; the first time this takes a minute or two' >&2
	@$(MAKE) -s build
	@bin/retwis serve --demo $(ARGS)

test: ## run the tests of every package on real servers; needs Go and a Redis or Valkey server; CHECKS=100 for more random cases
	@scripts/deps server
	$(tests) $(first) ./...

# The packages whose goroutines share memory.
sharing := ./redlock/... ./bulk/... ./collection ./ratelimit ./internal/watched ./internal/certificates ./internal/logfile \
	./internal/maintain ./internal/redis/store ./internal/redis/nodes ./internal/web/httpserver ./internal/web/request \
	$(addprefix ./internal/social/,auth live notify posts storage timeline work)

test-race: ## run the tests of packages whose goroutines share memory with the race detector; needs a C compiler
	@scripts/deps server
	$(tests) -race $(sharing)

test-programs: ## run the tests that use nginx, caddy, curl and sqlite3, and those of bench
	@scripts/deps server curl sqlite3 nginx caddy
	$(tests) -tags programs -run '^(TestProxyExamples|TestDocuments|TestImport)$$' ./cmd/retwis ./internal/outside
	cd bench && $(tests) ./...

test-long: ## run all tests with all cases, e2e, fuzz tests and planted faults; FUZZTIME=30s, RACE=1
	@scripts/deps server curl sqlite3 nginx caddy chromium npm
	REDISTEST_REQUIRE=1 RAPID_CHECKS=$(or $(CHECKS),1000) go test -tags 'long programs' $(if $(RACE),-race) -count=1 -timeout 60m $(TESTFLAGS) ./...
	cd bench && REDISTEST_REQUIRE=1 go test -tags long -count=1 -timeout 60m $(TESTFLAGS) ./...
	$(MAKE) e2e TESTFLAGS='-tags long -timeout 60m $(TESTFLAGS)'
	@scripts/fuzz $(or $(FUZZTIME),30s)
	scripts/mutants

mutants: ## plant faults in the code, one at a time, and check that make test detects each; ONLY=NAME for one
	@scripts/deps server
	scripts/mutants $(if $(ONLY),--only '$(ONLY)')

stress: ## run the tests repeatedly on a busy machine for MINUTES=120; PACKAGES='...' for some of them
	@scripts/deps server curl sqlite3 nginx caddy
	@RACE='$(RACE)' TESTFLAGS='$(TESTFLAGS)' scripts/stress '$(or $(MINUTES),120)' $(PACKAGES)

# A directory with a subdirectory for each server to test on.
SERVERS ?= ../shared/servers

test-servers: ## run the tests on every server below SERVERS=DIRECTORY; ONLY='NAME...' and PACKAGES='...' for some of them
	@scripts/deps server curl sqlite3 nginx caddy
	ONLY='$(ONLY)' TESTFLAGS='$(together) $(TESTFLAGS)' scripts/test-servers '$(SERVERS)' $(PACKAGES)

e2e: e2e/node_modules/.package-lock.json ## run the browser tests; installs Chromium if it is missing
	@scripts/deps server chromium
	cd e2e && REDISTEST_REQUIRE=1 go test -count=1 -vet=off -timeout 60m $(TESTFLAGS) ./...

screenshots: e2e/node_modules/.package-lock.json ## retake the screenshots in docs/
	@scripts/deps server chromium
	cd e2e && SCREENSHOTS=../docs go test -tags long -count=1 -timeout 60m -run TestStates .

pictures: e2e/node_modules/.package-lock.json ## write pictures of every page and state in eight looks to e2e/pictures
	@scripts/deps server chromium
	mkdir -p e2e/pictures && cd e2e && PICTURES=pictures go test -tags long -count=1 -timeout 60m -run TestStates .

# npm writes this file last.
e2e/node_modules/.package-lock.json: e2e/package-lock.json
	@scripts/deps npm
	cd e2e && npm ci --no-audit --no-fund
	@touch $@

lint: ## check with gofumpt, misspell, go vet, staticcheck and govulncheck; check that go.mod and generated code are up to date
	@for script in scripts/* deploy/deb/p*; do sh -n "$$script" || exit 1; done; bash -n .ci/run
	@unformatted=$$($(GOFUMPT) -l .) || exit 1; [ -z "$$unformatted" ] || \
		{ printf 'make: not formatted; run gofumpt on:\n%s\n' "$$unformatted" >&2; exit 1; }
	@scripts/texts | xargs $(MISSPELL) -error
	@set -e; for module in $(MODULES); do \
		echo "go vet and staticcheck in $$module"; \
		(cd "$$module" && go vet -tags 'long programs' ./... && $(STATICCHECK) -tags 'long programs' ./...); \
		(cd "$$module" && go mod tidy -diff) || \
			{ echo "make: run go mod tidy in $$module" >&2; exit 1; }; \
	done
	@scripts/vulnerabilities $(VULNCHECK)
	@before=$$(scripts/generated); $(MAKE) -s generate && [ "$$before" = "$$(scripts/generated)" ] || \
		{ echo 'make: generated code was out of date and has been regenerated: commit it' >&2; exit 1; }

capacity: ## estimate what sites with 1, 10 and 100 million users need; writes docs/scaling.md
	cd bench && go run ./capacity --write ../docs/scaling.md

bench: ## run the benchmarks and write docs/benchmarks.md; ARGS='--only locks' for one part
	@scripts/deps
	cd bench && CGO_ENABLED=0 go run . $(ARGS)

attack: build ## attack a test site and write docs/attacks.md; fails if an attack succeeds
	@scripts/deps server
	cd bench && go run ./attack --retwis ../bin/retwis --out ../docs/attacks.md

cluster-lab: build ## inject faults into a Cluster and its web processes under load, and check consistency; ARGS='--for 30m --seed 7'
	@scripts/deps server
	cd bench && go run ./lab --retwis ../bin/retwis $(ARGS)

generate: ## generate *_templ.go from *.templ
	$(TEMPL) generate -log-level error

build: ## build bin/retwis
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/retwis ./cmd/retwis

dist: ## build a release in dist/: archives, Debian packages, SBOM, checksums
	@VERSION='$(VERSION)' LDFLAGS='$(LDFLAGS)' NFPM='$(NFPM)' CYCLONEDX='$(CYCLONEDX)' scripts/dist

test-deb: ## install the Debian package from dist/ on this machine, serve pages, and remove it; needs Debian and root
	@scripts/test-deb

rename-module: ## change the module path: MODULE=github.com/you/retwis
	@scripts/rename-module '$(MODULE)'

clean: ## remove bin/ and dist/
	rm -rf bin dist
