package crmtest

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
)

// Dan is another person, whose address Ana typed by mistake.
const Dan = "dan@example.com"

// of returns a change to the lead with an id, some hours after the first one.
func of(id string, hours int) func(*lead.Lead) {
	return func(l *lead.Lead) {
		l.ID, l.SubmittedAt = id, l.SubmittedAt.Add(time.Duration(hours)*time.Hour)
		l.Message, l.Consents = "Call me, Ana", []lead.Consent{{Purpose: "news", Given: true}}
		l.Attribution.Referrer = "https://ana.example"
	}
}

// customer is a contact that people made.
func customer(email string) map[string]string {
	return map[string]string{"email": email, "firstname": "Maria", "company": "Customer SA"}
}

// erasure is a person of the world, with what an erasure has to do to each contact, named by
// an address, and to each deal, named by its lead, or "clone".
type erasure struct {
	why    string
	given  crm.Erasure // the records of its leads are added
	before func(s Subject, lead func(id, email string, hours int))
	want   map[string]crm.Fate
}

func ana(typed ...string) crm.Erasure {
	return crm.Erasure{Emails: []string{Ana, "Ana.Pop@EXAMPLE.com"}, Typed: typed}
}

// persons has the table of cases. Leads that begin with "ana" are erased; those that begin with
// "old" were erased by retention or stay, and those with "dan" are stored leads of another person.
var persons = []erasure{
	{"a contact that a lead made", ana(), func(_ Subject, lead func(string, string, int)) {
		lead("ana-1", Ana, 0)
		lead("ana-2", Ana, 1)
	}, map[string]crm.Fate{Ana: crm.Deleted, "ana-1": crm.Deleted, "ana-2": crm.Deleted}},

	{"retention was first", ana(), func(_ Subject, lead func(string, string, int)) {
		lead("old-1", Ana, 0)
	}, map[string]crm.Fate{Ana: crm.Deleted, "old-1": crm.Deleted}},

	{"the last quote of her contact is another's, who typed her address", ana(), func(_ Subject, lead func(string, string, int)) {
		lead("ana-1", Ana, 0)
		lead("dan-1", Ana, 1)
	}, map[string]crm.Fate{Ana: crm.Deleted, "ana-1": crm.Deleted, "dan-1": crm.Foreign}},

	{"people gave the deal of another's lead her address", ana(), func(s Subject, lead func(string, string, int)) {
		lead("ana-1", Ana, 0)
		lead("dan-1", Dan, 0)
		s.Edit("dan-1", map[string]string{crm.PropDealEmail: Ana})
	}, map[string]crm.Fate{Ana: crm.Deleted, "ana-1": crm.Deleted, "dan-1": crm.Foreign}},

	{"a contact from before", ana(), func(s Subject, lead func(string, string, int)) {
		s.Add(customer(Ana))
		lead("ana-1", Ana, 0)
	}, map[string]crm.Fate{Ana: crm.Cleared, "ana-1": crm.Deleted}},

	{"a contact from before, whose lead retention erased", ana(), func(s Subject, lead func(string, string, int)) {
		s.Add(customer(Ana))
		lead("old-1", Ana, 0)
	}, map[string]crm.Fate{Ana: crm.Cleared, "old-1": crm.Deleted}},

	{"a contact from before that no lead ever reached", ana(), func(s Subject, lead func(string, string, int)) {
		s.Add(customer(Ana))
		lead("dan-1", Dan, 0)
	}, map[string]crm.Fate{Ana: crm.Left, Dan: crm.Foreign, "dan-1": crm.Foreign}},

	{"an old customer was merged into it, and has our mark now", ana(), func(s Subject, lead func(string, string, int)) {
		lead("ana-1", Ana, 0)
		s.Edit(Ana, map[string]string{"hs_merged_object_ids": "7", "company": "Customer SA"})
	}, map[string]crm.Fate{Ana: crm.Cleared, "ana-1": crm.Deleted}},

	{"people made another address the primary one", ana(), func(s Subject, lead func(string, string, int)) {
		lead("ana-1", Ana, 0)
		s.Edit(Ana, map[string]string{"email": "firm@example.com", "hs_additional_emails": Ana})
	}, map[string]crm.Fate{Ana: crm.Cleared, "ana-1": crm.Deleted}},

	{"she typed the address of a customer", ana(Dan), func(s Subject, lead func(string, string, int)) {
		s.Add(customer(Dan))
		lead("ana-1", Dan, 0)
	}, map[string]crm.Fate{Dan: crm.Cleared, "ana-1": crm.Deleted}},

	{"she typed an address that nobody else has", ana(Dan), func(_ Subject, lead func(string, string, int)) {
		lead("ana-1", Dan, 0)
		lead("ana-2", Ana, 1)
	}, map[string]crm.Fate{Dan: crm.Deleted, Ana: crm.Deleted, "ana-1": crm.Deleted, "ana-2": crm.Deleted}},

	{"she typed the address of another lead, which was first", ana(Dan), func(_ Subject, lead func(string, string, int)) {
		lead("dan-1", Dan, 0)
		lead("ana-1", Dan, 1)
	}, map[string]crm.Fate{Dan: crm.Cleared, "dan-1": crm.Foreign, "ana-1": crm.Deleted}},

	{"she typed the address of another lead, which is newer", ana(Dan), func(_ Subject, lead func(string, string, int)) {
		lead("ana-1", Dan, 0)
		lead("dan-1", Dan, 1)
	}, map[string]crm.Fate{Dan: crm.Left, "dan-1": crm.Foreign, "ana-1": crm.Deleted}},

	{"she typed it, and the contact was merged", ana(Dan), func(s Subject, lead func(string, string, int)) {
		lead("ana-1", Dan, 0)
		s.Edit(Dan, map[string]string{"hs_merged_object_ids": "7"})
	}, map[string]crm.Fate{Dan: crm.Cleared, "ana-1": crm.Deleted}},

	{"she typed it, and the lead never arrived", ana(Dan), func(_ Subject, lead func(string, string, int)) {
		lead("dan-1", Dan, 0)
	}, map[string]crm.Fate{Dan: crm.Foreign, "dan-1": crm.Foreign}},

	{"sales moved the deal on", ana(), func(s Subject, lead func(string, string, int)) {
		lead("ana-1", Ana, 0)
		s.Edit("ana-1", map[string]string{"dealstage": s.MovedOn, "dealname": "Shop of Ana"})
	}, map[string]crm.Fate{Ana: crm.Deleted, "ana-1": crm.Cleared}},

	{"people cloned the deal", ana(), func(s Subject, lead func(string, string, int)) {
		lead("ana-1", Ana, 0)
		lead("dan-1", Dan, 0)
		s.Edit("ana-1", map[string]string{"dealname": "Shop"})
		s.Clone("dan-1")
		s.Clone("ana-1")
	}, map[string]crm.Fate{Ana: crm.Deleted, Dan: crm.Foreign, "ana-1": crm.Deleted, "dan-1": crm.Foreign, "clone": crm.Cleared}},

	{"one lead, which the contact shows", crm.Erasure{}, func(_ Subject, lead func(string, string, int)) {
		lead("old-1", Ana, 0)
		lead("ana-1", Ana, 1)
	}, map[string]crm.Fate{Ana: crm.Cleared, "old-1": crm.Foreign, "ana-1": crm.Deleted}},

	{"one lead, and the contact shows a newer one", crm.Erasure{}, func(_ Subject, lead func(string, string, int)) {
		lead("ana-1", Ana, 0)
		lead("old-1", Ana, 1)
	}, map[string]crm.Fate{Ana: crm.Left, "old-1": crm.Foreign, "ana-1": crm.Deleted}},

	{"one lead of a person without another one that arrived", crm.Erasure{}, func(_ Subject, lead func(string, string, int)) {
		lead("ana-1", Ana, 0)
	}, map[string]crm.Fate{Ana: crm.Cleared, "ana-1": crm.Deleted}},

	{"nothing is known", crm.Erasure{Emails: []string{"new@example.com"}, Leads: map[string]lead.Records{"": {}}},
		func(_ Subject, lead func(string, string, int)) {
			lead("dan-1", Dan, 0)
		}, map[string]crm.Fate{Dan: crm.Foreign, "dan-1": crm.Foreign}},
}

