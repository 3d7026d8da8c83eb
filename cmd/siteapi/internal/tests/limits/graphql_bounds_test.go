package limits

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"sync"

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
