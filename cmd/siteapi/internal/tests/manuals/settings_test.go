package manuals

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/cmd/siteapi/internal/config"
	cmsfile "siteapi/integrations/cms/file"
	"siteapi/integrations/edge"
)

const webhookSecret = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

// `siteapi config` prints no secret: neither that of a setting nor one in an address.
func TestConfigPrintsNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "hush-0123456789-0123456789"
	out, code := apptest.Command(t, []string{
		"ENVIRONMENT=development",
		"DATABASE_URL=postgres://u:" + secret + "@db.example/d?password=" + secret,
		"CACHE_URL=valkey://u:" + secret + "@cache.example:6379/2",
		"SMTP_URL=smtps://u:" + secret + "@mail.example:465", "SALES_MAIL_TO=a@b.example",
		"LEAD_WEBHOOK_URL=https://hooks.example/x?sig=" + secret, "LEAD_WEBHOOK_FORMAT=slack",
		"CDN_PURGE_URL=https://a.example/p?token=" + secret + ",https://b.example?" + secret,
		"CDN_PURGE_KIND=varnish", "CDN_PURGE_TOKEN=" + secret,
		"REVALIDATE_URLS=https://site.example/api?secret=" + secret, "REVALIDATE_SECRET=" + webhookSecret,
	}, "config")
	if code != 0 || strings.Contains(out, "hush") || strings.Contains(out, webhookSecret) ||
		!strings.Contains(out, "\nCDN_PURGE_URL=https://a.example/p,https://b.example\n") {
		t.Errorf("%d %s", code, out)
	}
}

