package manuals

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/cmd/siteapi/internal/config"
	cmsfile "siteapi/integrations/cms/file"
)

// A value that would keep the service from starting is named when settings are read.
func TestValuesThatAreRefused(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{ // values that are refused
		"LISTEN_ADDR":                        {"8080", ":65536", ":-1", ":http"},
		"ADMIN_ADDR":                         {"on", ":99999"},
		"DRAIN_DELAY":                        {"2", "-1s", "2h"},
		"MAX_CONNECTIONS":                    {"0", "-1", "x", "1e3"},
		"MAX_REQUESTS":                       {"0"},
		"ENVIRONMENT":                        {"staging", "Production"},
		"LOG_LEVEL":                          {"disabled", "fatal", "loud", "7"},
		"LOG_FORMAT":                         {"xml"},
		"OTEL_EXPORTER_OTLP_ENDPOINT":        {"collector:4318", "https://"},
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": {"ftp://x"},
		"OTEL_EXPORTER_OTLP_PROTOCOL":        {"grpc"},
		"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": {"http/json"},
		"OTEL_TRACES_EXPORTER":               {"console"},
		"OTEL_SDK_DISABLED":                  {"perhaps"},
		"DATABASE_URL": {
			"postgres://",
			"mysql://h?x=y",
			"postgres://h:65536/d",
			"postgres://h?pool_max_conns=x",
		},
		"CACHE_URL": {
			"x://x",
			"valkey://",
			"valkey://h/x",
			"redis://h:65536",
			"redis://h/-1",
			"redis://h//1",
		},
		"CMS_WEBHOOK_SIGNING_SECRET": {",", " , "},
		"CMS_DRIVER":                 {"wordpress"},
		"CMS_FILE":                   {"none.json"},
		"SANITY_PROJECT_ID":          {"A B", "-x"},
		"SANITY_DATASET":             {"Production", "a/b"},
		"SANITY_API_VERSION":         {"1", "2025-13-01", "latest"},
		"SANITY_API_URL":             {"ftp://x", "https://me:secret@sanity.example"},
		"CRM_DRIVER":                 {"x"},
		"HUBSPOT_API_URL":            {"https://", "https://me:secret@hubspot.example"},
		"HUBSPOT_API_VERSION":        {"3", "v4", "2026", "2026-13"},
		"SITE_URL":                   {"https://", "example.com", "https://x:65536", "https://me:secret@site.example"},
		"CONTENT_TTL":                {"soon", "0s", "0", "1ns", "999ms", "-1s", "999999d", "-213500d"},
		"CONTENT_TYPES":              {"heroSection quoteOption", "heroSection, quote Option"},
		"CDN_MAX_AGE":                {"61s", "-1s", "367d"},
		"CDN_PURGE_KIND":             {"akamai"},
		"CDN_PURGE_URL":              {"varnish:6081", "https://user@cdn.example/purge", "https://cdn.example/?a=b c", ","},
		"REVALIDATE_URLS":            {"site.example", "https://site.example/#x", "https://site.example/?a=ă"},
		"REVALIDATE_SECRET":          {"short", "whsec_YQ=="},
		"CORS_ALLOWED_ORIGINS": {
			"https://",
			"https://A.example",
			"https://a.example:443",
			"http://a.example:80",
			"https://a.example/",
			"a.example",
			"https://*.example",
			"https://ü.example",
		},
		"TRUSTED_PROXIES":    {"10.0.0.0/99", "proxy", "::ffff:10.0.0.0/104"},
		"RATE_LIMITS":        {"maybe"},
		"MCP":                {"yes"},
		"AUDIT_RETENTION":    {"-1h", "213505d", "-213503d"},
		"OIDC_ISSUER":        {"login.example.com", "https://login.example.com?a=b"},
		"OIDC_REDIRECT_URL":  {"/admin/callback"},
		"OIDC_ROLES":         {"owner=ops", "admin", "admin=", "ADMIN=ops", "sales=a||b"},
		"TRACK_RETENTION":    {"-1h", "213505d", "-213503d"},
		"LEAD_RETENTION":     {"1h", "999999d", "-213502d", "-9223372036854775808d"},
		"SPAM_MIN_TIME":      {"3"},
		"TURNSTILE_API_URL":  {"x", "https://me:secret@turnstile.example"},
		"DELIVERY_RETRY_MAX": {"50ms", "25h"},
		"DELIVERY_RATE":      {"NaN", "-1", "+Inf", "x"},
		"ADMIN_PAGE":         {"x"},
		"ADMIN_TOKENS":       {"0123456789abcdef", "ana:boss:0123456789abcdef", "Ana:sales:0123456789abcdef"},
		"FRONT_PAGE":         {"x"},
		"LEAD_WEBHOOK_URL": {
			"x",
			"ftp://x",
			"https://",
			"https://x:65536/?a=b",
			"https://a:b@x.example",
			"https://x.example/?a=b#c",
			"https://x.example/?a=b c",
			"https://x.example/?a=b\tc",
			"https://x.example/?a=ă",
			"https://x.example/?a=b\x7f",
		},
		"LEAD_WEBHOOK_FORMAT":    {"xml"},
		"LEAD_WEBHOOK_SECRET":    {"secret", "whsec_c2hvcnQ=", "whsec_?"},
		"LOGO_HOSTS":             {"https://x/y", "a b"},
		"GRAPHQL_INTROSPECTION":  {"x"},
		"GRAPHQL_PLAYGROUND":     {"x"},
		"GRAPHQL_OPERATIONS":     {"all", "trusted"},
		"GRAPHQL_DOCUMENTS":      {"none"},
		"SMTP_URL":               {"http://mail.example", "smtp://", "smtps://user@mail.example", "mail.example:25"},
		"MAIL_FROM":              {"nobody", "a@b.example, c@d.example", "ștefania@b.example"},
		"SALES_MAIL_TO":          {"nobody", ",", strings.Repeat("a@b.example,", 10) + "c@d.example"},
		"VISITOR_MAIL":           {"yes"},
		"VISITOR_MAILS_PER_HOUR": {"0"},
		"TRACK_CONTACT":          {"yes"},
		"SALES_LOCALE":           {"de", "EN"},
		"TIME_ZONE":              {"Local", "Europe/Nowhere"},
	}

	for name, values := range tests {
		for _, value := range values {
			env := map[string]string{"ENVIRONMENT": "development", name: value}
			want := name
			if name == "GRAPHQL_OPERATIONS" && value == "trusted" {
				want = "GRAPHQL_DOCUMENTS" // trusted operations require it
			}

			if _, err := config.Read(func(name string) string { return env[name] }); err == nil ||
				!strings.Contains(err.Error(), "\n"+want+": ") {
				t.Errorf("%s=%q: %v", name, value, err)
			}
		}
	}
}

