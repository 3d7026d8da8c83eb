package riverqueue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/riverqueue/river/riverdriver"
)

// River's drivers run SQL of our own through their executors; these helpers bridge
// what differs between the two databases. Statements keep to what both understand.

// arg is the placeholder of the n-th argument of a statement, from 1.
func (c *core) arg(n int) string { return c.mark + strconv.Itoa(n) }

// at is a time as an argument of a statement: SQLite keeps times as text.
func (c *core) at(t time.Time) any {
	if c.sqlite {
		return t.UTC().Round(time.Millisecond).Format("2006-01-02 15:04:05.000")
	}
	return t
}

// inTx runs f in a transaction, again if SQLite was busy with another writer.
func (c *core) inTx(ctx context.Context, f func(tx riverdriver.ExecutorTx) error) error {
	const tries = 5
	for n := 1; ; n++ {
		err := c.once(ctx, f)
		if err == nil || n == tries || !isBusy(err) || ctx.Err() != nil {
			return err
		}
		time.Sleep(time.Duration(float64(n) * 10 * float64(time.Millisecond) * (1 + c.Rand())))
	}
}

func (c *core) once(ctx context.Context, f func(tx riverdriver.ExecutorTx) error) error {
	tx, err := c.exec.Begin(ctx)
	if err != nil {
		return fmt.Errorf("beginning a transaction: %w", err)
	}
	if err := f(tx); err != nil {
		// A rollback that fails too leaves nothing behind either, and says nothing new.
		_ = tx.Rollback(context.WithoutCancel(ctx))
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("committing: %w", err)
	}
	return nil
}

// isBusy recognises SQLITE_BUSY with its extended codes.
func isBusy(err error) bool {
	coded, ok := errors.AsType[interface {
		error
		Code() int
	}](err)
	const busy = 5
	return ok && coded.Code()&0xff == busy
}