// Every documented form of a setting is accepted. A value that would keep the service
// from starting is reported when settings are read.
func TestSettingValues(t *testing.T) {
	t.Parallel()
	accepted := map[string][]string{
		"LISTEN_ADDR":   {"127.0.0.1:0", "[::1]:80", "localhost:8080"},
		"DRAIN_DELAY":   {"0s", "1m"},
		"ADMIN_ADDR":    {"off"},
		"ENVIRONMENT":   {"development "},
		"LOG_LEVEL":     {"trace", "INFO"},
		"DATABASE_URL":  {"postgresql://h:5433/d?sslmode=disable&pool_max_conns=5", "postgres:///d?host=/run/postgresql"},
		"CACHE_URL":     {"valkey://h", "valkeys://u:p@h:6379/2", "rediss://h:6380"},
		"CDN_PURGE_URL": {"https://a.example,https://b.example/x"},

		"CMS_WEBHOOK_SECRET":   {"x , y"},
		"SANITY_DATASET":       {"~alias", "a_b-c"},
		"SANITY_API_VERSION":   {"v2025-02-19"},
		"HUBSPOT_API_VERSION":  {"2026-09"},
		"HUBSPOT_DEAL_STAGE":   {"default/appointmentscheduled", "Web/Quotes/New", "Vânzări noi/Întâlnire stabilită"},
		"SITE_URL":             {"https://example.com/api/", "https://example.com:443/api"},
		"CONTENT_TTL":          {"1s", "1d"},
		"CORS_ALLOWED_ORIGINS": {"*", "https://example.com,http://localhost:3000", "https://example.com:443"},
		"TRUSTED_PROXIES":      {"10.0.0.0/8,192.0.2.1,2001:db8::/32"},
		"OIDC_SCOPES":          {"groups", "offline_access, https://graph.example/User.Read,api://siteapi/.default"},
		"OIDC_ROLES":           {"viewer=marketing,sales=sales|desk,admin=ops", "admin=CN=Ops%2COU=IT%2cDC=firm|50%25|a%7Cb", "sales=50%,admin=a%20b"},
		"OIDC_GROUPS_CLAIM":    {"https://firm.example/roles", "realm_access.roles"},
		"LEAD_RETENTION":       {"0s", "1d", "36500d"},
		"DELIVERY_RETRY_MAX":   {"100ms", "24h"},
		"DELIVERY_RATE":        {"0", "2.5"},
		"ADMIN_TOKENS":         {"ana:sales:1123456789abcdef,bo-2:viewer:fedcba9876543210", "ana+desk@lumen.test:sales:1123456789abcdef"},
		"LEAD_WEBHOOK_URL":     {"https://hooks.example/x?sig=y"},
		"LEAD_WEBHOOK_EVENTS":  {"lead.outcome", "lead.corrected, lead.outcome"},
		"LEAD_WEBHOOK_SECRET":  {webhookSecret + "," + webhookSecret},
		"SMTP_URL":             {"smtps://siteapi:p%40ss@mail.example:465", "smtp://[::1]:25"},
		"MAIL_FROM":            {"Lumen Studio <quotes@lumen.example>"},
		"SALES_MAIL_TO":        {"a@b.example, Ana <c@d.example>"},
		"MCP_CLIENTS":          {"claude.ai, vscode.dev,127.0.0.1:8443"},
		"LOGO_HOSTS":           {"*.example.com,cdn.example.com:8443,http://127.0.0.1:1"},
	}
	refused := map[string][]string{
		"LISTEN_ADDR":                        {"8080", ":65536", ":http"},
		"ADMIN_ADDR":                         {"on"},
		"DRAIN_DELAY":                        {"2", "-1s", "2h"},
		"MAX_CONNECTIONS":                    {"0", "1e3"},
		"ENVIRONMENT":                        {"staging"},
		"LOG_LEVEL":                          {"disabled", "7"},
		"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": {"http/json"},
		"OTEL_SDK_DISABLED":                  {"perhaps"},
		"DATABASE_URL":                       {"postgres://", "mysql://h?x=y", "postgres://h?pool_max_conns=x"},
		"CACHE_URL":                          {"x://x", "valkey://", "redis://h//1"},
		"CMS_WEBHOOK_SIGNING_SECRET":         {" , "},
		"CMS_FILE":                           {"none.json"},
		"SANITY_PROJECT_ID":                  {"A B"},
		"SANITY_API_VERSION":                 {"2025-13-01", "latest"},
		"HUBSPOT_API_VERSION":                {"v4", "2026-13"},
		"HUBSPOT_DEAL_STAGE":                 {"default", "default/", "/appointmentscheduled"},
		"SITE_URL":                           {"https://", "ftp://x", "https://me:secret@site.example"},
		"CONTENT_TTL":                        {"soon", "999ms", "-213500d"},
		"CONTENT_TYPES":                      {"heroSection, quote Option"},
		"CDN_MAX_AGE":                        {"61s"},
		"CDN_PURGE_URL":                      {"varnish:6081", "https://cdn.example/?a=b c", ","},
		"REVALIDATE_SECRET":                  {"short", "whsec_YQ=="},
		"CORS_ALLOWED_ORIGINS":               {"https://A.example", "https://a.example/", "https://*.example", "https://a.example:0443"},
		"TRUSTED_PROXIES":                    {"10.0.0.0/99", "proxy", "::ffff:10.0.0.0/104"},
		"RATE_LIMITS":                        {"maybe"},
		"OIDC_ISSUER":                        {"https://login.example.com?a=b"},
		"OIDC_SCOPES":                        {"openid profile groups", `a"b`, `a\b`, "grupări", ","},
		"OIDC_ROLES":                         {"owner=ops", "admin", "admin=", "sales=a||b"},
		"TRACK_RETENTION":                    {"-1h", "213505d"},
		"LEAD_RETENTION":                     {"1h", "-9223372036854775808d"},
		"DELIVERY_RETRY_MAX":                 {"50ms", "25h"},
		"DELIVERY_RATE":                      {"NaN", "-1", "+Inf"},
		"ADMIN_TOKENS": {
			"0123456789abcdef", "ana:boss:0123456789abcdef", "Ana:sales:0123456789abcdef",
			"ana:admin:0123456789abcdef,bo:viewer:0123456789abcdef", // the bearer of one token would have two roles
			"ana:sales:0123456789abcdef,ana:sales:0123456789abcdef",
		},
		"LEAD_WEBHOOK_EVENTS": {"outcome", "lead.created", "lead.erased", "lead.outcome;lead.corrected", "all"},
		"LEAD_WEBHOOK_URL":    {"ftp://x", "https://a:b@x.example", "https://x.example/?a=b#c", "https://x.example/?a=ă"},
		"LOGO_HOSTS":          {"https://x/y", "a b"},
		"GRAPHQL_DOCUMENTS":   {"none"},
		"SMTP_URL":            {"http://mail.example", "smtp://", "smtps://user@mail.example"},
		"MAIL_FROM":           {"nobody", "a@b.example, c@d.example", "ștefania@b.example"},
		"SALES_MAIL_TO":       {",", strings.Repeat("a@b.example,", 10) + "c@d.example"},
		"SALES_LOCALE":        {"de"},
		"TIME_ZONE":           {"Local", "Europe/Nowhere"},
	}

	read := func(name, value string) string {
		_, err := config.Read(apptest.Lookup([]string{
			"ENVIRONMENT=development",
			"LEAD_WEBHOOK_SECRET=" + webhookSecret,
			"CDN_PURGE_KIND=varnish",
			"CDN_PURGE_TOKEN=t",
			name + "=" + value,
		}))
		return fmt.Sprint(err)
	}
	for name, values := range accepted {
		for _, value := range values {
			if err := read(name, value); err != "<nil>" {
				t.Errorf("%s=%s: %s", name, value, err)
			}
		}
	}
	for name, values := range refused {
		for _, value := range values {
			if err := read(name, value); !strings.Contains(err, "\n"+name+": ") {
				t.Errorf("%s=%q: %s", name, value, err)
			}
		}
	}
}