// erasures erases each person: first only in words, then in fact, and once more.
func erasures(t *testing.T, open func(t *testing.T) Subject) {
	for _, p := range persons {
		t.Run("Erasure: "+p.why, func(t *testing.T) {
			t.Parallel()
			s, e := open(t), p.given
			e.Leads = maps.Clone(e.Leads)
			if e.Leads == nil {
				e.Leads = map[string]lead.Records{}
			}
			e.IsStored = func(_ context.Context, id string) (bool, error) { return strings.HasPrefix(id, "dan"), nil }
			clone, cloned := s.Clone, ""
			s.Clone = func(leadID string) string { cloned = clone(leadID); return cloned }
			p.before(s, func(id, email string, hours int) {
				made := s.upsert(t, email, of(id, hours))
				if strings.HasPrefix(id, "ana") {
					e.Leads[id] = made
				}
			})

			named := func(key string) (map[string]string, bool) {
				switch {
				case strings.Contains(key, "@"):
					return s.Contact(key)
				case key == "clone":
					return s.Deal(cloned)
				}
				return s.Deal(key)
			}
			was := map[string]map[string]string{}
			for key := range p.want {
				was[key], _ = named(key)
			}

			for round, dry := range []bool{true, false} {
				e.DryRun = dry
				got := s.fates(t, e, cloned)
				want := maps.Clone(p.want)
				for _, fates := range []map[string]crm.Fate{got, want} {
					maps.DeleteFunc(fates, func(_ string, fate crm.Fate) bool { return fate == crm.Foreign })
				}
				if !maps.Equal(got, want) {
					t.Errorf("round %d: %v, want %v", round, got, want)
				}
				for key, fate := range p.want {
					if dry {
						fate = crm.Foreign
					}
					now, exists := named(key)
					checkFate(t, key, fate, was[key], now, exists)
				}
			}
			s.fates(t, e, cloned)
		})
	}
}

