// Package tuning sets Go's runtime to what suits the service: little live memory, much
// short-lived memory, and writes that wait for the disk. Whatever the operator has set
// by GOGC, GOMEMLIMIT or GOMAXPROCS stays as it is.
package tuning

import "runtime"

// Memory lets the heap grow by a few MB before the collector runs. It is called once, as
// early as possible.
func Memory(getenv func(string) string) {
	if getenv("GOGC") == "" && getenv("GOMEMLIMIT") == "" {
		giveRoom()
	}
}

// Disk is called before the first write that waits for the disk. Such a system call
// holds its processor until the runtime notices, up to 10 ms later; with only one, every
// other request would wait as well. So there are two from then on, even on a machine
// that has only one. Not before: where there is only one, a second costs each request
// more than a microsecond, and a service that is only read does not need it.
func Disk(getenv func(string) string) {
	if getenv("GOMAXPROCS") == "" && runtime.GOMAXPROCS(0) < 2 {
		runtime.GOMAXPROCS(2)
	}
}
