package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/lru"
	"github.com/99designs/gqlgen/graphql/handler/transport"
	"github.com/rs/zerolog"
	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/cmd/internal/harness"
	"siteapi/integrations/cache"
	"siteapi/integrations/cache/memory"
	cmsfile "siteapi/integrations/cms/file"
	"siteapi/integrations/quote"
	"siteapi/integrations/store"
	"siteapi/resolvers"
	"siteapi/rest"
	"siteapi/schema"
)

// pathVariable is a file or folder that a baseline works with.
const pathVariable = "SITEAPI_BENCH_PATH"

// serveRole serves one of the baselines. Those that run the service's own code collect garbage as it does.
func serveRole(ctx context.Context, role string) {
	path := os.Getenv(pathVariable)
	var h http.Handler
	switch role {
	case "page":
		h = barePage(harness.Must(os.ReadFile(path)))
	case "json":
		h = bareTrack(func(trackState) error { return nil })
	case "track-bare":
		h = bareTrack(groupCommit(ctx, filepath.Join(path, "bare.db")).state)
	case "track-single":
		h = bareTrack(transactionEach(ctx, filepath.Join(path, "single.db")).state)
	case "gqlgen":
		h = stockGqlgen(path)
	case "rest":
		debug.SetGCPercent(400)
		exec := resolvers.NewExecutor(newResolver(path), resolvers.ExecutorOptions{})
		h = harness.Must(rest.New(exec, schema.AST(), rest.Options{}))
	}
	l := harness.Must((&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0"))
	fmt.Println(l.Addr())
	harness.Check((&http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}).Serve(l))
}

// barePage reads a request and writes constant bytes.
func barePage(page []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.Header().Set("Content-Length", strconv.Itoa(len(page)))
		_, _ = w.Write(page)
	})
}

// trackState is the body of a track request as one would write it by hand.
type trackState struct {
	SessionID  string                `json:"sessionId"`
	Selections quote.Selections      `json:"selections"`
	Estimate   quote.PartialEstimate `json:"estimate"`
	FormData   quote.Hints           `json:"formData"`
}

// bareTrack decodes, stores and encodes with nothing around it.
func bareTrack(put func(trackState) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var state trackState
		if err := json.NewDecoder(r.Body).Decode(&state); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if err := put(state); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		answer, _ := json.Marshal(map[string]any{"success": true, "sessionId": state.SessionID})
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
		_, _ = w.Write(answer)
	})
}

// putter stores the state of a session and returns when it is durable.
type putter func(session, state string, at int64) error

func (put putter) state(s trackState) error {
	state, _ := json.Marshal(s) // as it was decoded
	return put(s.SessionID, string(state), time.Now().UnixMilli())
}

// newResolver makes the service's resolvers over content in memory and a store that
// forgets.
func newResolver(dir string) *resolvers.Resolver {
	content := filepath.Join(dir, "baseline.json")
	harness.Check(os.WriteFile(content, cmsfile.Sample(), 0o600))
	return resolvers.New(resolvers.Deps{
		CMS: harness.Must(cmsfile.Open(cmsfile.Options{Path: content, Dir: dir, Log: zerolog.Nop()})), Cache: memory.New(),
		Quotes: forgetful{}, Log: zerolog.Nop(), Now: time.Now,
		NewID: func() string { return "x" }, ContentLife: cache.Lifetime{Fresh: time.Hour},
	})
}

// stockGqlgen is gqlgen's own server with its own caches over the same resolvers.
func stockGqlgen(dir string) http.Handler {
	s := handler.New(schema.NewExecutableSchema(schema.Config{Resolvers: newResolver(dir)}))
	s.AddTransport(transport.POST{})
	s.SetQueryCache(lru.New[*ast.QueryDocument](1000))
	return s
}

// forgetful is a store that takes everything and keeps nothing.
type forgetful struct{ store.Quotes }

// Track takes a visit.
func (forgetful) Track(context.Context, quote.Visit) error { return nil }
