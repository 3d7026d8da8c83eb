package riverqueue_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"

	"siteapi/integrations/delivery"
	"siteapi/integrations/delivery/riverqueue"
	"siteapi/integrations/quote"
)

func TestOptions(t *testing.T) {
	t.Parallel()
	send := func(context.Context, *quote.Submission) error { return nil }
	cases := map[string]struct {
		change func(o *riverqueue.Options)
		want   string // empty: fine
	}{
		"fine":            {func(*riverqueue.Options) {}, ""},
		"no load":         {func(o *riverqueue.Options) { o.Load = nil }, "needs Load"},
		"no folder":       {func(o *riverqueue.Options) { o.LockDir = "" }, "needs LockDir"},
		"unknown sender":  {func(o *riverqueue.Options) { o.Senders["fax"] = send }, `sender for "fax"`},
		"empty sender":    {func(o *riverqueue.Options) { o.Senders["crm"] = nil }, `sender for "crm"`},
		"unknown limit":   {func(o *riverqueue.Options) { o.Limits = map[delivery.Target]riverqueue.Limit{"fax": {}} }, `limit for "fax"`},
		"negative limit":  {func(o *riverqueue.Options) { o.Limits = map[delivery.Target]riverqueue.Limit{"cms": {PerSecond: -1}} }, "negative"},
		"no attempts":     {func(o *riverqueue.Options) { o.MaxAttempts = -1 }, "at least 1"},
		"early rescue":    {func(o *riverqueue.Options) { o.Timing.RescueAfter = time.Second }, "RescueAfter must be at least 40s"},
		"bad client name": {func(o *riverqueue.Options) { o.ClientID = strings.Repeat("x", 101) }, "100"},
		"path as name":    {func(o *riverqueue.Options) { o.ClientID = "../x" }, "ClientID"},
		"everything":      {func(o *riverqueue.Options) { o.Load, o.LockDir = nil, "" }, "needs LockDir"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := plainOptions(t.TempDir(), send)
			c.change(&o)
			_, err := riverqueue.New(riversqlite.New(openSQLite(t, t.TempDir())), o)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	o := plainOptions("", send)
	o.LockDir = ""
	if _, err := riverqueue.New(riverpgxv5.New(nil), o); err == nil {
		t.Error("a queue without a pool can't work, but was built")
	}
}
