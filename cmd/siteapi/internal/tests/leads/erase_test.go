package leads

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/crm/file"
	"siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/integrations/upstream/faulttest"
	"siteapi/schema"
)

// world is a service with the systems in which it stores persons.
type world struct {
	*apptest.Service
	crm      *hubspottest.Server // nil: none
	customer func(email string)  // people add a contact to the CRM
	contact  func(email string) map[string]string
	deal     func(id string) map[string]string
	document func(id string) bool
}

// vendors is a world with HubSpot and Sanity.
func vendors(t *testing.T, env ...string) *world {
	stubs := apptest.NewVendors(t)
	return &world{
		Service: apptest.Start(t, append(stubs.Env("HUBSPOT_DEAL_STAGE=default/appointmentscheduled"), env...)...),
		crm:     stubs.CRM,
		customer: func(email string) {
			stubs.CRM.Add(map[string]string{"email": email, "company": "Customer SA"}, time.Now())
		},
		contact:  stubs.CRM.Contact,
		document: func(id string) bool { return stubs.CMS.Documents()["quoteSubmission."+id] != nil },
		deal: func(id string) map[string]string {
			for _, d := range stubs.CRM.Deals() {
				if d.Properties["quote_submission_id"] == id && !d.InBin {
					return d.Properties
				}
			}
			return nil
		},
	}
}

// files is a world with the file drivers.
func files(t *testing.T, env ...string) *world {
	s := apptest.Start(t, env...)
	contacts, err := file.Open(filepath.Join(s.DataDir, "crm"))
	must(t, err)
	return &world{
		Service: s,
		contact: func(email string) map[string]string { c, _ := contacts.Contact(email); return c },
		deal:    func(id string) map[string]string { d, _ := contacts.Deal(id); return d },
		document: func(id string) bool {
			_, err := os.Stat(filepath.Join(s.DataDir, "cms", "quoteSubmission."+id+".json"))
			return !errors.Is(err, os.ErrNotExist)
		},
		customer: func(email string) {
			path := filepath.Join(s.DataDir, "crm", fmt.Sprintf("%x.json", sha256.Sum256([]byte(email))))
			must(t, os.WriteFile(path, []byte(`{"email": "`+email+`", "company": "Customer SA"}`), 0o600))
		},
	}
}

// submit submits a lead from a tracked session, and waits until it has arrived.
func (w *world) submit(session, email string) string {
	w.Do("POST", "/api/quote/track", `{"sessionId": "`+session+`", "formData": {"email": "`+email+`", "firstName": "typed"},
		"consents": [{"purpose": "save_progress", "given": true}]}`)
	id := w.Submit(session, `"contact": {"email": "`+email+`"}`, `"consents": [{"purpose": "news", "given": true}]`)
	w.arrives(id)
	return id
}

func (w *world) arrives(id string) {
	for _, target := range []lead.Target{lead.CMS, lead.CRM, lead.VisitorMail, lead.SalesMail} {
		w.Reaches(id, target, lead.Delivered)
	}
}

// correct corrects the address of a lead.
func (w *world) correct(id, email string) {
	w.Prints("deliveries resend " + id + " --target visitor-mail --email " + email)
	w.Reaches(id, lead.VisitorMail, lead.Delivered)
}

// erase previews an erasure, and then runs it. The preview finds what the erasure takes.
func (w *world) erase(t *testing.T, args string) (r apptest.Receipt) {
	t.Helper()
	var preview apptest.Receipt
	out, _ := w.Command(append([]string{"leads", "erase", "--json"}, strings.Fields(args)...)...)
	must(t, json.Unmarshal([]byte(out), &preview))
	out = w.Prints("leads erase --json --yes --server " + w.Base + " " + args).Out
	must(t, json.Unmarshal([]byte(out), &r))
	for i, p := range r.Places {
		if found := preview.Places[i].Found; found != nil && schema.ValueOr(p.Found, 0) != *found {
			t.Errorf("%s: the preview found %d, the erasure %d %s", args, *found, *p.Found, p.Unit)
		}
	}
	if !r.Complete {
		t.Errorf("%s: %s", args, out)
	}
	return r
}

// remains checks whether a receipt names what stays in the CRM.
func remains(t *testing.T, r apptest.Receipt, want bool) {
	t.Helper()
	if got := strings.Contains(strings.Join(r.Remains, "\n"), "contacts that people maintain or others have"); got != want {
		t.Errorf("a contact that stays is named: %v, want %v: %q", got, want, r.Remains)
	}
}

// has checks which of the leads have a document and a deal, and are stored with their session.
func (w *world) has(t *testing.T, stays bool, ids ...string) {
	t.Helper()
	for _, id := range ids {
		l, err := w.App.Data.Store.Lead(t.Context(), id)
		if w.document(id) != stays || (w.deal(id) != nil) != stays || (err == nil) != stays {
			t.Errorf("%s: document %v, deal %v, lead %v, want %v", id, w.document(id), w.deal(id), err, stays)
		}
		if stays {
			_, err = w.App.Data.Store.Session(t.Context(), l.SessionID)
			must(t, err)
		}
	}
}