// Values that are valid in development, or alone, may be refused in production, or with
// another setting.
func TestSettingsThatDoNotGoTogether(t *testing.T) {
	t.Parallel()
	for name, env := range map[string][]string{
		"CACHE_API_TOKEN":     {"CACHE_API_TOKEN=dev-cache-token"},
		"CMS_WEBHOOK_SECRET":  {"CMS_WEBHOOK_SECRET="},
		"ADMIN_API_TOKEN":     {"ADMIN_API_TOKEN=0123456789abcdef,dev-admin-token"},
		"LEAD_WEBHOOK_URL":    {"LEAD_WEBHOOK_URL=http://hooks.example", "LEAD_WEBHOOK_FORMAT=slack"},
		"LEAD_WEBHOOK_SECRET": {"LEAD_WEBHOOK_URL=https://hooks.example"},
		"CONTENT_TYPES":       {"FRONT_PAGE=on", "CONTENT_TYPES=heroSection"},
		"CDN_MAX_AGE":         {"CDN_MAX_AGE=61s"},
		"CDN_PURGE_KIND":      {"CDN_PURGE_URL=http://varnish:6081", "CDN_PURGE_TOKEN=t"},
		"CDN_PURGE_TOKEN":     {"CDN_PURGE_URL=http://varnish:6081", "CDN_PURGE_KIND=varnish"},
		"CDN_PURGE_URL": {
			"CDN_PURGE_URL=http://api.fastly.com/service/x/purge", "CDN_PURGE_KIND=fastly", "CDN_PURGE_TOKEN=t",
		},
		"REVALIDATE_SECRET":          {"REVALIDATE_URLS=http://next:3000/api/revalidate"},
		"MAIL_FROM":                  {"SMTP_URL=smtp://mail.example", "SALES_MAIL_TO=sales@lumen.example"},
		"SALES_MAIL_TO":              {"SMTP_URL=smtp://mail.example", "MAIL_FROM=quotes@lumen.example"},
		"SANITY_TOKEN":               {"SANITY_TOKEN=dev-cache-token"},
		"CMS_WEBHOOK_SIGNING_SECRET": {"CMS_WEBHOOK_SIGNING_SECRET=x,dev-webhook-secret"},
		"SANITY_API_URL":             {"SANITY_API_URL=http://sanity.example"},
		"HUBSPOT_API_URL":            {"HUBSPOT_API_URL=http://10.0.0.5"},
		"TURNSTILE_API_URL":          {"TURNSTILE_API_URL=http://localhost.example"},
	} {
		env = append([]string{
			"ENVIRONMENT=production",
			"CACHE_API_TOKEN=a",
			"CMS_WEBHOOK_SECRET=b",
			"CMS_DRIVER=file",
			"CMS_FILE=" + apptest.OwnContent(t),
		}, env...)
		if out, code := apptest.Command(t, env, "config"); code == 0 || !strings.Contains(out, name+": ") ||
			strings.Count(out, ": ") > 3 {
			t.Errorf("%s: exit code %d, %s", name, code, out)
		}
	}

	for setting, want := range map[string]string{
		"ADMIN_PAGE=on":                   "ADMIN_API_TOKEN: is required with ADMIN_PAGE=on",
		"ADMIN_API_TOKEN=0123456789abcde": "ADMIN_API_TOKEN: opens personal data and is easy to guess",
		"OIDC_ISSUER=https://id.example":  "OIDC_ROLES: is required with OIDC_ISSUER",
		"CMS_WEBHOOK_SECRET=x,a":          "CMS_WEBHOOK_SECRET: holds a token of CACHE_API_TOKEN",
		"CMS_WEBHOOK_SIGNING_SECRET=x,b":  "CMS_WEBHOOK_SIGNING_SECRET: holds a token of CMS_WEBHOOK_SECRET",
		"CDN_PURGE_TOKEN=a":               "CDN_PURGE_TOKEN: holds a token of CACHE_API_TOKEN",
		"PREVIEW_TOKENS=0123456789abcde":  "PREVIEW_TOKENS: opens drafts and is easy to guess",
		"CACHE_API_TOKEN=dev-admin-token": "CACHE_API_TOKEN: holds the well-known value of development",
	} {
		env := []string{"ENVIRONMENT=production", "CACHE_API_TOKEN=a", "CMS_WEBHOOK_SECRET=b", setting}
		if out, code := apptest.Command(t, env, "config"); code == 0 || !strings.Contains(out, want) {
			t.Errorf("%s: %d %s", setting, code, out)
		}
	}
}

