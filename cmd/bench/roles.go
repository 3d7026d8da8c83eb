package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
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

	"siteapi/cmd/internal/tuning"
	"siteapi/integrations/cache"
	"siteapi/integrations/cache/memory"
	cmsfile "siteapi/integrations/cms/file"
	"siteapi/integrations/quote"
	"siteapi/integrations/store"
	"siteapi/integrations/store/storebench"
	"siteapi/resolvers"
	"siteapi/rest"
	"siteapi/schema"
)

// pageVariable holds what the role bare-page answers, pathVariable where a role stores.
const (
	pageVariable = "SITEAPI_BENCH_PAGE"
	pathVariable = "SITEAPI_BENCH_PATH"
)

// serveRole is one of the servers that the service is compared with.
func serveRole(ctx context.Context, role string) error {
	switch role {
	case "bare-page":
		return serveHandler(ctx, barePage([]byte(os.Getenv(pageVariable)), "application/json; charset=utf-8"))
	case "bare-file":
		page, err := os.ReadFile(os.Getenv(pathVariable))
		if err != nil {
			return err
		}
		return serveHandler(ctx, barePage(page, "application/pdf"))
	case "bare-json":
		return serveHandler(ctx, bareTrack(func(trackState) error { return nil }))
	case "bare-track":
		s, err := storebench.OpenBare(ctx, filepath.Join(os.Getenv(pathVariable), "bare.db"))
		if err != nil {
			return err
		}
		return serveHandler(ctx, bareTrack(putInto(s.Put)))
	case "single-track":
		s, err := storebench.OpenSingle(ctx, filepath.Join(os.Getenv(pathVariable), "single.db"))
		if err != nil {
			return err
		}
		return serveHandler(ctx, bareTrack(putInto(s.Put)))
	case "stock-gqlgen":
		return serveStock(ctx)
	case "rest-nostore":
		return serveREST(ctx)
	default:
		return fmt.Errorf("there is no such role")
	}
}

// barePage reads a request and writes constant bytes.
func barePage(page []byte, contentType string) http.Handler {
	length := []string{strconv.Itoa(len(page))}
	kind := []string{contentType}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		h := w.Header()
		h["Content-Type"], h["Content-Length"] = kind, length
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

func putInto(put func(session, state string, at int64) error) func(trackState) error {
	return func(s trackState) error {
		state, err := json.Marshal(s)
		if err != nil {
			return err
		}
		return put(s.SessionID, string(state), time.Now().UnixMilli())
	}
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

// serveStock is gqlgen's own server with its own caches over the same resolvers.
func serveStock(ctx context.Context) error {
	r, err := newResolver()
	if err != nil {
		return err
	}
	s := handler.New(schema.NewExecutableSchema(schema.Config{Resolvers: r}))
	s.AddTransport(transport.POST{})
	s.SetQueryCache(lru.New[*ast.QueryDocument](1000))
	return serveHandler(ctx, s)
}

// serveREST is the REST door over the real executor, in a process tuned like the service.
func serveREST(ctx context.Context) error {
	tuning.Memory(os.Getenv)
	api, err := newREST()
	if err != nil {
		return err
	}
	return serveHandler(ctx, api)
}

func newREST() (http.Handler, error) {
	r, err := newResolver()
	if err != nil {
		return nil, err
	}
	exec, err := resolvers.NewExecutor(r, resolvers.ExecutorOptions{})
	if err != nil {
		return nil, err
	}
	return rest.New(exec, schema.AST(), rest.Options{})
}

// forgetful is a store that takes everything and keeps nothing.
type forgetful struct{ store.Quotes }

// Track takes a visit.
func (forgetful) Track(context.Context, quote.Visit) error { return nil }
