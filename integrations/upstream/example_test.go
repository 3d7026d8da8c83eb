package upstream_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"siteapi/integrations/upstream"
)

// The kind of a failure decides whether and when a call is repeated.
func ExampleClient() {
	crm := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer crm.Close()

	client := upstream.New(upstream.Options{System: "hubspot", BaseURL: crm.URL})
	resp, err := client.Do(context.Background(), upstream.Request{Op: "storing the contact", Path: "/contacts"})
	if err != nil {
		panic(err)
	}

	failed := client.Failure("storing the contact", resp, "", "")
	fmt.Println(failed.Kind, failed.RetryAfter)

	// Output:
	// limited 30s
}
