package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"siteapi/cmd/internal/harness"
	"siteapi/integrations/lead"
)

// Sizes of the database that the inbox is measured on.
const (
	storedLeads    = 100_000
	storedSessions = 100_000
	freshLeads     = 200 // leads that are submitted to the service itself
)

// people makes visitors who differ in what leads are selected, searched and counted by.
type people struct{ *rand.Rand }

func (p people) pick(from string) string {
	words := strings.Fields(from)
	return words[p.IntN(len(words))]
}

// words are what messages are made of.
const words = `magazin online pentru miere naturală cu plata rezervări calendar blog în trei limbi avem nevoie
de un site nou până la toamnă queremos una tienda con reservas y pagos our current shop is slow please call after
noon budget includes photos texts hosting support migrare clienți facturi newsletter catálogo envíos sucursales`

func (p people) lead(n int) lead.Lead {
	last := p.pick("Popa Marin Ion Stan Dumitr Rus Barb Gheorgh Mold Vas Herr Gonzal Mart Torr Hill Ward") +
		p.pick("escu eanu oiu ache ez er son an a")
	company := p.pick("Atelier Casa Studio Green Nord Alfa Vector Luna Terra Delta Prima Vila") +
		p.pick("Verde Media Design Trade Mobil Food Travel Dent Auto Garden Sport Print")
	message := make([]string, p.IntN(20))
	for i := range message {
		message[i] = p.pick(words)
	}

	l := lead.Lead{
		ID:        fmt.Sprintf("%08x-0000-4000-8000-%012x", p.Uint32(), n),
		SessionID: fmt.Sprint("session-", 5*n), // a fifth of the leads has one that is still stored
		Contact: lead.Contact{
			FirstName: p.pick("Ana Ștefania Mihai Andrei Elena Ioana Cristina Paul Lucía Jorge Marta David Emma Tom"),
			LastName:  last,
			Email:     fmt.Sprintf("%s%d@%s", strings.ToLower(last), n%30, p.pick("gmail.com yahoo.com "+company+".ro")),
			Phone:     fmt.Sprintf("+407%08d", p.IntN(1e8)),
			Company:   company + " " + p.pick("SRL SRL SRL SA GmbH Ltd"),
		},
		Selections:  p.selections(),
		Estimate:    lead.Estimate{Min: float64(100 * (5 + p.IntN(400))), Max: 50_000, Currency: p.pick("EUR EUR RON")},
		Attribution: p.attribution(),
		Message:     strings.Join(message, " "),
		Locale:      p.pick("ro ro ro es en"),
		SubmittedAt: time.UnixMilli(time.Now().UnixMilli() - p.Int64N(60_000_000_000)).UTC(), // in two years
	}
	l.FirstAttribution = l.Attribution
	return l
}

func (p people) selections() lead.Selections {
	features := strings.Fields("blog multilingual payments seo crm booking analytics")
	return lead.Selections{
		ProjectType: p.pick("web-app shop landing cms mobile other"),
		Features:    slices.DeleteFunc(features, func(string) bool { return p.IntN(3) > 0 }),
		Complexity:  p.pick("simple medium complex"),
		Timeline:    p.pick("asap 1-3-months 3-6-months flexible"),
	}
}

func (p people) attribution() lead.Attribution {
	return lead.Attribution{
		Source:      p.pick("google google facebook newsletter instagram partner"),
		Medium:      "cpc",
		Campaign:    fmt.Sprint("campaign-", p.IntN(20)),
		LandingPage: "https://www.example.com/ro/servicii",
	}
}

// submitLeads submits leads to the service itself, which delivers them.
func submitLeads(ctx context.Context, base string) {
	p := people{rand.New(rand.NewPCG(1, 1))}
	for n := range freshLeads {
		ask(ctx, base, post("/api/quote/submit", jsonOf(p.lead(n))))
	}
}

func jsonOf(value any) string { return string(harness.Must(json.Marshal(value))) }

// fill adds leads and sessions to a database as an early release stored them. The service
// fills in what it has added since.
func fill(ctx context.Context, db *sql.DB) {
	p := people{rand.New(rand.NewPCG(2, 2))}
	tx := harness.Must(db.BeginTx(ctx, nil))
	defer func() { _ = tx.Rollback() }()

	insert(ctx, tx, "submissions (id, session_id, email, body, content_key, submitted_at, held, owner, status, outcome)",
		storedLeads, func(n int) []any {
			l := p.lead(n)
			return []any{
				l.ID, l.SessionID, strings.ToLower(l.Contact.Email), jsonOf(l), l.ID, l.SubmittedAt.UnixMilli(),
				max(0, p.IntN(50)-47), p.pick("ana@example.com paul@example.com ben@example.com"), p.IntN(4),
				p.pick("WON QUALIFIED LOST LOST NONE"),
			}
		})

	insert(ctx, tx, `sessions (id, state, first_seen, last_seen, visits,
		first_touch, first_source, first_campaign, last_touch, last_source, last_campaign)`,
		storedSessions, func(n int) []any {
			at := time.Now().UnixMilli() - p.Int64N(7_000_000_000) // in 81 days
			state := "{}"
			if p.IntN(3) > 0 { // the others opened the calculator only
				state = jsonOf(map[string]any{"selections": p.selections(), "estimate": lead.Estimate{Min: 18100}})
			}
			from := p.attribution()
			touch := jsonOf(from)
			return []any{
				fmt.Sprint("session-", n), state, at, at, 1,
				touch, from.Source, from.Campaign, touch, from.Source, from.Campaign,
			}
		})
	harness.Check(tx.Commit())
}

// insert stores rows, twenty with each statement.
func insert(ctx context.Context, tx *sql.Tx, into string, rows int, row func(n int) []any) {
	for n := 0; n < rows; n += 20 {
		var args []any
		var values []string
		for i := range 20 {
			var marks []string
			for _, value := range row(n + i) {
				args = append(args, value)
				marks = append(marks, fmt.Sprint("$", len(args)))
			}
			values = append(values, "("+strings.Join(marks, ", ")+")")
		}
		harness.Must(tx.ExecContext(ctx, "INSERT INTO "+into+" VALUES "+strings.Join(values, ", "), args...))
	}
}