// Values that are valid in development, or alone, may be rejected in production, or with
// another setting.
func TestIncompatibleSettings(t *testing.T) {
	t.Parallel()
	for settings, want := range map[string]string{
		"CACHE_API_TOKEN=dev-cache-token":     "CACHE_API_TOKEN: contains the well-known development token",
		"SANITY_TOKEN=dev-cache-token":        "SANITY_TOKEN: contains the well-known development token",
		"CMS_WEBHOOK_SECRET=":                 "CMS_WEBHOOK_SECRET: is required in production",
		"CMS_WEBHOOK_SECRET=x,a":              "CMS_WEBHOOK_SECRET: contains a token of CACHE_API_TOKEN",
		"ADMIN_PAGE=on":                       "ADMIN_API_TOKEN: is required with ADMIN_PAGE=on",
		"ADMIN_API_TOKEN=0123456789abcde":     "ADMIN_API_TOKEN: is easy to guess",
		"PREVIEW_TOKENS=0123456789abcde":      "PREVIEW_TOKENS: is easy to guess",
		"OIDC_ISSUER=https://id.example":      "OIDC_ROLES: is required with OIDC_ISSUER",
		"LEAD_WEBHOOK_URL=http://x.example":   "LEAD_WEBHOOK_URL: ",
		"LEAD_WEBHOOK_URL=https://x.example":  "LEAD_WEBHOOK_SECRET: ",
		"FRONT_PAGE=on CONTENT_TYPES=faq":     "CONTENT_TYPES: ",
		"CDN_PURGE_URL=http://varnish:6081":   "CDN_PURGE_KIND: ",
		"REVALIDATE_URLS=http://next:3000/":   "REVALIDATE_SECRET: ",
		"SMTP_URL=smtp://mail.example":        "SALES_MAIL_TO: ",
		"SANITY_API_URL=http://sanity.sample": "SANITY_API_URL: ",
		"CMS_DRIVER=sanity SANITY_DATASET=~a": "SANITY_DATASET: must be a dataset and not an alias",
		"GRAPHQL_OPERATIONS=trusted":          "GRAPHQL_DOCUMENTS: ",
		"LISTEN_ADDR=:9090":                   "ADMIN_ADDR: must have another port",
		"LISTEN_ADDR=127.0.0.1:9090":          "ADMIN_ADDR: must have another port",
		"LISTEN_ADDR=:9090 ADMIN_ADDR=off":    "<nil>",
		"LISTEN_ADDR=:0 ADMIN_ADDR=:0":        "<nil>",
		"LISTEN_ADDR=[::1]:80 ADMIN_ADDR=:81": "<nil>",
		"LISTEN_ADDR=10.0.0.1:9090":           "<nil>", // another host of this machine
		"CDN_PURGE_URL=http://api.fastly.com CDN_PURGE_KIND=fastly CDN_PURGE_TOKEN=t": "CDN_PURGE_URL: ",

		// Assistants find the service by its public address, and operators by their accounts.
		"MCP_SIGN_IN=on": "MCP_SIGN_IN: needs MCP=on",
		"MCP_SIGN_IN=on MCP=on SITE_URL=https://site.example":         "OIDC_ISSUER: is required with MCP_SIGN_IN=on",
		"MCP_SIGN_IN=on MCP=on OIDC_ISSUER=https://id.example":        "SITE_URL: is required with MCP_SIGN_IN=on",
		"MCP_SIGN_IN=on MCP=on SITE_URL=https://site.example/backend": "SITE_URL: must be an https address without a path",
		"MCP_SIGN_IN=on MCP=on SITE_URL=http://site.example":          "SITE_URL: must be an https address without a path",
		"MCP_CLIENTS=https://claude.ai/client.json":                   "MCP_CLIENTS: ",

		// The inbox is served on the public address with any way to sign in.
		"ADMIN_PAGE=on ADMIN_API_TOKEN=0123456789abcdef":        "<nil>",
		"ADMIN_PAGE=on ADMIN_TOKENS=ana:sales:0123456789abcdef": "<nil>",
		"ADMIN_PAGE=on ADMIN_TOKENS=ana:sales:0123456789abcde":  "ADMIN_TOKENS: is easy to guess",
		"ADMIN_PAGE=on ADMIN_TOKENS=,":                          "ADMIN_",
	} {
		env := append([]string{"CACHE_API_TOKEN=a", "CMS_WEBHOOK_SECRET=b"}, strings.Fields(settings)...)
		_, err := config.Read(apptest.Lookup(env))
		if !strings.Contains("\n"+fmt.Sprint(err), "\n"+want) {
			t.Errorf("%s: %v", settings, err)
		}
	}
}

