# Everything a developer does. `make run` and `make test` need Go and make, nothing else.
GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS := -s -w -X siteapi/cmd/siteapi/internal/app.version=$(VERSION)
BINARY  := bin/siteapi

.DEFAULT_GOAL := help
.PHONY: help run demo chaos fuzz test test-race build reproducible release generate lint sdl pages types browser-test clients audit breaking openapi-lint studio snippets bench clean

help: ## list what can be done
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

run: build ## start the service on embedded defaults, at http://localhost:8080
	ENVIRONMENT=development bin/siteapi

demo: build ## play visitors in three languages, an editor and an operator against a fresh service
	$(GO) run ./cmd/demo -binary bin/siteapi

chaos: build ## kill it, fill its disk, stop its servers, attack and flood it, fail the stream of its CMS, and count what was lost; SHORT=1 for a minute, ONLY="kills attacks"
	$(GO) run ./cmd/chaos -binary bin/siteapi $(if $(SHORT),-short) $(ONLY)

fuzz: ## run every fuzz target, one after the other, for FUZZTIME=60s each
	@for file in $$(grep -rlE '^func Fuzz' --include='*_test.go' .); do for target in $$(grep -oE '^func Fuzz\w+' $$file | cut -c6-); do \
	echo "$$target in $$file"; $(GO) test -run xxx -fuzz "^$$target\$$" -fuzztime $(or $(FUZZTIME),60s) $$(dirname $$file) || exit 1; done; done

# Most tests wait for deliveries, so that more of them run at once than there are processors.
AT_ONCE = $(shell expr 2 \* $$(getconf _NPROCESSORS_ONLN))

test: ## run the tests; those that need a server are skipped where it is not installed
	$(GO) test -p $(AT_ONCE) -parallel $(AT_ONCE) ./...

# The detector is not built into SQLite, translated from C, where it would take most of the time. (It has to be in
# every package that uses generic types of the standard library: the linker keeps one copy of those.)
RACE := -race '-gcflags=modernc.org/sqlite/lib=-race=false -d=checkptr=0'

test-race: ## run the tests with the race detector, PACKAGES="./rest" or all; those of PDFs take minutes
	$(GO) test $(RACE) $(TESTFLAGS) $(or $(PACKAGES),./...)

build: ## build bin/siteapi
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags "$(LDFLAGS)" -o $(BINARY) ./cmd/siteapi

reproducible: build ## build it once more, in another folder (and from nothing with COLD=1): every byte has to be the same
	@copy=$$(mktemp -d) && trap 'chmod -R u+w '"$$copy"' && rm -rf '"$$copy" EXIT && \
	git ls-files -z --cached --others --exclude-standard | xargs -0 -I{} sh -c 'test -e "{}" && echo "{}"' | \
	tar cT - | tar x -C "$$copy" && \
	$(if $(COLD),GOCACHE="$$copy/.cache") $(MAKE) -s -C "$$copy" build VERSION="$(VERSION)" && \
	sha256sum bin/siteapi "$$copy/bin/siteapi" | sed "s,$$copy,(copy)," && cmp bin/siteapi "$$copy/bin/siteapi"

CYCLONEDX := $(GO) run github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0

release: ## build the files of a release into bin/release: binaries, bills of materials (CycloneDX), checksums
	rm -rf bin/release && mkdir -p bin/release
	set -e; for target in linux-amd64 linux-arm64 darwin-amd64 darwin-arm64; do binary=bin/release/siteapi-$$target; \
	$(MAKE) build BINARY=$$binary VERSION="$(VERSION)" GOOS=$${target%-*} GOARCH=$${target#*-}; \
	$(CYCLONEDX) bin -json -std -version "$(VERSION)" -output $$binary.cdx.json $$binary; done
	npm --prefix $(PAGES) sbom --package-lock-only --sbom-format cyclonedx >bin/release/siteapi-pages.cdx.json
	cd bin/release && sha256sum siteapi-* >SHA256SUMS

generate: ## regenerate code from the schema
	$(GO) tool gqlgen generate

lint: ## check the code, with golangci-lint, and the workflows
	golangci-lint run ./...
	$(GO) run github.com/rhysd/actionlint/cmd/actionlint@v1.7.9

sdl: ## print the schema for other tools
	@$(GO) run ./cmd/siteapi sdl

# npm writes this file when it has installed what the lock file names.
%/node_modules/.package-lock.json: %/package-lock.json
	npm --prefix $* ci

PAGES   := cmd/siteapi/internal/pages
CLIENTS := schema/clients

pages: $(PAGES)/node_modules/.package-lock.json ## build the pages that the binary embeds, with npm, into files that are kept in git
	npm --prefix $(PAGES) run check
	npm --prefix $(PAGES) run build

types: $(CLIENTS)/node_modules/.package-lock.json ## regenerate TypeScript types from the schema, for the pages and the example clients
	npm --prefix $(CLIENTS) run generate

browser-test: build $(PAGES)/node_modules/.package-lock.json $(CLIENTS)/node_modules/.package-lock.json ## try the pages in a real browser, which CHROMIUM names; pictures in cmd/siteapi/internal/pages/test/screenshots
	npm --prefix $(PAGES) test

clients: build $(CLIENTS)/node_modules/.package-lock.json ## try Apollo Client, urql and graphql-request, with types generated from the schema
	npm --prefix $(CLIENTS) test

breaking: $(CLIENTS)/node_modules/.package-lock.json ## list what breaks clients of the last release in the schema; it needs a line in the changelog
	npm --prefix $(CLIENTS) run --silent breaking

audit: build $(CLIENTS)/node_modules/.package-lock.json ## run the public GraphQL-over-HTTP audit suite against the service
	npm --prefix $(CLIENTS) run audit

studio: integrations/cms/sanity/studio/node_modules/.package-lock.json ## check the schema definitions for Sanity Studio against Sanity's types
	npm --prefix integrations/cms/sanity/studio run check

SNIPPETS := schema/clients/snippets

snippets: $(SNIPPETS)/node_modules/.package-lock.json integrations/cms/sanity/studio/node_modules/.package-lock.json ## check the TypeScript of the manuals against Next.js, Astro and the others that it is written for
	npm --prefix $(SNIPPETS) run check

openapi-lint: $(CLIENTS)/node_modules/.package-lock.json ## check the OpenAPI description with a public linter
	$(CLIENTS)/node_modules/.bin/redocly lint --config .redocly.yaml rest/testdata/openapi.json

clean: ## remove what was built, and nothing that was stored
	rm -rf bin

bench: build ## measure the service against baselines, on an otherwise idle machine
	$(GO) build -o bin/bench ./cmd/bench
	bin/bench $(BENCH)
