package commands

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"siteapi/cmd/siteapi/internal/app"
	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/cmd/siteapi/internal/command"
	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/crm"
)

// silentCRM accepts leads and stores nothing.
type silentCRM struct{}

func (silentCRM) Upsert(context.Context, crm.Contact) error { return nil }

func (silentCRM) Ping(context.Context) error { return nil }

func (silentCRM) Missing(context.Context, []string) ([]string, error) {
	return nil, errors.ErrUnsupported
}

func (silentCRM) FindDeals(_ context.Context, _, _ []string) ([]string, error) {
	return nil, errors.ErrUnsupported
}

func (silentCRM) Erase(context.Context, string) error { return nil }

func (silentCRM) EraseDeals(_ context.Context, _, _ []string) ([]string, error) { return nil, nil }

// With a CRM driver that stores nothing, an erasure and a verification succeed, and do
// not claim to have found anything there.
func TestCRMThatStoresNothing(t *testing.T) {
	t.Parallel()
	s := apptest.NewSite(t).Start()
	s.Arrives(s.Submit("ana"))
	s.Stop(t)

	env := map[string]string{"ENVIRONMENT": "development", "DATA_DIR": s.Dir}
	for _, tt := range []struct{ line, want, not string }{
		{"deliveries verify --target crm", "leads                      1", "could not"},
		{"leads erase --email ana@example.com --yes", "its driver stores nothing", "failed                     1"},
		{"doctor --json", "stores nothing", `"FAILED"`},
	} {
		deps, _ := app.OperatorDrivers(func(name string) string { return env[name] })
		deps.OpenCRM = func(*config.Settings) (command.CRM, error) { return silentCRM{}, nil }
		if strings.HasPrefix(tt.line, "doctor") {
			env["CRM_DRIVER"], env["HUBSPOT_TOKEN"] = "hubspot", "unused"
		}

		var out bytes.Buffer
		root := &cobra.Command{SilenceErrors: true, SilenceUsage: true}
		root.AddCommand(command.Commands(deps)...)
		root.SetOut(&out)
		root.SetErr(&out)
		root.SetArgs(strings.Fields(tt.line))

		err := root.ExecuteContext(t.Context())
		if err != nil || !strings.Contains(out.String(), tt.want) || strings.Contains(out.String(), tt.not) {
			t.Errorf("%s: %v\n%s", tt.line, err, out.String())
		}
	}
}
