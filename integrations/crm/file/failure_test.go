package file

import (
	"context"
	"fmt"
	"syscall"
	"testing"

	"siteapi/integrations/upstream"
)

func TestFailure(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]upstream.Kind{
		syscall.EACCES:           upstream.Refused,
		syscall.EPERM:            upstream.Refused,
		syscall.ENOSPC:           upstream.Unavailable,
		syscall.EROFS:            upstream.Unavailable,
		syscall.EIO:              upstream.Unavailable,
		context.DeadlineExceeded: upstream.Unavailable,
		errDamaged:               upstream.Rejected,
	} {
		if got := upstream.KindOf(failure("storing", fmt.Errorf("wrapped: %w", err))); got != want {
			t.Errorf("%v is %v, want %v", err, got, want)
		}
	}
}
