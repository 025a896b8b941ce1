# `make` alone lists all targets.

# Tools are pinned here and run from the module cache, so that they are not
# requirements of the module and its users.
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

# Tests wait for servers a third of their time, so three packages run on two processors.
together := -p $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) * 3 / 2)))

# The packages whose tests take longest come first, so that none of them runs alone in the end.
first := ./cmd/retwis ./internal/web ./internal/app ./internal/social/removal ./internal/social/media ./internal/social/modeltest \
	./internal/social/posts ./model ./index/text ./index/suggest ./redlock ./bulk ./internal/redis/store
tests := REDISTEST_REQUIRE=1 RAPID_CHECKS=$(or $(CHECKS),30) go test -vet=off -timeout 30m $(together) $(TESTFLAGS)

# Programs with the race detector sleep for a second before they exit, and the
# tests run many. None of them leaves goroutines that could race then.
export GORACE ?= atexit_sleep_ms=10

# What was compiled in one clone need not be compiled again in another.
export GOFLAGS += -trimpath

.PHONY: capacity help run test test-race test-programs test-long mutants stress test-servers test-deb e2e screenshots pictures lint bench attack cluster-lab generate build dist rename-module clean

help:
	@echo 'make TARGET, where TARGET is'
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { sub(/:.*/, "", $$1); printf "  %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Not by "go run", which reports Ctrl-C as a failure.
run: ## serve Retwis with a small sample network; ARGS='--addr :9000' adds flags
	@scripts/deps
	@[ -e bin/retwis ] || echo 'make: building bin/retwis; the first time this takes a minute or two' >&2
	@$(MAKE) -s build
	@bin/retwis serve --demo $(ARGS)

test: ## run the tests of every package on real servers; needs Go and a Redis or Valkey server. CHECKS=100 more random cases
	@scripts/deps server
	$(tests) $(first) ./...

# Packages whose goroutines share memory.
sharing := ./redlock/... ./bulk/... ./collection ./ratelimit ./internal/watched ./internal/certificates ./internal/logfile \
	./internal/maintain ./internal/redis/store ./internal/redis/nodes ./internal/web/httpserver ./internal/web/request \
	$(addprefix ./internal/social/,auth live notify posts storage timeline work)

test-race: ## run them with the race detector, which needs a C compiler, in the packages whose goroutines share memory
	@scripts/deps server
	$(tests) -race $(sharing)

test-programs: ## run the tests that drive other programs: nginx, caddy, curl, sqlite3; and those of bench
	@scripts/deps server curl sqlite3 nginx caddy
	$(tests) -tags programs -run '^(TestProxyExamples|TestDocuments|TestImport)$$' ./cmd/retwis ./internal/outside
	cd bench && $(tests) ./...

test-long: ## run everything: all cases, kills at every step, sizes; fuzz tests, planted faults. FUZZTIME=30s, RACE=1
	@scripts/deps server curl sqlite3 nginx caddy chromium npm
	REDISTEST_REQUIRE=1 RAPID_CHECKS=$(or $(CHECKS),1000) go test -tags 'long programs' $(if $(RACE),-race) -count=1 -timeout 60m $(TESTFLAGS) ./...
	cd bench && REDISTEST_REQUIRE=1 go test -tags long -count=1 -timeout 60m $(TESTFLAGS) ./...
	$(MAKE) e2e TESTFLAGS='-tags long -timeout 60m $(TESTFLAGS)'
	@scripts/fuzz $(or $(FUZZTIME),30s)
	scripts/mutants

mutants: ## plant faults in the code one at a time, and see that make test finds each; ONLY=NAME for one
	@scripts/deps server
	scripts/mutants $(if $(ONLY),--only '$(ONLY)')

stress: ## run the tests again and again beside a loop on each processor, MINUTES=120; PACKAGES='...' for a part
	@scripts/deps server curl sqlite3 nginx caddy
	@RACE='$(RACE)' TESTFLAGS='$(TESTFLAGS)' scripts/stress '$(or $(MINUTES),120)' $(PACKAGES)

# A directory that has a directory for each server to test on.
SERVERS ?= ../shared/servers

test-servers: ## run the tests on every server below SERVERS=DIRECTORY; ONLY='NAME...' and PACKAGES='...' for a part
	@scripts/deps server curl sqlite3 nginx caddy
	ONLY='$(ONLY)' TESTFLAGS='$(together) $(TESTFLAGS)' scripts/test-servers '$(SERVERS)' $(PACKAGES)

e2e: e2e/node_modules/.package-lock.json ## run the browser tests; installs Chromium if there is none
	@scripts/deps server chromium
	cd e2e && REDISTEST_REQUIRE=1 go test -count=1 -vet=off -timeout 60m $(TESTFLAGS) ./...

screenshots: e2e/node_modules/.package-lock.json ## take the screenshots in docs/ again
	@scripts/deps server chromium
	cd e2e && SCREENSHOTS=../docs go test -tags long -count=1 -timeout 60m -run TestStates .

pictures: e2e/node_modules/.package-lock.json ## take pictures of every page and state in eight looks, in e2e/pictures
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
		{ echo 'make: generated code was older than its source; it is up to date now: commit it' >&2; exit 1; }

capacity: ## compute what sites of 1, 10 and 100 million users need; writes docs/scaling.md
	cd bench && go run ./capacity --write ../docs/scaling.md

bench: ## run the benchmarks and write docs/benchmarks.md; ARGS='--only locks' for a part
	@scripts/deps
	cd bench && CGO_ENABLED=0 go run . $(ARGS)

attack: build ## attack a separate site, and write docs/attacks.md; fails if an attack succeeds
	@scripts/deps server
	cd bench && go run ./attack --retwis ../bin/retwis --out ../docs/attacks.md

cluster-lab: build ## break a Cluster and its web processes under load, and check what people see; ARGS='--for 30m --seed 7'
	@scripts/deps server
	cd bench && go run ./lab --retwis ../bin/retwis $(ARGS)

generate: ## compile the pages: *.templ to *_templ.go
	$(TEMPL) generate -log-level error

build: ## build bin/retwis
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/retwis ./cmd/retwis

dist: ## build a release in dist/: archives, Debian packages, SBOM, checksums
	@VERSION='$(VERSION)' LDFLAGS='$(LDFLAGS)' NFPM='$(NFPM)' CYCLONEDX='$(CYCLONEDX)' scripts/dist

test-deb: ## install the package of dist/ on this machine (Debian, root), serve pages, and remove it
	@scripts/test-deb

rename-module: ## give the module another path: MODULE=github.com/you/retwis
	@scripts/rename-module '$(MODULE)'

clean: ## remove bin/ and dist/
	rm -rf bin dist