// All problems are named at once: those of single settings, of several together, and of what
// would be served.
func TestEveryProblemIsNamed(t *testing.T) {
	t.Parallel()
	env := []string{
		"ENVIRONMENT=production",
		"CMS_WEBHOOK_SECRET=b",
		"LOG_LEVEL=x",
		"CMS_DRIVER=",
		"FRONT_PAGE=on",
		"CONTENT_TYPES=",
	}
	for _, args := range []string{"config", "serve", "doctor"} {
		out, code := apptest.Command(t, env, args)
		for _, want := range []string{
			"LOG_LEVEL: must be",
			"CACHE_API_TOKEN: is required",
			"CMS_DRIVER: is required",
			"CONTENT_TYPES: must have heroSection and quoteOption",
		} {
			if code == 0 || strings.Count(out, want) != 1 {
				t.Errorf("%s: exit code %d, want %q once: %s", args, code, want, out)
			}
		}
	}

	// Whether content may be served is not judged by settings that cannot be used.
	env = append(env, "CMS_DRIVER=wordpress")
	if out, _ := apptest.Command(t, env, "config"); strings.Count(out, "CMS_DRIVER: ") != 1 {
		t.Errorf("a wrong driver: %s", out)
	}
}

// Files that settings name are read before the start, by doctor and config, too.
func TestUnusableFilesAreNamed(t *testing.T) {
	t.Parallel()
	content := filepath.Join(t.TempDir(), "content.json")
	documents := filepath.Join(t.TempDir(), "x.graphql")
	for path, text := range map[string]string{content: "[{]", documents: "{ noSuchField }"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	env := []string{
		"ENVIRONMENT=development",
		"DATA_DIR=" + t.TempDir(),
		"CMS_FILE=" + content,
		"GRAPHQL_DOCUMENTS=" + filepath.Dir(documents),
	}
	for _, args := range []string{"config", "serve", "doctor"} {
		out, code := apptest.Command(t, env, args)
		for _, want := range []string{"CMS_FILE: " + content + " cannot be used: line 1", "GRAPHQL_DOCUMENTS: "} {
			if code == 0 || strings.Count(out, want) != 1 || strings.Contains(out, "earlier content") {
				t.Errorf("%s: exit code %d, want %q once: %s", args, code, want, out)
			}
		}
		if args == "doctor" && (!regexp.MustCompile(`(?m)^failed +content `).MatchString(out) ||
			!regexp.MustCompile(`(?m)^ok +mail `).MatchString(out)) {
			t.Errorf("content is what fails, and mail does not: %s", out)
		}
	}
}

// Development accepts what production refuses, and warns of it.
func TestDevelopmentWarns(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]string{
		"CACHE_API_TOKEN=dev-webhook-secret":   "CACHE_API_TOKEN holds the well-known value",
		"SANITY_API_URL=http://sanity.example": "SANITY_API_URL must begin with https://",
		"CONTENT_TYPES=faq":                    "CONTENT_TYPES must have heroSection",
		"ADMIN_API_TOKEN=dev-admin-token":      "ADMIN_API_TOKEN holds the well-known value",
	} {
		out, code := apptest.Command(t, []string{"ENVIRONMENT=development", setting}, "config")
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("%s: exit code %d, %s", setting, code, out)
		}
	}

	if out, code := apptest.Command(t, []string{"ENVIRONMENT=development"}, "config"); code != 0 ||
		strings.Contains(out, "production refuses it") {
		t.Errorf("the defaults: exit code %d, %s", code, out)
	}
}

