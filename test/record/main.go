// Command record runs writes on a real control plane, with the real kubectl and the real autoscaler, and stores the
// AdmissionReviews that the API server sends. They are the input of the webhook's tests and benchmarks.
//
// Handoff is not enabled in any of its namespaces, so that the reviews do not depend on handoff. Another run stores the same
// reviews except for times, UIDs and resource versions.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/ownership-handoff/handoff/test/controlplane"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
	"github.com/ownership-handoff/handoff/test/recorder"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	root, err := controlplane.Root()
	if err != nil {
		return err
	}
	flags := flag.NewFlagSet("record", flag.ContinueOnError)
	dir := flags.String("dir", filepath.Join(root, "webhook", "testdata", "reviews"), "`directory` to store the reviews in")
	only := flags.String("only", "", "record only reviews whose name contains this `text`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	controlPlane, err := controlplane.Start(ctx, controlplane.Options{Output: os.Stdout})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, controlPlane.Stop()) }()
	webhook, err := handofftest.Start(ctx, controlPlane, handofftest.Options{})
	if err != nil {
		return err
	}
	// Stop the webhook before the control plane, because the API server waits for open watches.
	defer func() { err = errors.Join(err, webhook.Stop()) }()
	kept, err := recorder.InFrontOf(webhook)
	if err != nil {
		return err
	}
	defer kept.Close()
	if err := webhook.Register(ctx); err != nil {
		return err
	}
	for _, recording := range recordings() {
		if !strings.Contains(recording.name, *only) {
			continue
		}
		s, err := newStage(ctx, controlPlane, kept, recording.name)
		if err != nil {
			return err
		}
		if err := s.store(recording, *dir); err != nil {
			return fmt.Errorf("%s: %w", recording.name, err)
		}
	}
	return nil
}

// store runs a recording and writes its review to a file in the directory.
func (s *stage) store(recording recording, dir string) error {
	review, err := s.record(recording)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	// Store exactly the received bytes, without a final newline.
	if err := os.WriteFile(filepath.Join(dir, recording.name+".json"), review, 0o644); err != nil {
		return err
	}
	fmt.Printf("%-66s %6d bytes\n", recording.name, len(review))
	return nil
}
