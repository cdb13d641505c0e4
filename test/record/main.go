// Command record plays writes on a real control plane, with the real kubectl and the real autoscaler, and stores the
// admission reviews that the API server makes of them: what the tests and benchmarks of the webhook are fed with.
//
// It records what the API server sends, whatever handoff does with it: no namespace here has opted in. Run again, it
// stores the same reviews but for times, uids and resource versions.
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
	dir := flags.String("dir", filepath.Join(root, "webhook", "testdata", "reviews"), "`folder` to store the reviews in")
	only := flags.String("only", "", "record only those whose name contains this `text`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	plane, err := controlplane.Start(ctx, controlplane.Options{Output: os.Stdout})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()
	webhook, err := handofftest.Start(ctx, plane, handofftest.Options{})
	if err != nil {
		return err
	}
	// Before the plane: the API server waits for those who watch.
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
		s, err := newStage(ctx, plane, kept, recording.name)
		if err != nil {
			return err
		}
		if err := s.store(recording, *dir); err != nil {
			return fmt.Errorf("%s: %w", recording.name, err)
		}
	}
	return nil
}

// store plays a recording and writes its review into a file of the folder.
func (s *stage) store(recording recording, dir string) error {
	review, err := s.play(recording)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	// The bytes as they came, without so much as a line's end.
	if err := os.WriteFile(filepath.Join(dir, recording.name+".json"), review, 0o644); err != nil {
		return err
	}
	fmt.Printf("%-66s %6d bytes\n", recording.name, len(review))
	return nil
}
