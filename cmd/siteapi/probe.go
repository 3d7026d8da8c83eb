package main

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// probeTimeout is how long one dependency may take to answer.
const probeTimeout = 2 * time.Second

// How long the word of a dependency holds: however often somebody wants to know, it is
// asked once in that time. What costs money or counts towards a quota is asked rarely, and
// sooner while it is down.
const (
	nearLife   = time.Second // of what runs for this service alone
	remoteLife = time.Minute
	downLife   = 10 * time.Second
)

// probe asks one dependency whether it works.
type probe struct {
	name string
	// required: without it the service can't do its work, so /readyz answers 503.
	required bool
	ask      func(ctx context.Context) error
	life     time.Duration // of an answer
	log      zerolog.Logger

	mu   sync.Mutex // whoever holds it asks, and the others wait for what he is told
	last word
}

// word is what a dependency has said.
type word struct {
	err error // nil: it works
	at  time.Time
}

// state returns the word of the dependency, a fresh one if need be.
func (p *probe) state(ctx context.Context) word {
	p.mu.Lock()
	defer p.mu.Unlock()
	life := p.life
	if p.last.err != nil {
		life = min(life, downLife)
	}
	if !p.last.at.IsZero() && time.Since(p.last.at) < life {
		return p.last
	}
	// What is found is for others as well, who may have more patience than this one.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTimeout)
	defer cancel()
	err := p.ask(ctx)
	switch known := !p.last.at.IsZero(); {
	case err != nil && (!known || p.last.err == nil):
		p.log.Warn().Str("dependency", p.name).Err(err).Msg("a dependency is unavailable")
	case err == nil && known && p.last.err != nil:
		p.log.Info().Str("dependency", p.name).Msg("a dependency is available again")
	}
	p.last = word{err, time.Now()}
	return p.last
}

// askAll asks all dependencies at once.
func askAll(ctx context.Context, probes []*probe) map[*probe]word {
	var mu sync.Mutex
	var group sync.WaitGroup
	found := map[*probe]word{}
	for _, p := range probes {
		group.Go(func() {
			s := p.state(ctx)
			mu.Lock()
			defer mu.Unlock()
			found[p] = s
		})
	}
	group.Wait()
	return found
}