// Production serves no sample company: it wants a CMS, or content of its own. Commands
// that don't serve are not refused.
func TestProductionServesNoSample(t *testing.T) {
	t.Parallel()
	written := t.TempDir() // holds the sample, as development writes it
	if err := os.WriteFile(filepath.Join(written, "content.json"), cmsfile.Sample(), 0o600); err != nil {
		t.Fatal(err)
	}

	own, err := os.ReadFile(apptest.OwnContent(t))
	if err != nil {
		t.Fatal(err)
	}
	kept := t.TempDir()
	if err := os.WriteFile(filepath.Join(kept, "content.json"), own, 0o600); err != nil {
		t.Fatal(err)
	}

	production := []string{"ENVIRONMENT=production", "CACHE_API_TOKEN=a", "CMS_WEBHOOK_SECRET=b"}
	for _, tt := range []struct {
		env  []string
		want string // empty if it is accepted
	}{
		{nil, "CMS_DRIVER: is required in production"},
		{[]string{"CMS_DRIVER=file"}, "CMS_FILE: is required in production"},
		{[]string{"CMS_DRIVER=file", "DATA_DIR=" + written}, "holds the sample company"},
		{[]string{"CMS_DRIVER=file", "CMS_FILE=" + filepath.Join(written, "content.json")}, "holds the sample company"},
		{[]string{"CMS_DRIVER=file", "DATA_DIR=" + kept}, ""},
		{[]string{"CMS_DRIVER=file", "CMS_FILE=" + apptest.OwnContent(t)}, ""},
	} {
		env := append(slices.Clone(production), tt.env...)
		if out, code := apptest.Command(t, env, "config"); (code == 0) != (tt.want == "") || !strings.Contains(out, tt.want) {
			t.Errorf("config with %v: exit code %d, %s", tt.env, code, out)
		}
		if tt.want == "" {
			continue
		}
		if out, code := apptest.Command(t, env, "serve"); code == 0 || !strings.Contains(out, tt.want) {
			t.Errorf("serve with %v: exit code %d, %s", tt.env, code, out)
		}
	}

	if out, code := apptest.Command(t, production, "migrate"); code != 0 {
		t.Errorf("migrate: exit code %d, %s", code, out)
	}
}