// fates erases a person, and returns the fates by address, lead or "clone".
func (s Subject) fates(t *testing.T, e crm.Erasure, cloned string) map[string]crm.Fate {
	t.Helper()
	got := map[string]crm.Fate{}
	deals, err := s.EraseDeals(t.Context(), e)
	if err != nil {
		t.Fatalf("erasing deals: %v", err)
	}
	for _, d := range deals {
		key := d.LeadID
		if key == "" && d.ID == cloned {
			key = "clone"
		}
		got[key] = d.Fate
	}

	contacts, err := s.EraseContacts(t.Context(), e)
	if err != nil {
		t.Fatalf("erasing contacts: %v", err)
	}
	for _, c := range contacts {
		for _, email := range []string{Ana, Dan} {
			if slices.Contains(c.Emails, email) {
				got[email] = c.Fate
			}
		}
	}
	return got
}

// checkFate checks what became of a record.
func checkFate(t *testing.T, key string, fate crm.Fate, was, now map[string]string, exists bool) {
	t.Helper()
	if exists != (fate != crm.Deleted) || (fate == crm.Left || fate == crm.Foreign) && !maps.Equal(now, was) {
		t.Errorf("%s, %q: %v, %v, want %v", key, fate, exists, now, was)
	}
	if fate != crm.Cleared {
		return
	}

	lost := 0
	for name, value := range was {
		isQuote := strings.HasPrefix(name, "quote_") && name != "quote_contact_created"
		personal := slices.Contains([]string{"quote_contact_email", "quote_contact_firstname", "quote_message",
			"quote_consents", "quote_referrer", "quote_pdf_url", "quote_page_url"}, name)
		switch {
		case personal && now[name] != "", strings.Contains(key, "@") && isQuote && now[name] != "":
			t.Errorf("%s keeps %s", key, name)
		case name == "dealname" && key != "clone":
			value = "Quote " + lead.Reference(key)
			fallthrough
		case !strings.HasPrefix(name, "quote_"):
			if now[name] != value && name != "hs_lastmodifieddate" {
				t.Errorf("%s of %s is %q, want %q", name, key, now[name], value)
			}
		}
		if now[name] == "" {
			lost++
		}
	}
	if lost == 0 {
		t.Errorf("%s lost nothing: %v", key, now)
	}
}
