package inbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/store/storetest/pgserver"
)

// shown are the fields of a lead that a page shows, and that operators or deliveries change.
const shown = `{ id state status owner notes { text } }`

// page keeps what an open page shows: it asks for the leads that an event names, and for
// nothing else. What it could not get it asks for after the next event.
type page struct {
	ask func(query string) (answer []byte)

	mu    sync.Mutex
	leads map[string]string // what is shown of a lead, by id
	due   map[string]bool   // ids of leads to ask for
}

// changed asks for what an event names.
func (p *page) changed(event apptest.LeadEvent) {
	for _, c := range event.Changes {
		p.due[c.ID] = true
	}

	for some := range slices.Chunk(slices.Sorted(maps.Keys(p.due)), 20) {
		query := "{"
		for i, id := range some {
			query += fmt.Sprintf(` l%d: lead(id: "%s") `, i, id) + shown
		}
		var answer struct{ Data map[string]json.RawMessage }
		if json.Unmarshal(p.ask(query+"}"), &answer) != nil || len(answer.Data) < len(some) {
			return
		}

		p.mu.Lock()
		for i, id := range some {
			p.leads[id] = string(answer.Data[fmt.Sprint("l", i)])
			delete(p.due, id)
		}
		p.mu.Unlock()
	}
}

// differs returns what a page shows otherwise than it is.
func (p *page) differs(truth map[string]string) (wrong []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, is := range truth {
		if p.leads[id] != is {
			wrong = append(wrong, p.leads[id]+" is "+is)
		}
	}
	return wrong
}

// team is operators and visitors who do things at random.
type team struct {
	t        *testing.T
	r        *apptest.Process
	n        int
	all      []string // ids of leads
	inReview []string
}

// acts submits a lead, or does something with one.
func (m *team) acts() {
	m.t.Helper()
	m.n++
	if len(m.all) == 0 || rand.N(3) == 0 {
		input := apptest.NewLead(fmt.Sprint("random-", m.n))
		suspicious := rand.N(2) == 0
		if suspicious {
			input["website"] = "https://spam.example"
		}
		_, answer := m.r.Post("/api/quote/submit", input)
		id, _ := answer["submissionId"].(string)
		if id == "" {
			m.t.Fatal(answer)
		}
		if m.all = append(m.all, id); suspicious {
			m.inReview = append(m.inReview, id)
		}
		return
	}

	id := m.all[rand.N(len(m.all))]
	var mutation string
	switch kind := rand.N(4); {
	case kind == 0 && len(m.inReview) > 0:
		id, m.inReview = m.inReview[0], m.inReview[1:]
		mutation = []string{"releaseLead", "rejectLead"}[rand.N(2)] + `(id: "` + id + `")`
	case kind == 1:
		mutation = fmt.Sprintf(`assignLead(id: "%s", owner: "owner-%d@example.com")`, id, m.n)
	case kind == 2:
		status := []string{"CONTACTED", "WAITING", "CLOSED"}[rand.N(3)]
		mutation = `setLeadStatus(id: "` + id + `", status: ` + status + `)`
	default:
		mutation = fmt.Sprintf(`addLeadNote(id: "%s", text: "note %d")`, id, m.n)
	}
	m.r.Operate(`mutation { ` + mutation + ` { id } }`)
}

// TestLiveMissesNothing restarts the service under open pages while leads are submitted and
// delivered, released and rejected, given to owners, changed and noted on. Each page, which
// asks only for what events name, shows all of it in the end.
func TestLiveMissesNothing(t *testing.T) {
	t.Parallel()
	for name, env := range map[string][]string{
		"SQLite":     nil,
		"PostgreSQL": {"DATABASE_URL=" + pgserver.Start(t).NewDatabase(t)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, address := t.TempDir(), apptest.FreeAddress(t)
			env := append(apptest.LiveEnv("LISTEN_ADDR="+address, "DRAIN_DELAY=0s"), env...)
			m := &team{t: t, r: apptest.Launch(t, dir, env...)}

			ask := func(query string) []byte { return asked(t, "http://"+address, query) }
			var pages []*page
			var followers []*apptest.Follower
			for range 3 {
				p := &page{ask: ask, leads: map[string]string{}, due: map[string]bool{}}
				f := &apptest.Follower{T: t, Base: "http://" + address + "/graphql", Headers: []string{apptest.OperatorAuth}, Page: p.changed}
				f.Start()
				pages, followers = append(pages, p), append(followers, f)
			}

			const acts = 600
			for i := range acts {
				if i%150 == 149 {
					_ = m.r.Cmd.Process.Signal(syscall.SIGTERM)
					_ = m.r.Cmd.Wait()
					m.r = apptest.Launch(t, dir, env...)
				}
				m.acts()
			}

			truth := map[string]string{}
			apptest.Eventually(t, "all is delivered", func() bool {
				var answer struct {
					Data struct {
						Leads struct {
							Edges []struct{ Node json.RawMessage }
						}
					}
				}
				if err := json.Unmarshal(ask(`{ leads(first: 500) { edges { node `+shown+` } } }`), &answer); err != nil {
					t.Fatal(err)
				}
				waiting := false
				for _, edge := range answer.Data.Leads.Edges {
					var l struct{ ID, State string }
					_ = json.Unmarshal(edge.Node, &l)
					truth[l.ID] = string(edge.Node)
					waiting = waiting || l.State == "UNDER_WAY"
				}
				return !waiting
			})
			if len(truth) != len(m.all) || !strings.Contains(fmt.Sprint(truth), "DELIVERED") {
				t.Fatalf("%d of %d leads: %v", len(truth), len(m.all), truth)
			}
			for i, f := range followers {
				apptest.Eventually(t, "a page shows all", func() bool { return len(pages[i].differs(truth)) == 0 })
				if restarts, breaks := f.Ends(); restarts > 0 || breaks < 4 {
					t.Errorf("%d restarts, %d breaks", restarts, breaks)
				}
			}
		})
	}
}

// asked returns the answer to an operator's query; nothing while the service is away.
func asked(t *testing.T, base, query string) []byte {
	body, _ := json.Marshal(object{"query": query})
	req, err := http.NewRequestWithContext(t.Context(), "POST", base+"/graphql", bytes.NewReader(body))
	if err != nil {
		t.Error(err)
		return nil
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", strings.TrimPrefix(apptest.OperatorAuth, "Authorization: "))

	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil
	}
	defer func() { _ = resp.Body.Close() }()
	answer, _ := io.ReadAll(resp.Body)
	return answer
}
