package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/ownership-handoff/handoff/internal/expect"
)

// startTime is the timeout for starting a control plane, on a busy machine.
const startTime = 3 * time.Minute

// Main is the body of a TestMain for a package whose tests share a control plane. It starts one, calls prepare and then run,
// which is testing.M.Run, and stops the control plane. It returns the exit code and writes errors to progress. The context of
// prepare ends before the control plane is stopped, because the API server waits for open watches.
func Main(run func() int, progress io.Writer, options Options, prepare func(context.Context, *ControlPlane) error) (code int) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	starting, started := context.WithTimeout(ctx, startTime)
	defer started()
	controlPlane, err := Start(starting, options)
	if err != nil {
		_, _ = fmt.Fprintln(progress, "starting the control plane:", err)
		return 1
	}
	if err = prepare(ctx, controlPlane); err == nil {
		code = run()
	}
	cancel()
	if err = errors.Join(err, controlPlane.Stop()); err != nil {
		_, _ = fmt.Fprintln(progress, "control plane:", err)
		return 1
	}
	return code
}

// ForTest starts a control plane and stops it when the test ends.
func ForTest(t *testing.T, options Options) *ControlPlane {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTime)
	defer cancel()
	controlPlane, err := Start(ctx, options)
	expect.NoError(t, err)
	t.Cleanup(func() { expect.NoError(t, controlPlane.Stop()) })
	return controlPlane
}
