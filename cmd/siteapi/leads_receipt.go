package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// receipt says what an erasure found and removed. It holds the address, and nothing
// else of the person.
type receipt struct {
	Email       string     `json:"email"`
	StartedAt   time.Time  `json:"startedAt"`
	FinishedAt  time.Time  `json:"finishedAt"`
	Erasing     bool       `json:"erasing"`  // false: a rehearsal, nothing was changed
	Complete    bool       `json:"complete"` // everything that was found is gone
	Submissions []string   `json:"submissions"`
	Places      []*holding `json:"places"`
	Remains     []string   `json:"remains"` // what lies out of reach
}

// States of a place.
const (
	holdingEmpty   = "nothing there"
	holdingFound   = "found" // and not erased
	holdingErased  = "erased"
	holdingFailed  = "failed"  // could not be reached, or not erased
	holdingKept    = "kept"    // because another place failed
	holdingUnknown = "unknown" // it can be cleared, but not looked into
)

// holding is a place in which something of a person may lie.
type holding struct {
	Place  string `json:"place"`
	Unit   string `json:"unit"`  // what is counted
	Found  *int   `json:"found"` // null: it could not be asked
	Erased int    `json:"erased"`
	State  string `json:"state"`
	Detail string `json:"detail,omitempty"`
}

// add adds one to the receipt.
func (r *receipt) add(name, unit string) *holding {
	p := &holding{Place: name, Unit: unit, Found: new(int), State: holdingEmpty}
	r.Places = append(r.Places, p)
	return p
}

// found notes what a look came to.
func (p *holding) found(n int, err error) {
	p.Found = &n
	switch {
	case err != nil:
		p.Found = nil
		p.fail(err)
	case n > 0:
		p.State = holdingFound
	}
}

// erased notes what an erasure came to: n were removed.
func (p *holding) erased(n int, err error) {
	p.Erased = n
	if p.Found != nil {
		p.Found = new(max(*p.Found, n))
	}
	switch {
	case err != nil:
		p.fail(err)
	case p.Found == nil || *p.Found > 0:
		p.State = holdingErased
	default:
		p.State = holdingEmpty
	}
}

// all notes that everything that was found was erased, or how it failed: then nothing counts.
func (p *holding) all(err error) {
	n := 0
	if err == nil && p.Found != nil {
		n = *p.Found
	}
	p.erased(n, err)
}

// cleared notes how many entries went from a cache, which nobody can look into.
func (p *holding) cleared(n int, detail string, err error) {
	if err == nil {
		p.Found, p.Detail = &n, detail
	}
	p.erased(n, err)
}

// skip notes that something was left alone.
func (p *holding) skip(why string) {
	if p.State != holdingFailed {
		p.State, p.Detail = holdingKept, why
	}
}

func (p *holding) fail(err error) {
	p.State, p.Detail = holdingFailed, strings.Join(strings.Fields(err.Error()), " ")
}

func (p *holding) failed() bool { return p.State == holdingFailed }

// verdict is nil after a complete erasure and where a rehearsal found nothing. It sets
// Complete.
func (r *receipt) verdict() error {
	found, open := 0, 0
	for _, p := range r.Places {
		if p.Found != nil {
			found += *p.Found
		}
		if p.State == holdingFailed || p.State == holdingKept {
			open++
		}
	}
	r.Complete = r.Erasing && open == 0 && len(r.Places) > 0
	switch {
	case len(r.Places) == 0, r.Complete:
		return nil
	case r.Erasing:
		return errors.New("not everything could be erased: repeat the command once what failed can be reached")
	case open > 0:
		return errors.New("not every place could be looked into")
	case found > 0:
		return finding("nothing was erased: with --yes it is")
	}
	return nil
}

// print writes the receipt for people.
func (r *receipt) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(w, "%s, %s\n", r.Email, r.StartedAt.Format(time.RFC3339))
	_, _ = fmt.Fprintln(w, "PLACE\tWHAT\tFOUND\tERASED\tSTATE\t")
	for _, p := range r.Places {
		found := "?"
		if p.Found != nil {
			found = strconv.Itoa(*p.Found)
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\n", p.Place, p.Unit, found, p.Erased, p.State, p.Detail)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if r.Complete {
		_, _ = fmt.Fprintln(out, "complete: nothing is left in these places")
	}
	_, _ = fmt.Fprintln(out, "out of reach:")
	for _, text := range r.Remains {
		_, _ = fmt.Fprintf(out, "  %s\n", text)
	}
	return nil
}
