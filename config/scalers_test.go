package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/internal/scale"
)

func TestScalersReplaceOrChangeTheDefault(t *testing.T) {
	defaults := config.Default().Scalers
	job := config.Scaler{Group: "batch.example.com", Kind: "JobScaler", Path: ".spec.ref"}
	for sentence, c := range map[string]struct {
		text string
		want config.Scalers
	}{
		"no field":                     {"", defaults},
		"an empty list":                {"scalers: []\n", nil},
		"null":                         {"scalers:\n", nil},
		"a list replaces":              {"scalers: [{group: batch.example.com, kind: JobScaler, path: .spec.ref}]\n", config.Scalers{job}},
		"add comes after the defaults": {"scalers: {add: [{group: batch.example.com, kind: JobScaler, path: .spec.ref}]}\n", append(slices.Clone(defaults), job)},
		"remove":                       {"scalers: {remove: [{group: argoproj.io, kind: Rollout}]}\n", config.Scalers{defaults[0], defaults[2]}},
		"both":                         {"scalers:\n  remove: [{group: keda.sh, kind: ScaledObject}, {group: argoproj.io, kind: Rollout}]\n  add: [{group: batch.example.com, kind: JobScaler, path: .spec.ref}]\n", config.Scalers{defaults[2], job}},
		"another path of a default":    {"scalers:\n  remove: [&r {group: argoproj.io, kind: Rollout, path: .spec.ref}]\n  add: [*r]\n", config.Scalers{defaults[0], defaults[2], {"argoproj.io", "Rollout", ".spec.ref"}}},
		"an object without lists":      {"scalers: {}\n", defaults},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := config.Parse([]byte(head + c.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.Scalers, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("scalers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestScalersThatCanNeverHaveAnEffectAreErrors(t *testing.T) {
	one := func(fields string) string { return "scalers: {add: [{" + fields + "}]}\n" }
	for sentence, c := range map[string]struct {
		text string
		want []string
	}{
		"a path that does not parse":      {one("group: a.b, kind: C, path: spec.ref"), []string{"scalers.add[0].path", "spec.ref", "dot"}},
		"no path":                         {one("group: a.b, kind: C"), []string{"scalers.add[0].path", "empty"}},
		"a path with a wildcard":          {one("group: a.b, kind: C, path: .spec.*"), []string{"path", ".spec.*", "field names"}},
		"a path into a list":              {one("group: a.b, kind: C, path: '.spec.refs[0]'"), []string{"path", ".spec.refs[0]", "field names"}},
		"a group with its version":        {one("group: a.b/v1, kind: C, path: .spec"), []string{"group", "v1", "write a.b"}},
		"no group":                        {one("kind: C, path: .spec"), []string{"group", "keda.sh"}},
		"the core group":                  {one("group: core, kind: C, path: .spec"), []string{"group", "core"}},
		"no kind":                         {one("group: a.b, path: .spec"), []string{"kind", "ScaledObject"}},
		"a plural name":                   {one("group: a.b, kind: scaledobjects, path: .spec"), []string{"kind", "scaledobjects"}},
		"a HorizontalPodAutoscaler":       {one("group: autoscaling, kind: HorizontalPodAutoscaler, path: .spec"), []string{"always"}},
		"a default again":                 {one("group: keda.sh, kind: ScaledObject, path: .spec.x"), []string{"ScaledObject.keda.sh", "is a default of scalers"}},
		"an unknown field of an element":  {one("group: a.b, kind: C, paths: .spec"), []string{"unknown field", "scalers.add[0].paths"}},
		"an unknown field":                {"scalers: {added: []}\n", []string{"unknown field", "scalers.added"}},
		"a string":                        {"scalers: keda\n", []string{"scalers", "string"}},
		"a list of strings":               {"scalers: [keda]\n", []string{"scalers", "string"}},
		"a list that is a string":         {"scalers: {add: keda}\n", []string{"scalers.add", "string"}},
		"a group that is a list":          {one("group: [a], kind: C, path: .spec"), []string{"scalers.add", "group", "array"}},
		"a removed kind not in the list":  {"scalers: {remove: [{group: a.b, kind: C}]}\n", []string{"scalers.remove[0]", "C.a.b", "delete"}},
		"a null element":                  {"scalers: {add: [null]}\n", []string{"scalers", "group"}},
		"a repeated field of an element ": {one("group: a.b, group: a.c, kind: C, path: .spec"), []string{"line 3", "group"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := config.Parse([]byte(head + c.text))
			if err == nil || !hasLine.MatchString(err.Error()) {
				t.Fatalf("no error with a line: %v", err)
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("want %q in: %v", part, err)
				}
			}
		})
	}
}

func TestTheDefaultScalersAreThoseOfPackageScale(t *testing.T) {
	got, err := config.Default().ScalerKinds()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(scale.Kinds(), got, cmp.AllowUnexported(scale.Kind{})); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
}
