// Package tuning sets Go's runtime to what suits the service: little live memory, much
// short-lived memory, and writes that wait for the disk. Whatever the operator has set
// by GOGC, GOMEMLIMIT or GOMAXPROCS stays as it is.
package tuning

import "runtime"

// Apply tunes this process. It is called once, as early as possible.
func Apply(getenv func(string) string) {
	if getenv("GOMAXPROCS") == "" {
		// A system call that waits for the disk holds its processor until the runtime
		// notices; with only one, every other request would wait as well.
		if runtime.GOMAXPROCS(0) < 2 {
			runtime.GOMAXPROCS(2)
		}
	}
	if getenv("GOGC") == "" && getenv("GOMEMLIMIT") == "" {
		giveRoom()
	}
}
