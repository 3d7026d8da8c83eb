package main

import (
	"context"
	"database/sql"
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
	_ "modernc.org/sqlite" // the driver "sqlite"

	"siteapi/cmd/internal/harness"
	"siteapi/integrations/cache"
	"siteapi/integrations/cache/memory"
	cmsfile "siteapi/integrations/cms/file"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/resolvers"
	"siteapi/resolvers/content"
	"siteapi/resolvers/executor"
	"siteapi/resolvers/quotes"
	"siteapi/rest"
	"siteapi/schema/exec"
	"siteapi/schema/operations"
)

// pageFile is the file with the response of the baseline "page".
const pageFile = "page"

// serve runs a baseline on a free port with its files in dir, and prints its address.
func serve(ctx context.Context, role, dir string) {
	var h http.Handler
	switch role {
	case "page":
		h = barePage(harness.Must(os.ReadFile(filepath.Join(dir, pageFile))))
	case "json":
		h = bareTrack(func(trackState) {})
	case "track":
		h = bareTrack(groupCommit(ctx, filepath.Join(dir, "bare.db")))
	case "gqlgen":
		// The server of gqlgen uses its own caches and the same resolvers.
		s := handler.New(exec.NewExecutableSchema(exec.Config{Resolvers: newResolver(dir).Root()}))
		s.AddTransport(transport.POST{})
		s.SetQueryCache(lru.New[*ast.QueryDocument](1000))
		h = s
	case "rest":
		r, list := newResolver(dir), harness.Must(operations.All())
		h = harness.Must(rest.New(list, executor.New(executor.Options{
			Operations:  list,
			Resolvers:   r.Root(),
			Log:         r.SiteResolver.Log,
			ContentSize: r.Site.Size,
		}), ""))
	}

	l := harness.Must((&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0"))
	fmt.Println(l.Addr())
	harness.Check((&http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}).Serve(l))
}

// barePage reads requests and responds with constant bytes.
func barePage(page []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}

		writeJSON(w, page)
	})
}

func writeJSON(w http.ResponseWriter, text []byte) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write(text)
}

// trackState is the body of a track request, decoded without a schema.
type trackState struct {
	SessionID  string               `json:"sessionId"`
	Selections lead.Selections      `json:"selections"`
	Estimate   lead.PartialEstimate `json:"estimate"`
	FormData   lead.Hints           `json:"formData"`
}

// bareTrack decodes and stores requests, without middleware or validation.
func bareTrack(put func(trackState)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var state trackState
		if err := json.NewDecoder(r.Body).Decode(&state); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}

		put(state)
		response, _ := json.Marshal(map[string]any{"success": true, "sessionId": state.SessionID})
		writeJSON(w, response)
	})
}

// write is a state that waits for the group commit.
type write struct {
	session, state string
	at             int64
	done           chan struct{}
}

// groupCommit is a minimal group commit: a channel, and a goroutine with a connection
// that is as durable as that of the service. An error ends the program.
func groupCommit(ctx context.Context, path string) func(trackState) {
	db := harness.Must(sql.Open("sqlite",
		"file:"+path+"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"))
	db.SetMaxOpenConns(1)
	harness.Must(db.ExecContext(ctx, `CREATE TABLE visits (id TEXT PRIMARY KEY NOT NULL, state TEXT NOT NULL,
  first_seen INTEGER NOT NULL, last_seen INTEGER NOT NULL, visits INTEGER NOT NULL)`))
	stmt := harness.Must(db.PrepareContext(ctx, `INSERT INTO visits VALUES ($1, $2, $3, $3, 1)
  ON CONFLICT (id) DO UPDATE SET state = excluded.state, last_seen = excluded.last_seen, visits = visits + 1`))

	queue := make(chan write, 1024)
	go func() {
		for first := range queue {
			batch := []write{first}
			for len(batch) < 256 && len(queue) > 0 {
				batch = append(batch, <-queue)
			}

			tx := harness.Must(db.BeginTx(ctx, nil))
			for _, w := range batch {
				harness.Must(tx.StmtContext(ctx, stmt).ExecContext(ctx, w.session, w.state, w.at))
			}
			harness.Check(tx.Commit())
			for _, w := range batch {
				close(w.done)
			}
		}
	}()

	return func(s trackState) {
		state, _ := json.Marshal(s) // cannot fail: it was decoded from JSON
		w := write{s.SessionID, string(state), time.Now().UnixMilli(), make(chan struct{})}
		queue <- w
		<-w.done
	}
}

// newResolver returns the resolvers of the service with content in memory and a store
// that discards all data.
func newResolver(dir string) *resolvers.Resolver {
	path := filepath.Join(dir, "baseline.json")
	harness.Check(os.WriteFile(path, cmsfile.Sample(), 0o600))

	entries := memory.New()
	site := content.New(content.Options{
		CMS:       harness.Must(cmsfile.Open(cmsfile.Options{Path: path, Dir: dir, Log: zerolog.Nop()})),
		Cache:     entries,
		Revisions: discarding{},
		Log:       zerolog.Nop(),
		Life:      cache.Lifetime{Fresh: time.Hour},
	})
	return &resolvers.Resolver{
		QuotesResolver: quotes.New(quotes.Deps{
			Content:         site,
			Store:           discarding{},
			Log:             zerolog.Nop(),
			Now:             time.Now,
			TimeZone:        time.UTC,
			ObserveDatabase: func(string, time.Time, error) {},
		}),
		SiteResolver: resolvers.SiteResolver{Site: site, Cache: entries, Log: zerolog.Nop()},
	}
}

// discarding is a store that accepts and discards all data.
type discarding struct {
	quotes.Store
	content.RevisionStore
}

// Track discards a visit.
func (discarding) Track(context.Context, lead.Visit) error { return nil }

// UseRevision discards the revision.
func (discarding) UseRevision(context.Context, store.Revision, time.Time) error { return nil }
