package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"text/tabwriter"
	"time"
)

// leadsRun is the scenario "a lead always arrives": visitors submit while both far ends
// fail at random and the process is killed again and again.
type leadsRun struct {
	submissions, kills int
	rate               float64
	seed               uint64
	patience           time.Duration
	dir                string

	service  *service
	far      *farEnds
	visitors *visitors
	all      []*lead
	notes    io.Writer
	rand     *rand.Rand
}

// Bounds of a process's life, from its first answer to its end.
const (
	longestLife = 1500 * time.Millisecond
	startUpTime = 400 * time.Millisecond // every fourth kill hits the start-up
	workers     = 16                     // visitors at a time
)

// leads is the scenario of that name.
func leads(ctx context.Context, args []string, out, notes io.Writer) (err error) {
	flags := flag.NewFlagSet("chaos leads", flag.ContinueOnError)
	flags.SetOutput(notes)
	binary := flags.String("binary", "bin/siteapi", "the service")
	r := &leadsRun{notes: notes}
	flags.IntVar(&r.submissions, "submissions", 1000, "how many leads are submitted")
	flags.IntVar(&r.kills, "kills", 20, "how often the process is killed")
	flags.Float64Var(&r.rate, "rate", 0.5, "share of the calls to CMS and CRM that fail")
	flags.Uint64Var(&r.seed, "seed", uint64(time.Now().UnixNano()), "of everything random")
	flags.DurationVar(&r.patience, "patience", 10*time.Minute, "how long all deliveries may take after the last submission")
	flags.StringVar(&r.dir, "dir", "", "folder for data and log; left out: one below the temporary folder, removed after a success")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if r.submissions < 1 || r.kills < 0 || r.rate < 0 || r.rate >= 1 {
		return errors.New("-submissions must be at least 1, -kills at least 0, -rate from 0 to below 1")
	}
	if _, err := os.Stat(*binary); err != nil {
		return fmt.Errorf("the service is not built: run `make build` first: %w", err)
	}
	keep := r.dir != ""
	if !keep {
		if r.dir, err = os.MkdirTemp("", "siteapi-chaos-"); err != nil {
			return err
		}
	} else if err := os.MkdirAll(r.dir, 0o750); err != nil {
		return err
	}
	defer func() {
		switch {
		case err != nil:
			err = fmt.Errorf("%w (data and log are in %s; seed %d)", err, r.dir, r.seed)
		case !keep:
			err = os.RemoveAll(r.dir)
		}
	}()
	r.rand = rand.New(rand.NewPCG(r.seed, 3))
	if r.far, err = newFarEnds(); err != nil {
		return err
	}
	defer r.far.close()
	r.service, err = newService(ctx, *binary, r.dir, append(r.far.settings(),
		// The stand-ins take any number of calls, so neither patience nor restraint is wanted.
		"DELIVERY_RETRY_MAX=1s", "DELIVERY_RATE=0",
	)...)
	if err != nil {
		return err
	}
	return r.run(ctx, out)
}

// run plays the scenario and prints its table.
func (r *leadsRun) run(ctx context.Context, out io.Writer) (err error) {
	// What an operator does once, on a quiet day.
	if _, _, err := r.service.command(ctx, "crm", "setup"); err != nil {
		return err
	}
	r.far.failAtRandom(r.rate, r.seed)
	r.visitors = newVisitors(r.service.base)
	for n := range r.submissions {
		l, err := newLead(n)
		if err != nil {
			return err
		}
		r.all = append(r.all, l)
	}
	r.note("seed %d: %d submissions, %.0f %% of all calls to CMS and CRM fail, %d times SIGKILL", r.seed, r.submissions, 100*r.rate, r.kills)
	began := time.Now()
	if err := r.service.start(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.service.end(syscall.SIGKILL)) }()

	submitted := make(chan error, 1)
	go func() { submitted <- r.visitors.submit(ctx, r.release(ctx), workers) }()
	killed, err := r.kill(ctx)
	if err != nil {
		return err
	}
	if err := <-submitted; err != nil {
		return err
	}
	r.note("all submissions are acknowledged after %v, %d kills", time.Since(began).Round(time.Millisecond), killed)
	left, waitErr := r.wait(ctx)
	took := time.Since(began)
	r.far.recovers()
	return errors.Join(waitErr, r.report(ctx, out, killed, left, took))
}

