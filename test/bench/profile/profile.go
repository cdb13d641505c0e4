// Package profile records where the time of a review goes that keeps a field.
package profile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
	"time"

	"github.com/ownership-handoff/handoff/test/bench/handlers"
	"github.com/ownership-handoff/handoff/test/bench/table"
)

const (
	// review is the recorded review that is answered: an apply that changes nothing but the autoscaled replicas.
	review = "apply-unchanged-while-hpa-scaled"
	// File is the name of the profile, in the format of pprof.
	File = "kept.pprof"
	// lasts is how long the profile lasts. It has a sample every 10 ms.
	lasts = 20 * time.Second
)

// Measure writes the profile to a folder.
func Measure(ctx context.Context, progress io.Writer, folder string) (result table.Result, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	body, err := handlers.Review(review)
	if err != nil {
		return result, err
	}
	handler, err := handlers.Handoff(ctx, handlers.Options{Mode: "enforce", Namespace: review})
	if err != nil {
		return result, err
	}
	exchange, err := handlers.NewExchange(body)
	if err != nil {
		return result, err
	}
	answer, err := exchange.Answer(handler)
	if err != nil {
		return result, err
	}
	if answer.Patch == nil {
		return result, fmt.Errorf("no field is kept: %q", answer.Warnings)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return result, fmt.Errorf("writing the profile: %w", err)
	}
	file, err := os.Create(filepath.Join(folder, File))
	if err != nil {
		return result, fmt.Errorf("writing the profile: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := pprof.StartCPUProfile(file); err != nil {
		return result, fmt.Errorf("starting the profile: %w", err)
	}
	defer pprof.StopCPUProfile()
	answered := 0
	for began := time.Now(); time.Since(began) < lasts && ctx.Err() == nil; answered++ {
		exchange.Send(handler)()
	}
	fmt.Fprintf(progress, "profile: of %d reviews in %s\n", answered, filepath.Join(folder, File))
	return result, ctx.Err()
}
