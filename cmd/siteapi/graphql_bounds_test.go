package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// readURL returns the body of an answer.
func readURL(t *testing.T, url string) []byte {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// metric returns the sum of the samples whose line matches a pattern.
func metric(t *testing.T, admin, pattern string) float64 {
	t.Helper()
	sum := 0.0
	for _, sample := range regexp.MustCompile("(?m)^"+pattern+`.* (\S+)$`).FindAllSubmatch(readURL(t, "http://"+admin+"/metrics"), -1) {
		value, err := strconv.ParseFloat(string(sample[1]), 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += value
	}
	return sum
}

// peakMemory is the most memory the process has had so stubs, in MiB.
func (r *running) peakMemory() int {
	r.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.cmd.Process.Pid))
	if err != nil {
		r.t.Skip("this system does not say how much memory a process has had")
	}
	kib, err := strconv.Atoi(string(regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)[1]))
	if err != nil {
		r.t.Fatal(err)
	}
	return kib >> 10
}

// floodGraphQL sends a body 32 times at once and returns the last answer.
func (r *running) floodGraphQL(body string) []byte {
	r.t.Helper()
	var group sync.WaitGroup
	answers := make([][]byte, 32)
	for i := range answers {
		group.Go(func() {
			resp, err := http.Post(r.base+"/graphql", "application/json", strings.NewReader(body))
			if err != nil {
				r.t.Error(err)
				return
			}
			defer func() { _ = resp.Body.Close() }()
			answers[i], _ = io.ReadAll(resp.Body)
		})
	}
	group.Wait()
	return answers[0]
}

func TestInvalidFieldsOfAllAliasesAreBounded(t *testing.T) {
	t.Parallel()
	r := launch(t, t.TempDir())
	body, err := json.Marshal(map[string]any{
		"query": `mutation($f: [String!]) {
			a: submitQuote(input: {selections: {features: $f}}) { success } b: submitQuote(input: {selections: {features: $f}}) { success }
			c: submitQuote(input: {selections: {features: $f}}) { success } d: submitQuote(input: {selections: {features: $f}}) { success } }`,
		"variables": map[string]any{"f": slices.Repeat([]string{"not a slug"}, 9_000)},
	})
	if err != nil {
		t.Fatal(err)
	}
	answer := r.floodGraphQL(string(body))
	if fields := bytes.Count(answer, []byte(`"field":`)); fields == 0 || fields > 20 || len(answer) > 16<<10 {
		t.Errorf("got %d invalid fields in %d bytes, want 1 to 20 in a short answer", fields, len(answer))
	}
	if peak := r.peakMemory(); peak > 256 {
		t.Errorf("it took %d MiB", peak)
	}
}

func TestVariablesAreBoundedBeforeTheyAreBuilt(t *testing.T) {
	t.Parallel()
	r := launch(t, t.TempDir())
	for name, value := range map[string]string{
		"many objects": "[" + strings.Repeat(`{"":0},`, 140_000) + "0]",
		"many lists":   "[" + strings.Repeat("[],", 300_000) + "0]",
		"deep lists":   strings.Repeat("[", 400_000) + strings.Repeat("]", 400_000),
	} {
		answer := r.floodGraphQL(`{"query":"mutation($p: JSON!) { receiveCmsWebhook(payload: $p) { success } }","variables":{"p":` + value + `}}`)
		if !bytes.Contains(answer, []byte(`"BAD_USER_INPUT"`)) {
			t.Errorf("%s: %.300s", name, answer)
		}
	}
	if peak := r.peakMemory(); peak > 384 { // 32 requests of 1 MiB, some ten times each
		t.Errorf("it took %d MiB", peak)
	}
}

// TestCachedAnswersCountAllTheyHold sends a great many large documents, each by its hash.
// What is left of them must fit the bounds of the caches, whose requests were tiny.
func TestCachedAnswersCountAllTheyHold(t *testing.T) {
	t.Parallel()
	admin := freeAddress(t)
	r := launch(t, t.TempDir(), "ADMIN_ADDR="+admin)
	const documents = 1_000
	for i := range documents {
		fields := strings.Repeat(" contactEmail", 300)
		document := fmt.Sprintf("query Q%d { SiteSettings(id: \"siteSettings\") {%s } } # %s", i, fields, strings.Repeat("x", 28<<10))
		body, err := json.Marshal(map[string]any{"query": document, "extensions": json.RawMessage(persisted(hash(document)))})
		if err != nil {
			t.Fatal(err)
		}
		if status, answer := r.post("/graphql", json.RawMessage(body)); status != http.StatusOK || answer["errors"] != nil {
			t.Fatalf("%d %v", status, answer)
		}
		for range 2 {
			readURL(t, r.base+"/graphql?extensions="+url.QueryEscape(persisted(hash(document))))
		}
	}
	readURL(t, "http://"+admin+"/debug/pprof/heap?gc=1")
	if heap := metric(t, admin, "go_memstats_heap_alloc_bytes") / (1 << 20); heap > 50 {
		t.Errorf("after %d documents the heap holds %.0f MiB", documents, heap)
	}
}

func TestLargeAnswersAreCachedLikeSmallOnes(t *testing.T) {
	t.Parallel()
	dir, admin := t.TempDir(), freeAddress(t)
	content, err := json.Marshal([]map[string]any{{"_id": "long", "_type": "article", "text": strings.Repeat("0123456789", 150_000)}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "content.json"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	r := launch(t, dir, "ADMIN_ADDR="+admin, "CONTENT_TYPES=article")
	path := r.base + "/graphql?query=" + url.QueryEscape(`{ content(documentType: "article") { fields } }`)
	for range 3 {
		readURL(t, path)
	}
	before := metric(t, admin, `siteapi_graphql_operations_total.*outcome="executed"`)
	if got := readURL(t, path); len(got) < 1_500_000 {
		t.Fatalf("got %.300s", got)
	}
	if after := metric(t, admin, `siteapi_graphql_operations_total.*outcome="executed"`); before == 0 || after != before {
		t.Errorf("a large answer is made again each time: %v operations, then %v", before, after)
	}
}