// release hands out the leads over the time that the kills take.
func (r *leadsRun) release(ctx context.Context) <-chan *lead {
	released := make(chan *lead)
	pause := max(time.Duration(r.kills)*time.Second/time.Duration(r.submissions), time.Millisecond)
	go func() {
		defer close(released)
		for _, l := range r.all {
			select {
			case released <- l:
			case <-ctx.Done():
				return
			}
			time.Sleep(pause)
		}
	}()
	return released
}

// kill ends the process at random moments, some of them while it starts, and starts it
// again each time.
func (r *leadsRun) kill(ctx context.Context) (int, error) {
	for n := range r.kills {
		life := time.Duration(r.rand.Int64N(int64(startUpTime)))
		if n%4 != 3 {
			if err := r.service.ready(ctx, time.Minute); err != nil {
				return n, err
			}
			life = time.Duration(r.rand.Int64N(int64(longestLife)))
		}
		select {
		case <-ctx.Done():
			return n, ctx.Err()
		case <-time.After(life):
		}
		if err := r.service.end(syscall.SIGKILL); err != nil {
			return n, err
		}
		if err := r.service.start(); err != nil {
			return n, err
		}
	}
	return r.kills, r.service.ready(ctx, time.Minute)
}

// wait waits until nothing is on its way any more, and returns what is.
func (r *leadsRun) wait(ctx context.Context) (left int, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	for last := time.Now(); ; {
		data, _, err := r.service.command(ctx, "deliveries", "list", "--json")
		if err != nil {
			return left, err
		}
		var list []struct{ State string }
		if err := json.Unmarshal(data, &list); err != nil {
			return left, err
		}
		if left = len(list); left == 0 {
			return 0, nil
		}
		if time.Since(last) > 5*time.Second {
			last = time.Now()
			r.note("%d deliveries are on their way", left)
		}
		select {
		case <-ctx.Done():
			return left, fmt.Errorf("%d deliveries did not arrive within %v", left, r.patience)
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// report prints the table and fails if anything is not as it should be.
func (r *leadsRun) report(ctx context.Context, out io.Writer, killed, left int, took time.Duration) error {
	// Every visitor asks once more: the answer must be the same.
	acknowledged, changed := 0, 0
	for _, l := range r.all {
		if l.id == "" {
			continue
		}
		acknowledged++
		again, err := r.visitors.insist(ctx, l)
		if err != nil {
			return err
		}
		if again != l.id {
			changed++
		}
	}
	data, _, err := r.service.command(ctx, "deliveries", "verify", "--json")
	if err != nil {
		return err
	}
	var audit struct{ Submissions int }
	if err := json.Unmarshal(data, &audit); err != nil {
		return err
	}
	t, err := r.far.compare(r.all)
	if err != nil {
		return err
	}
	n := r.submissions
	good := acknowledged == n && audit.Submissions == n && t.documents == n && t.contacts == n && left == 0 &&
		t.duplicates == 0 && t.wrong == 0 && changed == 0
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name string, value any, note string) { _, _ = fmt.Fprintf(w, "%s\t%v\t%s\n", name, value, note) }
	row("submissions acknowledged", acknowledged, fmt.Sprintf("of %d; %d requests, %d of them unanswered", n, r.visitors.requests.Load(), r.visitors.unanswered.Load()))
	row("submissions stored", audit.Submissions, "")
	row("documents in the CMS", t.documents, fmt.Sprintf("%d of %d calls failed", r.far.cmsFailed.Load(), r.far.cmsCalls.Load()))
	row("contacts in the CRM", t.contacts, fmt.Sprintf("%d of %d calls failed", r.far.crmFailed.Load(), r.far.crmCalls.Load()))
	row("duplicates", t.duplicates, "")
	row("wrong values", t.wrong, "")
	row("other id when asked again", changed, "")
	row("not delivered", left, "")
	row("kills", killed, "SIGKILL")
	row("time", took.Round(100*time.Millisecond), fmt.Sprintf("seed %d", r.seed))
	if err := w.Flush(); err != nil {
		return err
	}
	if !good {
		return errors.New("leads were lost, doubled or changed: see the table, and " + filepath.Join(r.dir, "siteapi.log"))
	}
	_, err = fmt.Fprintln(out, "every lead arrived, once")
	return err
}

func (r *leadsRun) note(format string, args ...any) {
	_, _ = fmt.Fprintf(r.notes, format+"\n", args...)
}
