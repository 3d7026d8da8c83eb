package edge_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"siteapi/integrations/edge"
)

// Varnish is told by which keys to find the answers to drop.
func ExamplePurger() {
	varnish := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.Header.Get("Cache-Tag"))
	}))
	defer varnish.Close()

	purger, err := edge.NewPurger(edge.CDNs()[0], "secret", edge.Options{URL: varnish.URL})
	if err != nil {
		panic(err)
	}
	fmt.Println(purger.Purge(context.Background(), []string{"content:locale:en", "content:locale:es"}))

	// Output:
	// PURGE content:locale:en content:locale:es
	// <nil>
}
