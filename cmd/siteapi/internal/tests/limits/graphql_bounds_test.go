package limits

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"sync"

	"siteapi/cmd/siteapi/internal/apptest"
)

// peakMemory returns the peak memory of the process so far, in MiB.
func peakMemory(r *apptest.Process) int {
	r.T.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.Cmd.Process.Pid))
	if err != nil {
		r.T.Skip("this system does not report the peak memory of a process")
	}

	kib, err := strconv.Atoi(string(regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)[1]))
	if err != nil {
		r.T.Fatal(err)
	}
	return kib >> 10
}

// floodGraphQL sends a body 16 times at once and returns one of the responses.
func floodGraphQL(r *apptest.Process, body string) []byte {
	r.T.Helper()
	var group sync.WaitGroup
	responses := make([][]byte, 16)

	for i := range responses {
		group.Go(func() {
			responses[i] = r.Do("POST", "/graphql", body).Body
		})
	}

	group.Wait()
	return responses[0]
}
