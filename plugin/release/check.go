package release

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/plugin/explain"
)

// unsafe simulates the next kubectl apply, of the last-applied manifest without the fields, and returns an error for each field
// that would change. Server-side apply needs no simulation: it removes only fields that its own entry alone contains.
func (p Plan) unsafe(now time.Time) (refusals []error) {
	if p.was == "" {
		return nil
	}
	errs := p.survive(p.Paths)
	wider := map[string]fieldpath.Path{} // by parent
	for i, path := range p.Paths {
		if errs[i] == nil {
			continue
		}
		in := path[:len(path)-1].String()
		whole, known := wider[in]
		if !known {
			whole = p.wider(path, now)
			wider[in] = whole
		}
		remedy := "keep it in the manifest"
		if whole != nil {
			remedy = "release all of " + explain.Text(whole) + " instead"
		}
		refusals = append(refusals, fmt.Errorf("%s: %s %w; %s", p.Subject, explain.Text(path), errs[i], remedy))
	}
	return refusals
}

// survive simulates the apply, and returns for each path why it would change, or nil.
func (p Plan) survive(paths []fieldpath.Path) []error {
	errs := make([]error, len(paths))
	result, err := p.Subject.ThreeWay([]byte(p.text), []byte(p.text), p.Subject.Object.Text())
	if err != nil {
		err = fmt.Errorf("cannot be released, because a manifest without it cannot be applied: %w", err)
	}
	live, applied := jsontree.Valid(p.Subject.Object.Text()), jsontree.Valid(result)
	for i, path := range paths {
		switch {
		case err != nil:
			errs[i] = err
		case !same(live.Find(path).Text(), applied.Find(path).Text()):
			errs[i] = errors.New("is part of a value that kubectl apply treats as atomic: a manifest without it would still change it")
		}
	}
	return errs
}

// wider returns the nearest ancestor of a path that can be released, or nil.
func (p Plan) wider(path fieldpath.Path, now time.Time) fieldpath.Path {
	for n := len(path) - 1; n > 0; n-- {
		if refuseIdentity(p.Subject, path[:n]) != nil {
			return nil
		}
		whole, err := planOf(p.Subject, p.fields, []fieldpath.Path{path[:n]}, now)
		if err == nil && whole.survive(whole.Paths)[0] == nil {
			return path[:n]
		}
	}
	return nil
}

func same(a, b []byte) bool {
	var was, is any
	if json.Unmarshal(a, &was) != nil || json.Unmarshal(b, &is) != nil {
		return false
	}
	return reflect.DeepEqual(was, is)
}
