package ownership_test

import (
	"cmp"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/fieldpattern"
	"github.com/ownership-handoff/handoff/ownership"
)

// TestScaleField has applies of an object of which live has 7 replicas unless a case says otherwise.
func TestScaleField(t *testing.T) {
	const (
		sets3, sets7, lacks = `{"spec":{"replicas":3}}`, `{"spec":{"replicas":7}}`, `{"spec":{}}`
		null                = `{"spec":{"replicas":null}}`
		setsOther           = `{"metadata":{"name":"other"},"spec":{"replicas":3}}`
	)
	const hpa = "HorizontalPodAutoscaler/web"
	open := []ownership.Rule{{Fields: fieldpattern.MustParse(".spec.replicas")}}
	kept := ownership.Rule{Fields: open[0].Fields, Writers: []string{"my-sleeper"}}
	named := []ownership.Rule{{Fields: kept.Fields, Writers: kept.Writers, Edit: ownership.EditApply}}
	operator := entry("my-operator", "Update", early, ownsReplicas, "")
	oldVersion := strings.NewReplacer("my-operator", "kubectl-edit", "apps/v1", "apps/v1beta1", "f:replicas", "f:size").Replace(operator)
	type facts struct {
		Owner          ownership.Owner
		Manifest, Base ownership.Declaration
		Removed        bool
	}
	for sentence, c := range map[string]struct {
		rules          []ownership.Rule
		by             string // the name of the owner
		autoscaler     string
		entry          string // of live, which contains the field
		base, manifest string // last-applied of live and incoming
		live, incoming string
		dryRun, off    bool
		serverSide     string // the fields of its entry, before and after the write
		want           facts
	}{
		"a rule, and a controller's entry": {
			by: "my-operator", rules: open, entry: operator, base: sets3, manifest: sets3, incoming: "3",
			want: facts{ownership.Controller, ownership.Sets, ownership.Sets, false},
		},
		"a user's entry of another version, in which the field has another path": {
			by: "kubectl-edit", entry: oldVersion, base: sets3, manifest: sets3, incoming: "3",
			want: facts{ownership.Imperative, ownership.Sets, ownership.Sets, false},
		},
		"a rule, and no entry: a write of 0 through /scale left none": {
			rules: open, base: sets3, manifest: sets3, incoming: "3", want: facts{ownership.Controller, ownership.Sets, ownership.Sets, false},
		},
		"a rule with named writers under which an edit wins, and no entry: anybody can have scaled to 0": {
			rules: append(named, kept), base: sets3, manifest: sets3, incoming: "3", want: facts{ownership.Manifest, ownership.Sets, ownership.Sets, false},
		},
		"such a rule, and one for anybody": {
			rules: append(named, open...), base: sets3, manifest: sets3, incoming: "3", want: facts{ownership.Controller, ownership.Sets, ownership.Sets, false},
		},
		"removed, although the annotation sets it: another write's manifest": {
			base: sets7, manifest: sets7, want: facts{ownership.Manifest, ownership.Lacks, ownership.Sets, false},
		},
		"a rule, no entry, and the value of the base": {
			rules: open, base: sets7, manifest: sets3, incoming: "3", want: facts{ownership.Manifest, ownership.Sets, ownership.Sets, false},
		},
		"no rule, and no entry": {
			base: sets3, manifest: sets3, incoming: "3", want: facts{ownership.Manifest, ownership.Sets, ownership.Sets, false},
		},
		"dropped from both manifests, to the default": {
			base: lacks, manifest: `{"spec":{"paused":true}}`, incoming: "1",
			want: facts{ownership.Default, ownership.Lacks, ownership.Lacks, true},
		},
		"in neither manifest, set to another value by an admission plugin": {
			base: lacks, manifest: `{"spec":{"paused":true}}`, incoming: "2",
			want: facts{ownership.Default, ownership.Lacks, ownership.Lacks, false},
		},
		"in neither manifest, changed although an autoscaler owns it": {
			by: hpa, autoscaler: hpa, base: lacks, manifest: `{"spec":{"paused":true}}`, incoming: "2",
			want: facts{ownership.Autoscaler, ownership.Lacks, ownership.Lacks, true},
		},
		"the recorded manifest lacks it, and the object was replaced": {
			base: lacks, manifest: lacks, incoming: "1", want: facts{ownership.Default, ownership.Lacks, ownership.Lacks, true},
		},
		"the recorded manifest lacks it, and kubectl diff sets the default": {
			base: lacks, manifest: lacks, incoming: "1", dryRun: true, want: facts{ownership.Default, ownership.Sets, ownership.Lacks, false},
		},
		"the recorded manifest lacks it, and kubectl diff sets another number": {
			base: lacks, manifest: lacks, incoming: "2", dryRun: true, want: facts{ownership.Default, ownership.Sets, ownership.Lacks, false},
		},
		"the recorded manifest lacks it, and kubectl diff removes it": {
			base: lacks, manifest: lacks, incoming: "null", dryRun: true, want: facts{ownership.Default, ownership.Sets, ownership.Lacks, false},
		},
		"the recorded manifest has null, and another applier sets another number": {
			base: null, manifest: null, incoming: "0", want: facts{ownership.Manifest, ownership.Sets, ownership.Clears, false},
		},
		"the recorded manifest has null, which becomes the default": {
			base: null, manifest: null, incoming: "1", want: facts{ownership.Manifest, ownership.Clears, ownership.Clears, false},
		},
		"a new manifest that is another object's, and another number": {
			base: sets3, manifest: setsOther, incoming: "2", want: facts{ownership.Default, ownership.Sets, ownership.Lacks, false},
		},
		"a new manifest that is another object's, and the default": {
			base: sets3, manifest: setsOther, incoming: "1", want: facts{ownership.Default, ownership.Lacks, ownership.Lacks, true},
		},
		"a rule, no entry, and the default": {
			rules: open, base: sets3, manifest: sets3, live: "1", incoming: "3",
			want: facts{ownership.Manifest, ownership.Sets, ownership.Sets, false},
		},
		"a user's entry of another field": {
			entry: entry("kubectl-edit", "Update", early, ownsImage, ""), base: sets3, manifest: sets3, incoming: "3",
			want: facts{ownership.Manifest, ownership.Sets, ownership.Sets, false},
		},
		"without a base, changed to another value": {
			manifest: lacks, incoming: "2", want: facts{ownership.Default, ownership.Lacks, ownership.Lacks, true},
		},
		"the recorded manifest lacks it, and the object was replaced without it": {
			base: lacks, manifest: lacks, incoming: "null", want: facts{ownership.Default, ownership.Lacks, ownership.Lacks, true},
		},
		"nothing is recorded, and the write removes it": {
			incoming: "null", want: facts{ownership.Default, ownership.Sets, ownership.Lacks, false},
		},
		"an autoscaler that is off at 0": {
			by: hpa, autoscaler: hpa, off: true, base: sets3, manifest: sets3, live: "0", incoming: "3",
			want: facts{ownership.Autoscaler, ownership.Sets, ownership.Sets, false},
		},
		"an autoscaler that the manifest has switched off": {
			autoscaler: hpa, off: true, base: `{"spec":{"replicas":0}}`, manifest: sets3, live: "0", incoming: "3",
			want: facts{ownership.Manifest, ownership.Sets, ownership.Sets, false},
		},
		"an autoscaler that the manifest has switched off, and a rule": {
			by: "my-operator", autoscaler: hpa, off: true, rules: open, entry: operator, base: `{"spec":{"replicas":0}}`, manifest: sets3, live: "0", incoming: "3",
			want: facts{ownership.Manifest, ownership.Sets, ownership.Sets, false},
		},
		"an autoscaler that the manifest confirms to be off": {
			autoscaler: hpa, off: true, base: sets3, manifest: `{"spec":{"replicas":0}}`, live: "0", incoming: "0",
			want: facts{ownership.Manifest, ownership.Sets, ownership.Sets, false},
		},
		"an autoscaler that is off, of a manifest without the field": {
			by: hpa, autoscaler: hpa, off: true, base: lacks, manifest: `{"spec":{"paused":true}}`, live: "0", incoming: "0",
			want: facts{ownership.Autoscaler, ownership.Lacks, ownership.Lacks, false},
		},
		"a controller of a rule does not keep a manifest's workload off": {
			by: "my-operator", rules: open, entry: operator, off: true, base: sets3, manifest: `{"spec":{"replicas":0}}`, live: "0", incoming: "0",
			want: facts{ownership.Imperative, ownership.Sets, ownership.Sets, false},
		},
		"a manifest that sets 0, of an autoscaler that has not scaled to 0": {
			by: hpa, autoscaler: hpa, off: true, base: `{"spec":{"replicas":0}}`, manifest: sets3, incoming: "3",
			want: facts{ownership.Autoscaler, ownership.Sets, ownership.Sets, false},
		},
		"server-side, of an autoscaler that its 0 has switched off, in a version in which the field has another path": {
			by: "kubectl", autoscaler: hpa, off: true, serverSide: ownsImage + ownsReplicas, live: "0", incoming: "3",
			entry: strings.NewReplacer("my-operator", "kubectl", "Update", "Apply", "apps/v1", "apps/v1beta1", "f:replicas", "f:size").Replace(operator),
			want:  facts{ownership.Manifest, ownership.Sets, ownership.Sets, false},
		},
		"server-side, sets it again": {
			by: "kubectl", serverSide: ownsReplicas + ownsReplicas, incoming: "3", want: facts{ownership.Manifest, ownership.Sets, ownership.Sets, false},
		},
		"server-side, sets it for the first time": {
			serverSide: ownsImage + ownsReplicas, incoming: "3", want: facts{ownership.Default, ownership.Sets, ownership.Lacks, false},
		},
		"server-side, drops it": {
			by: "kubectl", serverSide: ownsReplicas + ownsImage, incoming: "1", want: facts{ownership.Manifest, ownership.Lacks, ownership.Sets, false},
		},
		"server-side, in neither, a controller's, set to another value by an admission plugin": {
			by: "my-operator", rules: open, entry: operator, serverSide: ownsImage + ownsImage, incoming: "2", want: facts{ownership.Controller, ownership.Lacks, ownership.Lacks, true},
		},
		"server-side, in neither, set to another value by an admission plugin": {
			serverSide: ownsImage + ownsImage, incoming: "2", want: facts{ownership.Default, ownership.Lacks, ownership.Lacks, false},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			of := func(manifest, replicas string, entries ...string) ownership.Object {
				if replicas != "" {
					replicas = `"replicas":` + replicas
				}
				return object(t, liveWith(`,"spec":{`+replicas+`}`, manifest, entries...))
			}
			sender := "kubectl-client-side-apply"
			was := entry(sender, "Update", early, ownsLastApplied, "")
			is := was
			if before, after, ok := strings.Cut(c.serverSide, "}{"); ok {
				sender, was, is = "kubectl", entry("kubectl", "Apply", early, before+"}", ""), entry("kubectl", "Apply", late, "{"+after, "")
			}
			live := []string{was}
			if c.entry != "" {
				live = append(live, c.entry)
			}
			m := managers
			m.Scale = func(apiVersion string) fieldpath.Path {
				return map[string]fieldpath.Path{"apps/v1": replicas, "apps/v1beta1": fieldpath.MakePathOrDie("spec", "size")}[apiVersion]
			}
			m = ruled(m, c.rules...)
			w := ownership.Write{
				Kind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, DryRun: c.dryRun, FieldManager: sender,
				Live: of(c.base, cmp.Or(c.live, "7"), live...), Incoming: of(c.manifest, c.incoming, is),
				ObjectContext: ownership.ObjectContext{Managers: m, Scale: replicas, Scaler: ownership.Scaler{Name: c.autoscaler, OffAtZero: c.off}},
			}
			expect.NoError(t, w.Read())
			w.Autoscaler = w.ScalerThatOwns(w.Manifests.BaseValue(replicas))
			expect.Equal(t, "the manifest is that of another object", c.manifest == setsOther, errors.Is(w.Manifests.Unread, ownership.ErrLastApplied))
			f, ok := w.ScaleField()
			if !ok {
				t.Fatal("live has the field")
			}
			expect.Equal(t, "owner", c.by, f.Owner.By)
			want := ""
			if f.Owner.Kind >= ownership.Controller {
				want = f.Owner.Kind.String() + " " + f.Owner.By + " " + f.Owner.Rule
			}
			if got := ownerIn(t, w.ObjectContext, w.Live, ".spec.replicas"); got != want && c.incoming != "0" { // which the live object does not show
				t.Errorf("OwnedFields: want %q, got %q", want, got)
			}
			got := facts{f.Owner.Kind, f.Declared.Manifest, f.Declared.Base, f.Removed}
			expect.Equal(t, "facts", c.want, got)
		})
	}
}

func TestAMissingScaleFieldHasNoOwner(t *testing.T) {
	for _, live := range []string{`{"spec":{}}`, `{"spec":{"replicas":null}}`} {
		w := ownership.Write{Live: object(t, live), Incoming: object(t, `{"spec":{"replicas":3}}`), ObjectContext: ownership.ObjectContext{Scale: replicas}}
		if f, ok := w.ScaleField(); ok {
			t.Errorf("%s: got %v", live, f)
		}
	}
}
