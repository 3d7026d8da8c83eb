package limits

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

	"siteapi/cmd/siteapi/internal/apptest"
)

// peakMemory returns the most memory that the process has had so far, in MiB.
func peakMemory(r *apptest.Process) int {
	r.T.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.Cmd.Process.Pid))
	if err != nil {
		r.T.Skip("this system does not say how much memory a process has had")
	}

	kib, err := strconv.Atoi(string(regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)[1]))
	if err != nil {
		r.T.Fatal(err)
	}
	return kib >> 10
}

// floodGraphQL sends a body 16 times at once and returns the last answer.
func floodGraphQL(r *apptest.Process, body string) []byte {
	r.T.Helper()
	var group sync.WaitGroup
	answers := make([][]byte, 16)

	for i := range answers {
		group.Go(func() {
			answers[i] = r.Do(http.MethodPost, "/graphql", body).Body
		})
	}

	group.Wait()
	return answers[0]
}

func TestVariablesAreBoundedBeforeTheyAreBuilt(t *testing.T) {
	t.Parallel()
	r := apptest.Launch(t, t.TempDir())

	for name, value := range map[string]string{
		"many objects": "[" + strings.Repeat(`{"":0},`, 140_000) + "0]",
		"many lists":   "[" + strings.Repeat("[],", 300_000) + "0]",
		"deep lists":   strings.Repeat("[", 400_000) + strings.Repeat("]", 400_000),
	} {
		answer := floodGraphQL(r,
			`{"query":"mutation($p: JSON!) { receiveCmsWebhook(payload: $p) { success } }",`+
				`"variables":{"p":`+value+`}}`)
		if !bytes.Contains(answer, []byte(`"BAD_USER_INPUT"`)) {
			t.Errorf("%s: %.300s", name, answer)
		}
	}

	// A request of 1 MiB takes some ten times its size, and there are 16.
	if peak := peakMemory(r); peak > 256 {
		t.Errorf("it took %d MiB", peak)
	}
}
