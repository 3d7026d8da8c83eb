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
	"strconv"
	"time"

	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/lru"
	"github.com/99designs/gqlgen/graphql/handler/transport"
	"github.com/rs/zerolog"
	"github.com/vektah/gqlparser/v2/ast"

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

// serveRole serves one of the baselines.
func serveRole(ctx context.Context, role string) error {
	path := os.Getenv(pathVariable)
	var h http.Handler
	var err error
	switch role {
	case "page":
		var page []byte
		page, err = os.ReadFile(path)
		h = barePage(page)
	case "json":
		h = bareTrack(func(trackState) error { return nil })
	case "track-bare":
		var put putter
		put, err = groupCommit(ctx, filepath.Join(path, "bare.db"))
		h = bareTrack(put.state)
	case "track-single":
		var put putter
		put, err = transactionEach(ctx, filepath.Join(path, "single.db"))
		h = bareTrack(put.state)
	case "gqlgen":
		h, err = stockGqlgen()
	case "rest":
		h, err = adapter()
	default:
		err = fmt.Errorf("there is no baseline %q", role)
	}
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	return (&http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}).Serve(l)
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
		answer, err := json.Marshal(map[string]any{"success": true, "sessionId": state.SessionID})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
		_, _ = w.Write(answer)
	})
}

// putter stores the state of a session and returns when it is durable.
type putter func(session, state string, at int64) error

func (put putter) state(s trackState) error {
	state, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return put(s.SessionID, string(state), time.Now().UnixMilli())
}

// newResolver makes the service's resolvers over content in memory and a store that
// forgets.
func newResolver() (*resolvers.Resolver, error) {
	content, err := cmsfile.Open(cmsfile.Options{Dir: os.TempDir(), Log: zerolog.Nop()})
	if err != nil {
		return nil, err
	}
	return resolvers.New(resolvers.Deps{
		CMS: content, Cache: memory.New(), Quotes: forgetful{}, Log: zerolog.Nop(), Now: time.Now,
		NewID: func() string { return "x" }, ContentLife: cache.Lifetime{Fresh: time.Hour},
	}), nil
}

// stockGqlgen is gqlgen's own server with its own caches over the same resolvers.
func stockGqlgen() (http.Handler, error) {
	r, err := newResolver()
	if err != nil {
		return nil, err
	}
	s := handler.New(schema.NewExecutableSchema(schema.Config{Resolvers: r}))
	s.AddTransport(transport.POST{})
	s.SetQueryCache(lru.New[*ast.QueryDocument](1000))
	return s, nil
}

// adapter is the REST adapter over the real executor.
func adapter() (http.Handler, error) {
	r, err := newResolver()
	if err != nil {
		return nil, err
	}
	exec := resolvers.NewExecutor(r, resolvers.ExecutorOptions{})
	return rest.New(exec, schema.AST(), rest.Options{})
}

// forgetful is a store that takes everything and keeps nothing.
type forgetful struct{ store.Quotes }

// Track takes a visit.
func (forgetful) Track(context.Context, quote.Visit) error { return nil }
