package tuning

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// The collector runs when the heap has grown by a percentage of what was live, which
// for a heap of 2 MB means many times a second under load. These bounds let it grow by
// room first; where more than room is live, everything is as Go has it by default.
const (
	room        = 12 << 20 // bytes
	leastHeap   = 4 << 20  // bytes: what Go scales by the percentage where less is live
	defaultGOGC = 100      // percent
)

// giveRoom sets the percentage now and again after each collection.
func giveRoom() {
	r := &roomKeeper{samples: []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"},
	}}
	r.adjust()
	r.afterCollection()
}

// roomKeeper keeps the percentage in step with what is live.
type roomKeeper struct {
	samples []metrics.Sample
	percent int // as set; 0: not yet
}

// afterCollection has adjust called once the next collection has ended: that is when
// an object nobody refers to is cleaned up.
func (r *roomKeeper) afterCollection() {
	type canary struct{ _ *roomKeeper } // has a pointer, so it is an allocation of its own
	runtime.AddCleanup(&canary{}, func(r *roomKeeper) {
		r.adjust()
		r.afterCollection()
	}, r)
}

// adjust sets the percentage where it is off by more than a tenth: setting it stops
// the world for a moment.
func (r *roomKeeper) adjust() {
	metrics.Read(r.samples)
	var base uint64 // what the percentage is of
	for _, s := range r.samples {
		base += s.Value.Uint64()
	}
	percent := percentFor(base)
	difference := max(percent-r.percent, r.percent-percent)
	if difference*10 > r.percent || percent == defaultGOGC && difference > 0 {
		debug.SetGCPercent(percent)
		r.percent = percent
	}
}

// percentFor returns the percentage of base, in bytes, that makes up room.
func percentFor(base uint64) int {
	return int(max(defaultGOGC, 100*room/max(base, leastHeap)))
}
