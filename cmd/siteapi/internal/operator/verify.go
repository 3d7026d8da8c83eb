package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v3"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/resolvers/leads"
)

// verify is `siteapi deliveries verify`.
func (d Deps) verify(ctx context.Context, c *cli.Command, s *config.Settings) (err error) {
	only, err := target(c)
	if err != nil {
		return err
	}
	since, err := moment(c, "since", time.Now())
	if err != nil {
		return err
	}
	db, documents, contacts, err := d.openAll(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rules := db.rules()
	rules.CMS, rules.CRM = documents, contacts
	v, err := rules.Verify(ctx, since, only, c.Bool("fix"))
	out := c.Root().Writer
	switch {
	case err != nil:
		return err
	case c.Bool("json"):
		return errors.Join(printJSON(out, v), verified(v, c.Bool("fix")))
	}
	_, _ = fmt.Fprintf(out, "%d submissions compared\n", v.Submissions)
	t := newTable(out, "TARGET", "PRESENT", "UNDER WAY", "MISSING", "SENT AGAIN", "ERROR")
	for _, r := range v.Targets {
		t.AppendRow([]any{r.Target, r.Present, r.UnderWay, r.Missing, r.Resent, r.Error})
	}
	t.Render()
	return verified(v, c.Bool("fix"))
}

// verified is nil if nothing is missing, a finding if something is, and an error if a target could not be asked.
func verified(v *leads.Verification, fix bool) error {
	var errs []error
	missing := 0
	for _, t := range v.Targets {
		missing += t.Missing
		if t.Error != "" {
			errs = append(errs, fmt.Errorf("the %s could not be asked: %s", t.Target, t.Error))
		}
	}
	switch {
	case len(errs) > 0:
		return errors.Join(errs...)
	case missing == 0:
		return nil
	case fix:
		return finding(fmt.Sprintf("%d deliveries were missing: they are sent again while the service runs; verify again later", missing))
	}
	return finding(fmt.Sprintf("%d deliveries are missing: `siteapi deliveries verify --fix` sends them again", missing))
}
