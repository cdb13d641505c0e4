package accepted_test

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

// observation is the result of an apply with handoff and of the same apply without it.
type observation struct {
	schemas schemas
	rules   []ownership.Pattern
	// live is the object before the apply, stored the one after it, twin the one that would be stored without handoff.
	live, stored, twin *unstructured.Unstructured
	// base and manifest are the previous and the current manifest.
	base, manifest map[string]any
	// applier is the managedFields entry of the writer.
	applier string
	server  bool

	refused, refusedTwin error
	warnings             []string
	words                words
	// again is the object after a second identical apply, off the result of that apply without handoff.
	again, off               *unstructured.Unstructured
	refusedAgain, refusedOff error
	// unusable is the error if kubectl cannot merge another manifest into the object.
	unusable error
	// kubectl is the difference between kubectl's apply and this package's request.
	kubectl string
}

// apply applies a manifest and returns the observation.
func (s *stage) apply(ctx context.Context, m manifest) (o observation, err error) {
	declared := s.kind.object(m, s.name)
	o = observation{schemas: s.schemas, live: s.live, manifest: declared, server: s.server, base: s.base, applier: clientSide + "/Update"}
	if s.server {
		o.applier = serverSide + "/Apply"
	} else if o.base, err = lastAppliedOf(s.live); err != nil {
		return o, err
	}
	for _, rule := range s.kind.ruled {
		pattern, err := ownership.ParsePattern(rule)
		if err != nil {
			return o, err
		}
		o.rules = append(o.rules, pattern)
	}
	r, err := s.applying(s.live, declared)
	if err != nil {
		return o, err
	}
	off, err := r.switchedOff()
	if err != nil {
		return o, err
	}
	twin := s.send(ctx, off, client.DryRunAll)
	o.twin, o.refusedTwin = twin.object, twin.err
	var here answer
	if s.kubectl {
		here, o.kubectl = s.byKubectl(ctx, r, declared)
	} else {
		here = s.send(ctx, r)
	}
	o.stored, o.warnings, o.refused = here.object, here.warnings, here.err
	o.words = o.read()
	if o.refused == nil {
		s.live = o.stored
		err = s.applyAgain(ctx, &o, declared)
	}
	return o, err
}

// applyAgain applies the same manifest again: without handoff as a dry run, then with it.
func (s *stage) applyAgain(ctx context.Context, o *observation, declared map[string]any) error {
	var r request
	if r, o.unusable = s.applying(o.stored, declared); o.unusable != nil {
		return nil //nolint:nilerr // this is a finding, not an error of the test
	}
	without, err := r.switchedOff()
	if err != nil {
		return err
	}
	off := s.send(ctx, without, client.DryRunAll)
	o.off, o.refusedOff = off.object, off.err
	again := s.send(ctx, r)
	o.again, o.refusedAgain = again.object, again.err
	if again.err == nil {
		s.live = again.object
	}
	if s.server {
		s.base = runtime.DeepCopyJSON(declared)
		for _, p := range o.words.kept {
			remove(s.base, p)
		}
	}
	return nil
}

func lastAppliedOf(o *unstructured.Unstructured) (base map[string]any, err error) {
	text, ok := o.GetAnnotations()[lastApplied]
	if !ok {
		return nil, nil
	}
	if err := utiljson.Unmarshal([]byte(text), &base); err != nil {
		return nil, fmt.Errorf("last-applied: %w", err)
	}
	return base, nil
}

// remove removes a field from an object.
func remove(o map[string]any, p fieldpath.Path) {
	last := p[len(p)-1]
	parent, _ := at(o, p[:len(p)-1])
	if members, ok := parent.(map[string]any); ok && last.FieldName != nil {
		delete(members, *last.FieldName)
	}
}
