package main

import (
	"strconv"
	"sync"
	"testing"
)

func TestSeriesOpensEachOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	opened := map[string]int{}
	s := newSeries(func(labels string) *string {
		mu.Lock()
		defer mu.Unlock()
		opened[labels]++
		return &labels
	})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := range 200 {
				labels := strconv.Itoa(i % 20)
				if got := s.of(labels); *got != labels {
					t.Errorf("asked for %s, got %s", labels, *got)
				}
			}
		})
	}
	group.Wait()
	if len(opened) != 20 {
		t.Errorf("%d were opened, want 20", len(opened))
	}
	for labels, n := range opened {
		if n != 1 {
			t.Errorf("%s was opened %d times", labels, n)
		}
	}
	if s.of("1") != s.of("1") {
		t.Error("the same labels gave two metrics")
	}
}