// shows checks the lead that a contact shows; empty: none, or no contact.
func (w *world) shows(t *testing.T, email, id string) {
	t.Helper()
	apptest.Eventually(t, email+" shows "+id, func() bool { return w.contact(email)["quote_submission_id"] == id })
}

// erasures has the persons of the world. Each has addresses and sessions of its own.
var erasures = map[string]func(t *testing.T, w *world){
	"all data of a person": func(t *testing.T, w *world) {
		ids := []string{w.submit("all-1", "all@example.com"), w.submit("all-2", "ALL@example.com")}
		r := w.erase(t, "--email All@Example.com")
		w.has(t, false, ids...)
		for unit, n := range map[string]int{"documents": 2, "deals": 2, "contacts": 1, "sessions": 2, "consents": 2} {
			r.Counts(t, unit, n, n, "ERASED")
		}
		if w.contact("all@example.com") != nil {
			t.Error("the contact still exists")
		}
		remains(t, r, false)
	},

	"a customer from before": func(t *testing.T, w *world) {
		w.customer("before@example.com")
		id := w.submit("before", "before@example.com")
		remains(t, w.erase(t, "--email before@example.com"), true)
		w.has(t, false, id)
		w.shows(t, "before@example.com", "")
		if w.contact("before@example.com")["company"] != "Customer SA" {
			t.Error("the customer is gone")
		}
		r := w.erase(t, "--email before@example.com")
		r.Counts(t, "contacts", 0, 0, "NOTHING_THERE")
		remains(t, r, true)
	},

	"she typed the address of a customer with a lead": func(t *testing.T, w *world) {
		w.customer("dan@example.com")
		dan := w.submit("dan", "dan@example.com")
		ids := []string{w.submit("ana-1", "dan@example.com"), w.submit("ana-2", "ana@example.org")}
		w.correct(ids[0], "Ana@example.org")
		w.shows(t, "dan@example.com", ids[0])

		r := w.erase(t, "--email ana@example.org")
		w.has(t, false, ids...)
		w.has(t, true, dan)
		w.shows(t, "dan@example.com", dan) // written again
		for unit, n := range map[string]int{"documents": 2, "deals": 2, "contacts": 2, "sessions": 2, "consents": 2} {
			r.Counts(t, unit, n, n, "ERASED")
		}
		remains(t, r, true)
	},

	"somebody else typed his address": func(t *testing.T, w *world) {
		dan := w.submit("paul", "paul@example.com")
		ids := []string{w.submit("eva-1", "paul@example.com"), w.submit("eva-2", "eva@example.org")}
		w.correct(ids[0], "eva@example.org")
		theirs := func(email string) (references []string) {
			var person struct{ Leads []struct{ Reference string } }
			must(t, json.Unmarshal([]byte(w.Prints("leads person "+email+" --json").Out), &person))
			for _, l := range person.Leads {
				references = append(references, l.Reference)
			}
			slices.Sort(references)
			return references
		}
		if got := theirs("paul@example.com"); !slices.Equal(got, []string{lead.Reference(dan)}) {
			t.Errorf("the person's leads: %q", got)
		}

		w.Prints("leads withdraw " + ids[0] + " --purpose news")
		for id, want := range map[string]bool{dan: true, ids[0]: false, ids[1]: false} {
			l, err := w.App.Data.Store.Lead(t.Context(), id)
			must(t, err)
			if given := l.Consents[0].WithdrawnAt == nil; given != want {
				t.Errorf("the consent of %s: %v, want %v", id, given, want)
			}
			w.Reaches(id, lead.CRM, lead.Delivered)
		}

		r := w.erase(t, "--email paul@example.com")
		w.has(t, false, dan)
		w.has(t, true, ids...)
		r.Counts(t, "documents", 1, 1, "ERASED")
		r.Counts(t, "deals", 1, 1, "ERASED")
		r.Counts(t, "consents", 1, 1, "ERASED")
		if kept := strings.Join(r.Remains, "\n"); strings.Count(kept, lead.Reference(ids[0])) != 2 {
			t.Errorf("the document and the deal of another lead are not named: %s", kept)
		}
		if w.contact("paul@example.com") != nil {
			t.Error("the contact came back")
		}
		w.erase(t, "--lead "+ids[0])
		w.has(t, false, ids[0])
		w.has(t, true, ids[1])
	},

	"she typed the address of a lead that retention erased": func(t *testing.T, w *world) {
		dan := w.submit("gone", "gone@example.com")
		must(t, w.App.Data.Store.Erase(t.Context(), dan)) // as retention does
		id := w.submit("ana-3", "gone@example.com")
		w.correct(id, "ana@example.net")

		remains(t, w.erase(t, "--email ana@example.net"), true)
		w.shows(t, "gone@example.com", "")
		if !w.document(dan) || w.deal(dan) == nil || w.document(id) || w.deal(id) != nil || w.contact("gone@example.com") == nil {
			t.Error("the erasure took another person's data, or left hers")
		}
		w.erase(t, "--email gone@example.com")
		if w.document(dan) || w.deal(dan) != nil || w.contact("gone@example.com") != nil {
			t.Error("the erasure left data of a lead that retention had erased")
		}
	},

	"one lead, and then the last one": func(t *testing.T, w *world) {
		first, second := w.submit("one-1", "one@example.com"), w.submit("one-2", "one@example.com")
		w.shows(t, "one@example.com", second)
		r := w.erase(t, "--lead "+lead.Reference(second))
		if r.Email != nil || schema.ValueOr(r.Lead, "") != lead.Reference(second) {
			t.Errorf("the receipt names %v, %v", r.Email, r.Lead)
		}
		w.has(t, false, second)
		w.has(t, true, first)
		w.shows(t, "one@example.com", first)
		for unit, n := range map[string]int{"documents": 1, "deals": 1, "contacts": 1, "sessions": 1, "consents": 1} {
			r.Counts(t, unit, n, n, "ERASED")
		}

		r = w.erase(t, "--lead "+first)
		if schema.ValueOr(r.Email, "") != "one@example.com" || r.Lead != nil || w.contact("one@example.com") != nil {
			t.Errorf("the receipt names %v, %v", r.Email, r.Lead)
		}
		w.has(t, false, first)
	},

	"two leads of one session": func(t *testing.T, w *world) {
		first, second := w.submit("both", "both@example.com"), w.Submit("both", `"contact": {"email": "both@example.com"}`, `"message": "again"`)
		w.arrives(second)
		w.erase(t, "--lead "+first)
		if s, err := w.App.Data.Store.Session(t.Context(), "both"); err != nil || s.Hints.Email == "" {
			t.Errorf("the session of a lead that stays: %+v, %v", s, err)
		}
		w.erase(t, "--lead "+second)
		if _, err := w.App.Data.Store.Session(t.Context(), "both"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the session of erased leads: %v", err)
		}
	},

	"arguments": func(t *testing.T, w *world) {
		for arguments, want := range map[string]string{
			``:                             "BAD_USER_INPUT",
			`lead: ""`:                     "BAD_USER_INPUT",
			`email: null, lead: null`:      "BAD_USER_INPUT",
			`lead: "nosuchlead"`:           "NOT_FOUND",
			`lead: "nobody@example.com"`:   "NOT_FOUND",
			`email: "a@b.co", lead: "abc"`: "BAD_USER_INPUT",
		} {
			for _, role := range []schema.Role{schema.RoleAdmin, schema.RoleSales} {
				expected := want
				if role == schema.RoleSales {
					expected = "FORBIDDEN"
				}
				_, code := w.OperateAs(role, `mutation { eraseLeads(`+strings.TrimPrefix(arguments+", dryRun: false", ", ")+`) { complete } }`)
				if code != expected {
					t.Errorf("%s by %s: %q, want %q", arguments, role, code, expected)
				}
			}
		}
	},
}

