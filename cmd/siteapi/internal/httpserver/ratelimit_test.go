package httpserver

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// The manuals list the limits of the tables.
func TestLimitsInManuals(t *testing.T) {
	t.Parallel()
	routes, err := os.ReadFile("../../../../rest/README.md")
	if err != nil {
		t.Fatal(err)
	}
	periods := map[time.Duration]string{time.Second: "a second", time.Minute: "a minute", 15 * time.Minute: "in 15 minutes"}
	rows := 0
	for _, l := range routeLimits {
		name := "`" + l.route + "`"
		if l.route == otherRoutes {
			name = l.route
		}
		row := fmt.Sprintf("\n| %s | %d %s | %d |\n", name, l.Limit, periods[l.Period], l.Burst)
		if !strings.Contains(string(routes), row) {
			t.Errorf("rest/README.md lacks the row %s", row)
		}
		rows++
	}
	_, table, _ := strings.Cut(string(routes), "| route | steady | at once |\n|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	if n := strings.Count(table, "\n") + 1; n != rows {
		t.Errorf("rest/README.md has %d rows of limits, want %d", n, rows)
	}

	service, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for counter, row := range map[string]string{
		"one client":  fmt.Sprintf("| requests in flight of one address (IPv6: /64) | %d; one counts as %d", maxOfClient, largeWeight),
		countAll:      "| requests being processed | `MAX_REQUESTS` |",
		countDatabase: "| half of `MAX_REQUESTS` |",
		countSignIn:   fmt.Sprintf("that wait for the provider of accounts | %d |", maxSignIn),
		countStreams:  fmt.Sprintf("| subscriptions, which count nowhere else | %d,000 |", maxStreams/1000),
	} {
		if !strings.Contains(string(service), row) {
			t.Errorf("README.md lacks the limit of %s: %s", counter, row)
		}
	}
}
