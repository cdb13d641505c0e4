package release

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/explanation"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// unsafe plays the next kubectl apply, of the manifest that was applied last without the fields, and refuses what would not be
// as it is afterwards. That server-side apply leaves it needs no playing: it takes away nothing but what its own entry claims
// alone.
func (p Plan) unsafe(now time.Time) (refusals []error) {
	if p.was == "" {
		return nil
	}
	for _, path := range p.Paths {
		err := p.survives(path)
		if err == nil {
			continue
		}
		remedy := "keep it in the manifest"
		if whole := p.wider(path, now); whole != nil {
			remedy = "release " + explanation.Text(whole) + " as a whole instead"
		}
		refusals = append(refusals, fmt.Errorf("%s: %s %w; %s", p, explanation.Text(path), err, remedy))
	}
	return refusals
}

// survives plays the apply and looks at one path.
func (p Plan) survives(path fieldpath.Path) error {
	result, err := merge.ThreeWayJSON([]byte(p.text), []byte(p.text), p.Object.Text(), p.Schema(), merge.Options{})
	if err != nil {
		return fmt.Errorf("cannot be released, for the manifest without it cannot be applied: %w", err)
	}
	applied, err := ownership.ParseObject(result)
	if err != nil {
		return err
	}
	if was, is := p.Object.Value(path), applied.Value(path); !same(was, is) {
		return errors.New("is part of what kubectl apply takes as a whole: a manifest without it would still change it")
	}
	return nil
}

// wider returns the nearest container of a path that could be released, nil where there is none.
func (p Plan) wider(path fieldpath.Path, now time.Time) fieldpath.Path {
	for n := len(path) - 1; n > 0; n-- {
		if refuseIdentity(p.Explanation, path[:n]) != nil {
			return nil
		}
		whole, err := planOf(p.Explanation, []fieldpath.Path{path[:n]}, now)
		if err == nil && whole.survives(path[:n]) == nil {
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
