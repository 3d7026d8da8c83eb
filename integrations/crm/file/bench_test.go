package file_test

import (
	"context"
	"testing"

	"siteapi/integrations/crm/crmtest"
)

// BenchmarkUpsert measures new contacts, each synced to the disk.
func BenchmarkUpsert(b *testing.B) {
	dir := b.TempDir()
	d := open(b, dir)
	for i := range b.N {
		if err := d.Upsert(context.Background(), crmtest.Lead(crmtest.Visitor(i), nil)); err != nil {
			b.Fatal(err)
		}
	}
}
