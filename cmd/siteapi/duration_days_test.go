package main

import (
	"strings"
	"syscall"
	"testing"
)

// Days that overflow a duration erase nothing: they are refused.
func TestRetentionOfManyDays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := launch(t, dir)
	if status, answer := first.post("/api/quote/submit", validSubmission("kept")); status != 200 {
		t.Fatalf("%d %v", status, answer)
	}
	s := &service{t: t, dataDir: dir}
	eventually(t, "the lead is delivered", func() bool { return len(s.files("cms")) == 1 && len(s.files("crm")) == 1 })
	if err := first.end(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	env := []string{"ENVIRONMENT=development", "DATA_DIR=" + dir}
	for _, days := range []string{"36501d", "106752d", "213505d", "999999d", "99999999999999999999d", "-1d"} {
		for _, name := range []string{"SUBMISSION_RETENTION", "TRACK_RETENTION"} {
			if out, code := command(t, append(env, name+"="+days), "serve"); code != 1 || !strings.Contains(out, name+": must be") {
				t.Errorf("%s=%s: exit code %d, %s", name, days, code, out)
			}
		}
		for _, args := range [][]string{{"leads", "list"}, {"funnel"}, {"deliveries", "verify"}} {
			if out, code := command(t, env, append(args, "--since", days)...); code != 1 || !strings.Contains(out, "--since") {
				t.Errorf("%v --since %s: exit code %d, %s", args, days, code, out)
			}
		}
	}
	again := launch(t, dir, "SUBMISSION_RETENTION=36500d", "TRACK_RETENTION=36500d")
	if out, code := command(t, env, "leads", "list", "--since", "36500d"); code != 0 || !strings.Contains(out, "ana@example.com") {
		t.Errorf("the lead is gone: %d %s", code, out)
	}
	if err := again.end(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
}