// Every documented form of every setting is accepted.
func TestDocumentedSettings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "content.json")
	if err := os.WriteFile(file, []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}

	webhookSecret := "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 32))
	tests := map[string][]string{
		"LISTEN_ADDR":                 {":8080", "127.0.0.1:0", "[::1]:80", "localhost:8080"},
		"DRAIN_DELAY":                 {"0s", "2s", "1m"},
		"MAX_CONNECTIONS":             {"1", "2048"},
		"MAX_REQUESTS":                {"512"},
		"ADMIN_ADDR":                  {"off", "127.0.0.1:9090"},
		"ENVIRONMENT":                 {"production", "development", "development "},
		"LOG_LEVEL":                   {"trace", "debug", "INFO", "warn", "error"},
		"LOG_FORMAT":                  {"json", "console"},
		"OTEL_EXPORTER_OTLP_ENDPOINT": {"http://127.0.0.1:4318", "https://otel.example/base"},
		"DATA_DIR":                    {dir},
		"DATABASE_URL": {
			"postgres://u:p@h/d",
			"postgresql://h:5433/d?sslmode=disable&pool_max_conns=5",
			"postgres:///d?host=/run/postgresql",
		},
		"CACHE_URL": {
			"memory://",
			"valkey://h",
			"valkey://h:6379/0",
			"valkeys://u:p@h:6379/2",
			"redis://h/",
			"rediss://h:6380",
		},
		"CACHE_PREFIX":               {"other:"},
		"CACHE_API_TOKEN":            {"a", "a,b"},
		"CMS_WEBHOOK_SECRET":         {"a , b"},
		"CMS_WEBHOOK_SIGNING_SECRET": {"a,b"},
		"CMS_DRIVER":                 {"file", "sanity"},
		"CMS_FILE":                   {file},
		"CMS_WATCH":                  {"on", "off"},
		"SANITY_PROJECT_ID":          {"abc12345"},
		"SANITY_DATASET":             {"production", "~alias", "a_b-c"},
		"SANITY_API_VERSION":         {"2025-02-19", "v2025-02-19"},
		"SANITY_TOKEN":               {"sk"},
		"SANITY_API_URL":             {"http://127.0.0.1:3333"},
		"CRM_DRIVER":                 {"file", "hubspot"},
		"HUBSPOT_TOKEN":              {"pat-x"},
		"HUBSPOT_API_URL":            {"https://api.hubapi.com/"},
		"HUBSPOT_API_VERSION":        {"v3", "2026-09"},
		"SITE_URL":                   {"https://api.example.com", "https://example.com/api/"},
		"CONTENT_TYPES":              {"heroSection,quoteOption"},
		"CONTENT_TTL":                {"1s", "30s", "12h", "1d"},
		"CDN_MAX_AGE":                {"0s", "30s", "1m"},
		"CDN_PURGE_KIND":             {"varnish", "fastly", "cloudflare"},
		"CDN_PURGE_URL":              {"https://api.fastly.com/service/x/purge", "https://a.example,https://b.example/x"},
		"CDN_PURGE_TOKEN":            {"t"},
		"REVALIDATE_URLS":            {"http://next-1:3000/api/revalidate?x=y,http://next-2:3000/api/revalidate"},
		"REVALIDATE_SECRET":          {webhookSecret},
		"CORS_ALLOWED_ORIGINS":       {"*", "https://example.com,http://localhost:3000"},
		"TRUSTED_PROXIES":            {"10.0.0.0/8,192.0.2.1,2001:db8::/32"},
		"RATE_LIMITS":                {"on", "off"},
		"MCP":                        {"on", "off"},
		"AUDIT_RETENTION":            {"0s", "730d"},
		"TRACK_CONTACT":              {"on", "consent", "off"},
		"OIDC_ISSUER":                {"https://login.example.com/"},
		"OIDC_CLIENT_ID":             {"siteapi"},
		"OIDC_CLIENT_SECRET":         {"secret"},
		"OIDC_REDIRECT_URL":          {"https://api.example.com/admin/callback"},
		"OIDC_GROUPS_CLAIM":          {"groups", "roles"},
		"OIDC_ROLES":                 {"viewer=marketing,sales=sales|desk,admin=ops"},
		"TRACK_RETENTION":            {"0s", "90d"},
		"LEAD_RETENTION":             {"0s", "1d", "36500d"},
		"SPAM_MIN_TIME":              {"3s"},
		"TURNSTILE_SECRET":           {"0x4"},
		"TURNSTILE_API_URL":          {"https://challenges.cloudflare.com"},
		"DELIVERY_RETRY_MAX":         {"100ms", "15m", "24h", "1d"},
		"ADMIN_API_TOKEN":            {"0123456789abcdef,fedcba9876543210"},
		"ADMIN_PAGE":                 {"on", "off"},
		"PREVIEW_TOKENS":             {"2123456789abcdef,3123456789abcdef"},
		"ADMIN_TOKENS":               {"ana:sales:1123456789abcdef,bo-2:viewer:fedcba9876543210"},
		"FRONT_PAGE":                 {"on", "off"},
		"LEAD_WEBHOOK_URL":           {"https://hooks.example/x?sig=y", "http://10.0.0.5:5678/leads"},
		"LEAD_WEBHOOK_FORMAT":        {"json", "slack"},
		"LEAD_WEBHOOK_SECRET":        {webhookSecret, webhookSecret + "," + webhookSecret},
		"DELIVERY_RATE":              {"0", "2.5", "100"},
		"SMTP_URL":                   {"smtps://siteapi:p%40ss@mail.example:465", "smtp://127.0.0.1", "smtp://[::1]:25"},
		"MAIL_FROM":                  {"quotes@lumen.example", "Lumen Studio <quotes@lumen.example>"},
		"SALES_MAIL_TO":              {"a@b.example", "a@b.example, Ana <c@d.example>"},
		"VISITOR_MAIL":               {"on", "off"},
		"VISITOR_MAILS_PER_HOUR":     {"200"},
		"SALES_LOCALE":               {"es", "ro"},
		"TIME_ZONE":                  {"Europe/Bucharest"},
		"LOGO_HOSTS": {
			"cdn.sanity.io",
			"*.example.com,cdn.example.com:8443,http://127.0.0.1:1",
		},
		"GRAPHQL_INTROSPECTION": {"on", "off"},
		"GRAPHQL_PLAYGROUND":    {"on", "off"},
		"GRAPHQL_OPERATIONS":    {"any", "trusted"},
		"GRAPHQL_DOCUMENTS":     {dir},
	}

	for _, item := range config.Table() {
		if len(tests[item.Name]) == 0 {
			t.Errorf("%s: no form of it is tried", item.Name)
		}
		for _, value := range tests[item.Name] {
			env := map[string]string{
				"ENVIRONMENT":         "production",
				"CACHE_API_TOKEN":     "token",
				"CONTENT_TYPES":       "heroSection,quoteOption",
				"CMS_WEBHOOK_SECRET":  "secret",
				"SANITY_PROJECT_ID":   "p",
				"SANITY_TOKEN":        "t",
				"ADMIN_API_TOKEN":     "0123456789abcdef",
				"LEAD_WEBHOOK_SECRET": webhookSecret,
				"CDN_PURGE_KIND":      "fastly",
				"CDN_PURGE_TOKEN":     "t",
				"REVALIDATE_SECRET":   webhookSecret,
				"HUBSPOT_TOKEN":       "t",
				"MAIL_FROM":           "quotes@lumen.example",
				"SALES_MAIL_TO":       "sales@lumen.example",
				"OIDC_CLIENT_ID":      "siteapi",
				"OIDC_CLIENT_SECRET":  "s",
				"OIDC_REDIRECT_URL":   "https://api.example.com/admin/callback",
				"OIDC_ROLES":          "admin=ops",
				"GRAPHQL_DOCUMENTS":   dir,
				item.Name:             value,
			}

			if _, err := config.Read(func(name string) string { return env[name] }); err != nil {
				t.Errorf("%s=%s: %v", item.Name, value, err)
			}
		}
	}
}