// An erasure takes what is known to be the person's, and nothing else, whatever the database,
// the CMS and the CRM.
func TestErasureTakesOnlyWhatIsThePersons(t *testing.T) {
	for name, open := range map[string]func(*testing.T, ...string) *world{"vendors": vendors, "files": files} {
		t.Run(name, func(t *testing.T) {
			apptest.OnBothDatabases(t, func(t *testing.T, database string) {
				w := open(t, "DATABASE_URL="+database)
				for _, person := range slices.Sorted(maps.Keys(erasures)) {
					t.Run(person, func(t *testing.T) { erasures[person](t, w) })
				}
			})
		})
	}
}

// An erasure that failed after it had taken the quote from another person's contact can be
// repeated: the contact gets that person's quote again.
func TestRepeatedErasure(t *testing.T) {
	t.Parallel()
	w := vendors(t)
	dan, ana := w.submit("dan", "dan@example.com"), w.submit("ana", "dan@example.com")
	w.correct(ana, "ana@example.org")
	w.shows(t, "dan@example.com", ana)

	w.crm.Fail(faulttest.Respond(503).AfterActing().On("PATCH /contacts/").Times(1))
	if out, err := w.Command("leads", "erase", "--yes", "--server", w.Base, "--email", "ana@example.org"); err == nil {
		t.Errorf("the response was lost: %s", out)
	}
	w.erase(t, "--email ana@example.org")
	w.shows(t, "dan@example.com", dan)
}