// All problems are reported at once: those of single settings, of combinations, and of
// the files to serve.
func TestEveryProblemIsNamed(t *testing.T) {
	t.Parallel()
	content, documents := filepath.Join(t.TempDir(), "content.json"), filepath.Join(t.TempDir(), "x.graphql")
	for path, text := range map[string]string{content: "[{]", documents: "{ noSuchField }"} {
		must(t, os.WriteFile(path, []byte(text), 0o600))
	}

	for _, args := range []string{"config", "serve", "doctor"} {
		out, code := apptest.Command(t, []string{
			"CMS_WEBHOOK_SECRET=b",
			"LOG_LEVEL=x",
			"FRONT_PAGE=on",
			"CONTENT_TYPES=",
			"CMS_DRIVER=file",
			"CMS_FILE=" + content,
			"GRAPHQL_DOCUMENTS=" + filepath.Dir(documents),
		}, args)
		for _, want := range []string{
			"LOG_LEVEL: must be",
			"CACHE_API_TOKEN: is required",
			"CONTENT_TYPES: must have quoteOption",
			"CMS_FILE: " + content + " is invalid: line 1",
			"GRAPHQL_DOCUMENTS: ",
		} {
			if code == 0 || strings.Count(out, want) != 1 {
				t.Errorf("%s: exit code %d, want %q once: %s", args, code, want, out)
			}
		}
	}
}

// Production does not serve the sample company: it requires a CMS, or its own content.
// Commands that do not serve still work.
func TestProductionServesNoSample(t *testing.T) {
	t.Parallel()
	sample := filepath.Join(t.TempDir(), "content.json") // as written in development
	must(t, os.WriteFile(sample, cmsfile.Sample(), 0o600))

	production := []string{"ENVIRONMENT=production", "CACHE_API_TOKEN=a", "CMS_WEBHOOK_SECRET=b"}
	for _, tt := range []struct {
		env  []string
		want string
	}{
		{nil, "CMS_DRIVER: is required in production"},
		{[]string{"CMS_DRIVER=file"}, "CMS_FILE: is required in production"},
		{[]string{"CMS_DRIVER=file", "DATA_DIR=" + filepath.Dir(sample)}, "contains the sample content"},
		{[]string{"CMS_DRIVER=file", "CMS_FILE=" + apptest.OwnContent(t)}, "CMS_DRIVER=file"},
	} {
		if out, _ := apptest.Command(t, append(tt.env, production...), "config"); !strings.Contains(out, tt.want) {
			t.Errorf("config with %v: %s", tt.env, out)
		}
	}
	if out, code := apptest.Command(t, production, "migrate"); code != 0 {
		t.Errorf("migrate: exit code %d, %s", code, out)
	}
}

