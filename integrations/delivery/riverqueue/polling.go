package riverqueue

import (
	"context"
	"sync"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivershared/baseservice"
	"github.com/riverqueue/river/rivershared/riverpilot"
	"github.com/riverqueue/river/rivertype"

	"siteapi/integrations/delivery"
)

// polling is River's SQLite driver without its imitation of LISTEN and NOTIFY: a table
// that inserts of deliveries write to and every process reads twenty times a second.
// Looking for due deliveries themselves twice a second costs a quarter of that and
// nothing on the way of a submission; those of this process are found at once, since
// Enqueue says so.
//
// River lets a driver bring a pilot, and tells that how to do this. It promises
// nothing: were the pilot ignored one day, deliveries would wait for the next look.
type polling[TTx any] struct {
	riverdriver.Driver[TTx]
	pilot *pilot
}

// SupportsListener says that River must poll.
func (polling[TTx]) SupportsListener() bool { return false }

// SupportsListenNotify says that there is nobody to notify.
func (polling[TTx]) SupportsListenNotify() bool { return false }

// PluginInit is part of what makes River ask for a pilot.
func (polling[TTx]) PluginInit(*baseservice.Archetype) {}

// PluginPilot hands River our pilot.
func (p polling[TTx]) PluginPilot() riverpilot.Pilot { return p.pilot }

// pilot is River's own, with an ear for what it is given.
type pilot struct {
	riverpilot.StandardPilot
	inserted func(ctx context.Context, jobs []*rivertype.JobInsertResult)

	mu sync.RWMutex // keeps nudges away from a River that is being started
	on bool
}

// PilotInit is called once, when the client is built.
func (p *pilot) PilotInit(archetype *baseservice.Archetype, params *riverpilot.PilotInitParams) {
	p.inserted = params.NotifyNonTxJobInsert
	p.StandardPilot.PilotInit(archetype, params)
}

// listen says whether there are producers to nudge. A nil pilot is one of PostgreSQL.
func (p *pilot) listen(on bool) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.on = on
}

// nudge has all queues looked at now. It may come before the commit of what is to be
// found: the look needs SQLite's write lock, and so waits for it.
func (p *pilot) nudge(ctx context.Context) {
	if p == nil {
		return
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	if !p.on || p.inserted == nil {
		return
	}
	for _, target := range delivery.Targets() {
		p.inserted(ctx, []*rivertype.JobInsertResult{{Job: &rivertype.JobRow{Queue: string(target)}}})
	}
}