// Settings may be in a file. The environment wins, and a variable with nearly the name of
// a setting causes a warning.
func TestEnvFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "siteapi.env")
	lines := "# settings\nENVIRONMENT=development\nCONTENT_TTL=2m\nexport\tCONTENT_TTL=\"3m\"\n" +
		"SITE_URL=https://from.the.file\n" +
		"RATE_LIMIT=off\nCACHE_API_TOKEN=a$b,c\nGOGC=50\nGOMEMLIMIT=off\n" +
		"LONG=" + strings.Repeat("x", 100_000) + "\n"

	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}

	out, code := apptest.Command(t, []string{"SITE_URL=https://from.the.environment", "GOGC=60"},
		"--env-file", file, "config")
	for _, want := range []string{
		"ENVIRONMENT=development",
		"CONTENT_TTL=3m",
		"SITE_URL=https://from.the.environment",
		"CACHE_API_TOKEN=(secret, 2 value(s))",
		"RATE_LIMIT is not a setting: did you mean RATE_LIMITS?",
		"line 9: GOMEMLIMIT is ignored: set it in the environment",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q", want)
		}
	}

	if code != 0 || strings.Contains(out, "GOGC") {
		t.Errorf("exit code %d: %s", code, out)
	}

	if out, code := apptest.Command(t, nil, "--env-file", file+".none", "config"); code == 0 ||
		!strings.Contains(out, "no such file") {
		t.Errorf("a missing file: %d %s", code, out)
	}
}

