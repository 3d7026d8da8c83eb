package tuning

import (
	"os"
	"os/exec"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"
)

func TestPercentFor(t *testing.T) {
	t.Parallel()
	for base, want := range map[uint64]int{0: 300, 1 << 20: 300, 4 << 20: 300, 6 << 20: 200, 12 << 20: 100, 1 << 30: 100} {
		if got := percentFor(base); got != want {
			t.Errorf("%d bytes: got %d, want %d", base, got, want)
		}
	}
}

// Each case runs in a process of its own: the settings are those of the process.
func TestMemory(t *testing.T) {
	t.Parallel()
	if os.Getenv("TUNING_TEST_CHILD") != "" {
		return
	}
	tests := []struct {
		name, env, want string
	}{
		{"alone", "", "300% grown:100%"},
		{"the operator set the percentage", "GOGC=50", "50% grown:50%"},
		{"the operator set a limit", "GOMEMLIMIT=100MiB", "100% grown:100%"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run", "^TestChild$", "-test.v") // ends by itself
			cmd.Env = append(os.Environ(), "TUNING_TEST_CHILD=1", tt.env)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "got "+tt.want) {
				t.Errorf("want %s: %v %s", tt.want, err, out)
			}
		})
	}
}

// TestChild is the process that TestMemory starts.
func TestChild(t *testing.T) {
	if os.Getenv("TUNING_TEST_CHILD") == "" {
		return
	}
	Memory(os.Getenv)
	before := percentage()
	live := make([]*[1 << 20]byte, 0, 40)
	for range cap(live) {
		live = append(live, new([1 << 20]byte))
	}
	after := before
	for range 100 { // cleanups run in the background
		runtime.GC()
		if after = percentage(); after == defaultGOGC {
			break
		}
		time.Sleep(time.Millisecond)
	}
	t.Logf("got %d%% grown:%d%%", before, after)
	runtime.KeepAlive(live)
	runtime.GOMAXPROCS(1)
	Disk(func(string) string { return "1" })
	if n := runtime.GOMAXPROCS(0); n != 1 {
		t.Errorf("%d processors, though the operator wants 1", n)
	}
	Disk(func(string) string { return "" })
	if n := runtime.GOMAXPROCS(0); n != 2 {
		t.Errorf("%d processors", n)
	}
}

func percentage() uint64 {
	s := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
