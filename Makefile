# The tasks of developers. `make run` and `make test` need only Go and make.
GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS := -s -w -X siteapi/cmd/siteapi/internal/app.version=$(VERSION)
BINARY  := bin/siteapi

.DEFAULT_GOAL := help
.PHONY: help run demo chaos fuzz test test-race build reproducible release generate lint sdl pages types browser-test clients generators-go generators-typescript audit breaking openapi-lint studio snippets bench clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

run: build ## start the service with development defaults at http://localhost:8080
	ENVIRONMENT=development bin/siteapi

demo: build ## play visitors in three languages, an editor and an operator of a new service
	$(GO) run ./cmd/demo -binary bin/siteapi

chaos: build ## kill the service, fill its disk, stop its servers, attack and overload it, break the stream of its CMS, and count losses; SHORT=1 for a minute, ONLY="kills attacks"
	$(GO) run ./cmd/chaos -binary bin/siteapi $(if $(SHORT),-short) $(ONLY)

fuzz: ## run all fuzz targets in turn, each for FUZZTIME=60s
	@for file in $$(grep -rlE '^func Fuzz' --include='*_test.go' .); do for target in $$(grep -oE '^func Fuzz\w+' $$file | cut -c6-); do \
	echo "$$target in $$file"; $(GO) test -run xxx -fuzz "^$$target\$$" -fuzztime $(or $(FUZZTIME),60s) $$(dirname $$file) || exit 1; done; done

# Most tests wait for deliveries, so more tests than processors run at once.
AT_ONCE = $(shell expr 2 \* $$(getconf _NPROCESSORS_ONLN))

test: ## run the tests; those that need a server are skipped if it is not installed
	$(GO) test -p $(AT_ONCE) -parallel $(AT_ONCE) ./...

# SQLite, translated from C, is built without the race detector, which would take most of the time there. Packages
# that use generic types of the standard library need the detector: the linker keeps only one copy of these types.
RACE := -race '-gcflags=modernc.org/sqlite/lib=-race=false -d=checkptr=0'

test-race: ## run the tests with the race detector, PACKAGES="./rest" or all; PDF tests take minutes
	$(GO) test $(RACE) $(TESTFLAGS) $(or $(PACKAGES),./...)

build: ## build bin/siteapi
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags "$(LDFLAGS)" -o $(BINARY) ./cmd/siteapi

reproducible: build ## build again in another folder (without a cache with COLD=1) and compare the bytes
	@copy=$$(mktemp -d) && trap 'chmod -R u+w '"$$copy"' && rm -rf '"$$copy" EXIT && \
	git ls-files -z --cached --others --exclude-standard | xargs -0 -I{} sh -c 'test -e "{}" && echo "{}"' | \
	tar cT - | tar x -C "$$copy" && \
	$(if $(COLD),GOCACHE="$$copy/.cache") $(MAKE) -s -C "$$copy" build VERSION="$(VERSION)" && \
	sha256sum bin/siteapi "$$copy/bin/siteapi" | sed "s,$$copy,(copy)," && cmp bin/siteapi "$$copy/bin/siteapi"

CYCLONEDX := $(GO) run github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0

release: ## build a release in bin/release: binaries, bills of materials (CycloneDX), checksums
	rm -rf bin/release && mkdir -p bin/release
	set -e; for target in linux-amd64 linux-arm64 darwin-amd64 darwin-arm64; do binary=bin/release/siteapi-$$target; \
	$(MAKE) build BINARY=$$binary VERSION="$(VERSION)" GOOS=$${target%-*} GOARCH=$${target#*-}; \
	$(CYCLONEDX) bin -json -std -version "$(VERSION)" -output $$binary.cdx.json $$binary; done
	npm --prefix $(PAGES) sbom --package-lock-only --sbom-format cyclonedx >bin/release/siteapi-pages.cdx.json
	cd bin/release && sha256sum siteapi-* >SHA256SUMS

generate: ## regenerate code from the schema
	$(GO) tool gqlgen generate

lint: ## check the code with golangci-lint, and the workflows
	golangci-lint run ./...
	$(GO) run github.com/rhysd/actionlint/cmd/actionlint@v1.7.9

sdl: ## print the GraphQL schema
	@$(GO) run ./cmd/siteapi sdl

# npm writes this file after installing the packages of the lock file.
%/node_modules/.package-lock.json: %/package-lock.json
	npm --prefix $* ci

PAGES   := cmd/siteapi/internal/pages
CLIENTS := schema/clients

pages: $(PAGES)/node_modules/.package-lock.json ## build the pages with npm; the binary embeds the files, which are committed
	npm --prefix $(PAGES) run check
	npm --prefix $(PAGES) run build

types: $(CLIENTS)/node_modules/.package-lock.json ## regenerate the TypeScript types of the pages and example clients from the schema
	npm --prefix $(CLIENTS) run generate

browser-test: build $(PAGES)/node_modules/.package-lock.json $(CLIENTS)/node_modules/.package-lock.json ## test the pages in a browser, set by CHROMIUM; screenshots in cmd/siteapi/internal/pages/test/screenshots
	npm --prefix $(PAGES) test

clients: build $(CLIENTS)/node_modules/.package-lock.json ## test Apollo Client, urql and graphql-request with generated types, clients of assistants, and public generators
	npm --prefix $(CLIENTS) test
	rm -rf $(GENERATORS)/build && mkdir -p $(GENERATORS)/build/rest
	bin/siteapi sdl >$(GENERATORS)/build/schema.graphql
	$(MAKE) -j2 generators-go generators-typescript

GENERATORS := $(CLIENTS)/generators

# The OpenAPI description has amounts, which lose digits as a float32.
generators-go:
	cd $(GENERATORS) && $(GO) generate && $(GO) vet ./... && ! grep -n float32 build/rest/rest.go

generators-typescript: $(GENERATORS)/node_modules/.package-lock.json
	npm --prefix $(GENERATORS) run check

breaking: $(CLIENTS)/node_modules/.package-lock.json ## list breaking changes of the schema since the last release; each needs a line in the changelog
	npm --prefix $(CLIENTS) run --silent breaking

audit: build $(CLIENTS)/node_modules/.package-lock.json ## run the public GraphQL-over-HTTP audit suite against the service
	npm --prefix $(CLIENTS) run audit

studio: integrations/cms/sanity/studio/node_modules/.package-lock.json ## check the schema definitions of Sanity Studio against its types
	npm --prefix integrations/cms/sanity/studio run check

SNIPPETS := schema/clients/snippets

snippets: $(SNIPPETS)/node_modules/.package-lock.json integrations/cms/sanity/studio/node_modules/.package-lock.json ## check the TypeScript of the manuals against its frameworks, such as Next.js and Astro
	npm --prefix $(SNIPPETS) run check

openapi-lint: $(CLIENTS)/node_modules/.package-lock.json ## check the OpenAPI description with a public linter
	$(CLIENTS)/node_modules/.bin/redocly lint --config .redocly.yaml rest/testdata/openapi.json

clean: ## remove build results, but no stored data
	rm -rf bin

bench: build ## compare the service with baselines, on an otherwise idle machine
	$(GO) build -o bin/bench ./cmd/bench
	bin/bench $(BENCH)
