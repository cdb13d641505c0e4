package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// startTime is how long a plane may take to start, on a machine that has much else to do.
const startTime = 3 * time.Minute

// Main is a TestMain for a package whose tests share a plane: it starts one, has it prepared, runs the tests (testing.M.Run)
// and stops the plane. It returns the exit code, and writes what went wrong. The context of prepare ends before the plane is
// stopped: the API server waits for those who watch.
func Main(run func() int, progress io.Writer, options Options, prepare func(context.Context, *Plane) error) (code int) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	starting, started := context.WithTimeout(ctx, startTime)
	defer started()
	plane, err := Start(starting, options)
	if err != nil {
		_, _ = fmt.Fprintln(progress, "starting the control plane:", err)
		return 1
	}
	if err = prepare(ctx, plane); err == nil {
		code = run()
	}
	cancel()
	if err = errors.Join(err, plane.Stop()); err != nil {
		_, _ = fmt.Fprintln(progress, "the control plane:", err)
		return 1
	}
	return code
}