// Settings can be read from a file. The environment takes precedence, and a variable
// whose name is close to that of a setting causes a warning.
func TestEnvFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "siteapi.env")
	lines := "# settings\nENVIRONMENT=development\nCONTENT_TTL=2m\nexport\tCONTENT_TTL=\"3m\"\n" +
		"SITE_URL=https://from.the.file\nRATE_LIMIT=off\nCACHE_API_TOKEN=a$b,c\nGOGC=50\nGOMEMLIMIT=off\n" +
		"LONG=" + strings.Repeat("x", 100_000) + "\n"

	must(t, os.WriteFile(file, []byte(lines), 0o600))

	out, code := apptest.Command(t, []string{"SITE_URL=https://from.the.environment", "GOGC=60"},
		"--env-file", file, "config")
	for _, want := range []string{
		"ENVIRONMENT=development",
		"CONTENT_TTL=3m",
		"SITE_URL=https://from.the.environment",
		"CACHE_API_TOKEN=(secret, 2 value(s))",
		"RATE_LIMIT is not a setting: did you mean RATE_LIMITS?",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q", want)
		}
	}

	if code != 0 || strings.Contains(out, "GOGC") {
		t.Errorf("exit code %d: %s", code, out)
	}

	// Editors on Windows begin a file with a byte order mark and end lines with \r\n.
	for text, want := range map[string]string{
		"\ufeffCONTENT_TTL=4m\r\n":               "CONTENT_TTL=4m",
		"\ufeff# settings\r\nCONTENT_TTL=5m\r\n": "CONTENT_TTL=5m",
		"\ufeff\r\n\r\nCONTENT_TTL='6m'":         "CONTENT_TTL=6m",
		"\ufeff":                                 "CONTENT_TTL=",
	} {
		must(t, os.WriteFile(file, []byte(text), 0o600))
		if out, code := apptest.Command(t, []string{"ENVIRONMENT=development"}, "--env-file", file, "config"); code != 0 ||
			!strings.Contains(out, want) || strings.Contains(out, "is not a setting") {
			t.Errorf("%q: exit code %d: %s", text, code, out)
		}
	}

	if out, code := apptest.Command(t, nil, "--env-file", file+".none", "config"); code == 0 ||
		!strings.Contains(out, "no such file") {
		t.Errorf("a missing file: %d %s", code, out)
	}
}

// The manual's table lists every setting with its default and its meaning.
func TestManualOfSettings(t *testing.T) {
	t.Parallel()
	rows, table := regexp.MustCompile("(?m)^\\| `([A-Z_]+)` \\| (.+) \\| (.+) \\|$").
		FindAllStringSubmatch(manual(t, "cmd/siteapi/README.md"), -1), config.Table()

	for i, item := range table {
		def := strings.Replace("`"+item.Default+"`", "``", "–", 1)
		if item.Development != "" {
			def += "; in development `" + item.Development + "`"
		}

		if i == len(rows) || rows[i][1] != item.Name || rows[i][2] != def {
			t.Fatalf("want a row of %s with the default %s after %q", item.Name, def, rows[max(i, 1)-1])
		}
		words := item.Words
		if item.Name == "CDN_PURGE_KIND" {
			words = strings.Split(edge.Kinds(), ", ")
		}
		for _, word := range words {
			if !strings.Contains(rows[i][3], "`"+word+"`") {
				t.Errorf("the row of %s does not name `%s`", item.Name, word)
			}
		}
	}
	if len(rows) > len(table) {
		t.Errorf("these rows have no setting: %q", rows[len(table):])
	}
}

// The manual lists each direct dependency.
func TestManualOfDependencies(t *testing.T) {
	t.Parallel()
	text := manual(t, "cmd/siteapi/README.md")
	for line := range strings.Lines(manual(t, "go.mod")) {
		words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(words) == 2 && strings.HasPrefix(words[1], "v") &&
			!strings.Contains(text, "| `"+words[0]+"` |") {
			t.Errorf("the manual lacks %s", words[0])
		}
	}
}
