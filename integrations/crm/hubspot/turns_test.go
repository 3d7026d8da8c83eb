package hubspot

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

func TestTurns(t *testing.T) {
	t.Parallel()
	var all turns
	var wg sync.WaitGroup
	inside := map[string]int{"a": 0, "b": 0}
	var mu sync.Mutex
	for i := range 100 {
		address := []string{"a", "b"}[i%2]
		wg.Go(func() {
			release, err := all.take(context.Background(), address)
			if err != nil {
				t.Error(err)
				return
			}
			defer release()
			enter := func(by int) {
				mu.Lock()
				defer mu.Unlock()
				if inside[address] += by; inside[address] > 1 {
					t.Errorf("%d have the turn of %s", inside[address], address)
				}
			}
			enter(1)
			time.Sleep(time.Microsecond)
			enter(-1)
		})
	}
	wg.Wait()
	if len(all.turns) != 0 {
		t.Errorf("%d addresses are remembered for ever", len(all.turns))
	}
}

func TestTurnsGiveUp(t *testing.T) {
	t.Parallel()
	var all turns
	release, err := all.take(context.Background(), "a")
	if err != nil {
		t.Fatal(err)
	}
	other, err := all.take(context.Background(), "b")
	if err != nil {
		t.Fatal(err)
	}
	other()
	ctx, cancel := context.WithCancel(context.Background())
	waiting := make(chan error)
	go func() {
		_, err := all.take(ctx, "a")
		waiting <- err
	}()
	cancel()
	if err := <-waiting; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	release()
	if len(all.turns) != 0 {
		t.Errorf("%d addresses are remembered for ever", len(all.turns))
	}
}
