package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v3"

	"siteapi/cmd/siteapi/internal/config"
)

// doctorCommand looks a whole installation over.
func doctorCommand(getenv func(string) string, out io.Writer) *cli.Command {
	o := operator{getenv, out}
	return &cli.Command{
		Name: "doctor", Usage: "check settings, disk, database, cache, CMS, CRM and clock, and say what to do",
		Description: "Makes a real round trip to everything the service depends on, before its start or beside it. The traces of\n" +
			"that are removed again. Exit code 2: something has to be mended.\n\n" +
			"   siteapi doctor\n   siteapi doctor --json | jq '.checks[] | select(.state != \"ok\")'",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "for other programs"},
			&cli.BoolFlag{Name: "strict", Usage: "exit code 2 for warnings as well"},
			&cli.StringFlag{Name: "server", Usage: "address of the running service; left out: that of LISTEN_ADDR on this machine"},
		},
		Action: o.examine,
	}
}

// States of a check, from good to bad.
const (
	stateOK   = "ok"
	stateWarn = "warn" // it works, and should not stay so
	stateFail = "fail" // it does not work, or is a danger
)

// diagnosis is the outcome of one check.
type diagnosis struct {
	Check  string `json:"check"`
	State  string `json:"state"`
	Detail string `json:"detail"`
	Advice string `json:"advice,omitempty"` // what to do
}

// fine, warning and failure make the outcome of a check. Its name is added later.
func fine(format string, args ...any) diagnosis {
	return diagnosis{State: stateOK, Detail: fmt.Sprintf(format, args...)}
}

func warning(detail, advice string) diagnosis {
	return diagnosis{State: stateWarn, Detail: detail, Advice: advice}
}

func failure(detail, advice string) diagnosis {
	return diagnosis{State: stateFail, Detail: detail, Advice: advice}
}

// doctor examines an installation.
type doctor struct {
	settings *config.Settings
	log      zerolog.Logger
	server   string // address of the running service
	client   *http.Client
	now      func() time.Time
	patience time.Duration // with each check
	user     int           // whose process this is
	free     func(path string) (bytes int64, known bool)
}

// checks lists all there are, in the order they are told.
func (d *doctor) checks() []namedCheck {
	return []namedCheck{
		{"settings", d.checkSettings},
		{"exposure", d.checkExposure},
		{"proxies", d.checkProxies},
		{"webhook", d.checkWebhook},
		{"data folder", d.checkFolder},
		{"database", d.checkDatabase},
		{"deliveries", d.checkDeliveries},
		{"cache", d.checkCache},
		{"cms", d.checkCMS},
		{"crm", d.checkCRM},
		{"clock", d.checkClock},
		{"service", d.checkService},
	}
}

type namedCheck struct {
	name string
	run  func(ctx context.Context) []diagnosis
}

// examine is `siteapi doctor`. Settings that can't be used are a finding like others,
// but nothing else can be looked at then.
func (o operator) examine(ctx context.Context, c *cli.Command) error {
	if err := only(c, 0); err != nil {
		return err
	}
	var found []diagnosis
	s, err := config.Read(o.getenv)
	if err != nil {
		found = badSettings(err)
	} else {
		server := c.String("server")
		if server == "" {
			server = loopback(s.ListenAddr)
		}
		if err := config.WebAddress(server); err != nil {
			return fmt.Errorf("--server: %w", err)
		}
		d := &doctor{
			settings: s, log: zerolog.Nop(), server: strings.TrimSuffix(server, "/"), client: &http.Client{Timeout: 5 * time.Second},
			now: time.Now, patience: 20 * time.Second, user: os.Geteuid(), free: freeSpace,
		}
		found = d.examine(ctx)
	}
	worst := stateOK
	for _, f := range found {
		if f.State == stateFail || f.State == stateWarn && worst == stateOK {
			worst = f.State
		}
	}
	if c.Bool("json") {
		err = o.printJSON(map[string]any{"state": worst, "checks": found})
	} else {
		err = o.printDiagnoses(found)
	}
	switch {
	case err != nil:
		return err
	case worst == stateFail:
		return finding("something has to be mended: see what failed")
	case worst == stateWarn && c.Bool("strict"):
		return finding("there are warnings")
	}
	return nil
}

// badSettings makes a finding of every problem that the settings have.
func badSettings(err error) []diagnosis {
	var found []diagnosis
	for line := range strings.Lines(err.Error()) {
		if name, problem, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			d := failure(name+": "+problem, "see `siteapi config` and the table of settings in the README")
			d.Check = "settings"
			found = append(found, d)
		}
	}
	return found
}

// examine makes all checks at once: some wait for others far away.
func (d *doctor) examine(ctx context.Context) []diagnosis {
	checks := d.checks()
	results := make([][]diagnosis, len(checks))
	var group sync.WaitGroup
	for i, check := range checks {
		group.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, d.patience)
			defer cancel()
			results[i] = check.run(ctx)
		})
	}
	group.Wait()
	var found []diagnosis
	for i, check := range checks {
		for _, f := range results[i] {
			f.Check = check.name
			found = append(found, f)
		}
	}
	return found
}

func (o operator) printDiagnoses(found []diagnosis) error {
	var errs []error
	for _, f := range found {
		_, err := fmt.Fprintf(o.out, "%-5s %-12s %s\n", f.State, f.Check, oneLine(f.Detail))
		errs = append(errs, err)
		if f.Advice != "" {
			_, err = fmt.Fprintf(o.out, "%19s-> %s\n", "", oneLine(f.Advice))
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
