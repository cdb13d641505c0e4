package stage

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ownership-handoff/handoff/test/bench/kyverno"
)

// KyvernoSpaces returns a namespace for each policy, with which Kyverno mutates its writes. The error is kyverno.ErrNotBuilt if
// Kyverno is not built.
func KyvernoSpaces(policies ...kyverno.Policy) ([]*Space, error) {
	version, err := kyverno.Version()
	if err != nil {
		return nil, err
	}
	spaces := make([]*Space, len(policies))
	for i, policy := range policies {
		spaces[i] = &Space{
			Name: "kyverno-" + policy.Name(), Title: "Kyverno " + strings.TrimPrefix(version, "v") + ", " + policy.Title(),
			Kyverno: policy, Want: scaledReplicas,
		}
	}
	return spaces, nil
}

// startKyverno starts Kyverno if a namespace has a policy for it, and creates the policies.
func (s *Stage) startKyverno(ctx context.Context, progress io.Writer) (err error) {
	var selected []*Space
	var names []string
	for _, space := range s.spaces {
		if space.Kyverno != "" {
			selected, names = append(selected, space), append(names, space.Name)
		}
	}
	if selected == nil {
		return nil
	}
	began := time.Now()
	if s.Kyverno, err = kyverno.Start(ctx, s.Plane, names); err != nil {
		return fmt.Errorf("starting Kyverno: %w", err)
	}
	fmt.Fprintf(progress, "kyverno: ready after %.1f s\n", time.Since(began).Seconds())
	for _, space := range selected {
		if err := s.Kyverno.Apply(ctx, space.Kyverno, space.Name); err != nil {
			return fmt.Errorf("namespace %s: %w", space.Name, err)
		}
	}
	return nil
}
