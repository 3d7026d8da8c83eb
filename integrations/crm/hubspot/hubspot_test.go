package hubspot_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"siteapi/integrations/crm/crmtest"
	"siteapi/integrations/crm/hubspot"
	"siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/quote"
	"siteapi/integrations/upstream"
)

const ana = "ana@example.com"

// account is a driver with a stand-in behind it.
type account struct {
	*hubspot.Driver
	server *hubspottest.Server

	mu     sync.Mutex
	gaps   []string
	sleeps []time.Duration
}

// reported returns the gaps that were reported.
func (a *account) reported() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.gaps)
}

// open starts a stand-in, without the quote properties where bare is true.
func open(t *testing.T, so hubspottest.Options, bare bool, change func(*hubspot.Options)) *account {
	t.Helper()
	a := &account{server: hubspottest.New(so)}
	t.Cleanup(a.server.Close)
	o := hubspot.Options{
		BaseURL: a.server.URL(), Token: hubspottest.Token, Timeout: 5 * time.Second,
		Report: func(gap string) { a.mu.Lock(); a.gaps = append(a.gaps, gap); a.mu.Unlock() },
		Sleep: func(ctx context.Context, d time.Duration) error {
			a.mu.Lock()
			a.sleeps = append(a.sleeps, d)
			a.mu.Unlock()
			return ctx.Err()
		},
	}
	if change != nil {
		change(&o)
	}
	a.Driver = hubspot.New(o)
	if !bare {
		if _, err := a.Setup(context.Background()); err != nil {
			t.Fatalf("setting up: %v", err)
		}
	}
	return a
}

func (a *account) subject() crmtest.Subject {
	return crmtest.Subject{
		Contacts: a.Driver,
		Contact: func(email string) (map[string]string, bool) {
			c, ok := a.server.Contact(email)
			return c.Properties, ok
		},
		Count: func() int { return len(a.server.Contacts()) },
	}
}

func TestContacts(t *testing.T) {
	t.Parallel()
	crmtest.Run(t, func(t *testing.T) crmtest.Subject {
		return open(t, hubspottest.Options{}, false, nil).subject()
	})
}

// TestContactsOfAVersionedPath runs the suite where both paths are other ones.
func TestContactsOfAVersionedPath(t *testing.T) {
	t.Parallel()
	crmtest.Run(t, func(t *testing.T) crmtest.Subject {
		const objects, properties = "/crm/objects/2026-03", "/crm/properties/2026-03"
		return open(t, hubspottest.Options{ObjectsPath: objects, PropertiesPath: properties}, false, func(o *hubspot.Options) {
			o.ObjectsPath, o.PropertiesPath = objects+"/", strings.Trim(properties, "/")
		}).subject()
	})
}

// TestUpsertWithLag makes sure that a contact which reads by address don't show yet
// is neither doubled nor an error.
func TestUpsertWithLag(t *testing.T) {
	t.Parallel()
	a := open(t, hubspottest.Options{ReadLag: time.Hour}, false, nil)
	for range 3 {
		if err := a.Upsert(context.Background(), crmtest.Lead(ana, nil)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(a.server.Contacts()); n != 1 {
		t.Errorf("there are %d contacts", n)
	}
}

// TestManyProcesses lets drivers without common turns upsert one address.
func TestManyProcesses(t *testing.T) {
	t.Parallel()
	a := open(t, hubspottest.Options{}, false, nil)
	var wg sync.WaitGroup
	for range 8 {
		d := hubspot.New(hubspot.Options{BaseURL: a.server.URL(), Token: hubspottest.Token})
		wg.Go(func() {
			if err := d.Upsert(context.Background(), crmtest.Lead(ana, nil)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(a.server.Contacts()); n != 1 {
		t.Errorf("there are %d contacts", n)
	}
}

// holding is a transport that holds the first read back until another request comes
// along, or for a while where none does.
type holding struct {
	first   sync.Once
	reading chan struct{} // closed once the first read is held
	another chan struct{}
}

func (h *holding) RoundTrip(r *http.Request) (*http.Response, error) {
	isFirst := false
	h.first.Do(func() { isFirst = true })
	resp, err := http.DefaultTransport.RoundTrip(r)
	if !isFirst {
		if r.Method == http.MethodPatch {
			defer func() { h.another <- struct{}{} }()
		}
		return resp, err
	}
	close(h.reading)
	select {
	case <-h.another:
	case <-time.After(100 * time.Millisecond):
	}
	return resp, err
}

// TestTakesTurns lets an older lead read, and a newer one come while it has not
// written yet: the newer one's quote must stand in the end.
func TestTakesTurns(t *testing.T) {
	t.Parallel()
	h := &holding{reading: make(chan struct{}), another: make(chan struct{}, 2)}
	a := open(t, hubspottest.Options{}, false, nil)
	a.server.Add(map[string]string{"email": ana})
	d := hubspot.New(hubspot.Options{BaseURL: a.server.URL(), Token: hubspottest.Token, Transport: h})
	var wg sync.WaitGroup
	wg.Go(func() {
		err := d.Upsert(context.Background(), crmtest.Lead(ana, func(s *quote.Submission) { s.ID, s.Estimate.Max = "older", 1 }))
		if err != nil {
			t.Error(err)
		}
	})
	<-h.reading
	newer := crmtest.Lead("Ana@example.com", func(s *quote.Submission) { s.SubmittedAt = s.SubmittedAt.Add(time.Second) })
	if err := d.Upsert(context.Background(), newer); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if c, _ := a.server.Contact(ana); c.Properties["quote_max"] != "1000000000" {
		t.Errorf("the older submission stands: %v", c.Properties)
	}
}

func TestPing(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*hubspot.Options)
		fault  *hubspottest.Fault
		want   upstream.Kind
	}{
		"wrong token":   {change: func(o *hubspot.Options) { o.Token = "pat-wrong" }, want: upstream.Refused},
		"wrong path":    {change: func(o *hubspot.Options) { o.ObjectsPath = "/v9" }, want: upstream.Refused},
		"nobody there":  {change: func(o *hubspot.Options) { o.BaseURL = "http://127.0.0.1:1" }, want: upstream.Unavailable},
		"other JSON":    {fault: fault(hubspottest.Answer(200, []byte(`{"hello":"world"}`))), want: upstream.Unavailable},
		"not JSON":      {fault: fault(hubspottest.Garbage()), want: upstream.Unavailable},
		"a bad gateway": {fault: fault(hubspottest.Answer(502, nil)), want: upstream.Unavailable},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := open(t, hubspottest.Options{}, true, tt.change)
			if tt.fault != nil {
				a.server.Fail(*tt.fault)
			}
			expectKind(t, a.Ping(context.Background()), tt.want)
		})
	}
}

func fault(f hubspottest.Fault) *hubspottest.Fault { return &f }

// expectKind makes sure that an error is of a kind and gives nothing away.
func expectKind(t *testing.T, err error, want upstream.Kind) *upstream.Error {
	t.Helper()
	var e *upstream.Error
	if !errors.As(err, &e) || e.Kind != want || e.System != "hubspot" || e.Op == "" {
		t.Fatalf("got %v, want an *upstream.Error, %s", err, want)
	}
	for _, secret := range []string{ana, "example.com", "Ștefania", "Núñez", "721 000", "Brânză", hubspottest.Token, "pat-"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error gives %q away: %v", secret, err)
		}
	}
	return e
}
