package main

import (
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

func TestTheTablesHaveFunctionsOfTheModuleAndAllPackages(t *testing.T) {
	location := func(name string) *profile.Location {
		return &profile.Location{Line: []profile.Line{{Function: &profile.Function{Name: name}}}}
	}
	serve, decide, copied := location(module+"webhook.serve"), location(module+"merge.decide"), location("runtime.memmove")
	p := &profile.Profile{Sample: []*profile.Sample{
		{Value: []int64{60}, Location: []*profile.Location{copied, decide, decide, serve}},
		{Value: []int64{39}, Location: []*profile.Location{serve}},
		{Value: []int64{1}, Location: []*profile.Location{location(module + "webhook.rare"), location("main.main")}},
	}}
	want := strings.Join([]string{
		"| share of the time | function, with what it calls |",
		"|---|---|",
		"| 99 % | `webhook.serve` |",
		"| 60 % | `merge.decide` |",
		"",
		"| share of the time | package, without what it calls |",
		"|---|---|",
		"| 60 % | `runtime` |",
		"| 40 % | `webhook` |",
		"",
	}, "\n")
	if got := tableOf(p); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
