package app

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// peakMemory returns the most memory that the process has had so far, in MiB.
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

// floodGraphQL sends a body 16 times at once and returns the last answer.
func (r *running) floodGraphQL(body string) []byte {
	r.t.Helper()
	var group sync.WaitGroup
	answers := make([][]byte, 16)

	for i := range answers {
		group.Go(func() {
			answers[i] = r.do(http.MethodPost, "/graphql", body).body
		})
	}

	group.Wait()
	return answers[0]
}

func TestVariablesAreBoundedBeforeTheyAreBuilt(t *testing.T) {
	t.Parallel()
	r := launch(t, t.TempDir())

	for name, value := range map[string]string{
		"many objects": "[" + strings.Repeat(`{"":0},`, 140_000) + "0]",
		"many lists":   "[" + strings.Repeat("[],", 300_000) + "0]",
		"deep lists":   strings.Repeat("[", 400_000) + strings.Repeat("]", 400_000),
	} {
		answer := r.floodGraphQL(
			`{"query":"mutation($p: JSON!) { receiveCmsWebhook(payload: $p) { success } }",` +
				`"variables":{"p":` + value + `}}`)
		if !bytes.Contains(answer, []byte(`"BAD_USER_INPUT"`)) {
			t.Errorf("%s: %.300s", name, answer)
		}
	}

	// A request of 1 MiB takes some ten times its size, and there are 16.
	if peak := r.peakMemory(); peak > 256 {
		t.Errorf("it took %d MiB", peak)
	}
}