// The manual's table names every setting with its default, and says what it means.
func TestManualOfSettings(t *testing.T) {
	t.Parallel()
	rows, table := regexp.MustCompile("(?m)^\\| `([A-Z_]+)` \\| (.+) \\| .+ \\|$").
		FindAllStringSubmatch(manual(t, "cmd/siteapi/README.md"), -1), config.Table()
	for _, item := range table {
		if !slices.ContainsFunc(rows, func(row []string) bool { return row[1] == item.Name }) {
			t.Errorf("cmd/siteapi/README.md has no row for %s", item.Name)
		}
	}
	if len(rows) != len(table) {
		t.Fatalf("there are %d settings, and %d rows", len(table), len(rows))
	}

	for i, item := range table {
		def := strings.Replace("`"+item.Default+"`", "``", "–", 1)
		if item.Development != "" {
			def += "; in development `" + item.Development + "`"
		}

		if rows[i][1] != item.Name || rows[i][2] != def {
			t.Errorf("row %d is %s with the default %s, want %s with %s",
				i, rows[i][1], rows[i][2], item.Name, def)
		}
	}
}

// The manual has a line for each direct module.
func TestManualOfDependencies(t *testing.T) {
	t.Parallel()
	text := manual(t, "cmd/siteapi/README.md")
	for line := range strings.Lines(manual(t, "go.mod")) {
		words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(words) == 2 && strings.HasPrefix(words[1], "v") &&
			!strings.Contains(text, "| `"+words[0]+"` |") {
			t.Errorf("%s is missing", words[0])
		}
	}
}
