package ownership_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/fieldpattern"
	"github.com/ownership-handoff/handoff/ownership"
)

const (
	ownsRelease = `{"f:metadata":{"f:annotations":{"f:meta.helm.sh/release-name":{}}},"f:spec":{"f:replicas":{}}}`
	ownsBothAnd = `{"f:metadata":{"f:annotations":{"f:kubectl.kubernetes.io/last-applied-configuration":{}}},"f:spec":{"f:replicas":{}}}`
)

// deploymentOf returns the Deployment shop/web with entries and with a last-applied annotation, of itself or of another object,
// "" for none.
func deploymentOf(lastApplied, owners string, entries ...string) string {
	annotations := "{}"
	if lastApplied != "" {
		annotations = `{"` + ownership.LastAppliedAnnotation + `":` + strconv.Quote(lastApplied) + `}`
	}
	return fmt.Sprintf(`{"kind":"Deployment","metadata":{"name":"web","namespace":"shop","annotations":%s,"ownerReferences":[%s],"managedFields":[%s]},"spec":{}}`,
		annotations, owners, strings.Join(entries, ","))
}

func TestSentByKnowsAppliersByWhatTheyWrite(t *testing.T) {
	update := func(manager, fields string) string { return entry(manager, "Update", early, fields, "") }
	const (
		own       = `{"kind":"Deployment","metadata":{"name":"web","namespace":"shop"}}`
		newer     = `{"kind":"Deployment","metadata":{"name":"web","namespace":"shop"},"spec":{}}`
		bare      = `{"spec":{"replicas":3}}`
		kind      = `{"kind":"Shop","metadata":{"name":"web","namespace":"shop"}}`
		name      = `{"kind":"Deployment","metadata":{"name":"parent","namespace":"shop"}}`
		elsewhere = `{"kind":"Deployment","metadata":{"name":"web","namespace":"source"}}`
		parent    = `{"kind":"Shop","name":"web","uid":"1"},{"kind":"Shop","name":"web","uid":"2","controller":true}`
		adopter   = `{"kind":"Shop","name":"web","uid":"1","controller":false}`
	)
	for sentence, c := range map[string]struct {
		manager        string
		live, incoming string
		want           ownership.Writer
	}{
		"it has set the annotation before": {
			"ci", deploymentOf(own, "", update("ci", ownsLastApplied)), deploymentOf(own, "", update("ci", ownsBothAnd)), ownership.Applier,
		},
		"it sets the annotation now": {
			"ci", deploymentOf("", "", update("other", ownsImage)), deploymentOf(own, "", update("ci", ownsBothAnd)), ownership.Applier,
		},
		"no field manager is named": {
			"", deploymentOf(own, "", update("other", ownsLastApplied)), deploymentOf(newer, "", update("ci", ownsBothAnd)), ownership.Applier,
		},
		"the annotation names no object": {
			"ci", deploymentOf(bare, "", update("ci", ownsLastApplied)), deploymentOf(bare, "", update("ci", ownsBothAnd)), ownership.Applier,
		},
		"it has set the annotation in another version of the kind": {
			"ci", deploymentOf(own, "", strings.Replace(update("ci", ownsLastApplied), "apps/v1", "apps/v1beta1", 1)),
			deploymentOf(own, "", strings.Replace(update("ci", ownsLastApplied), "apps/v1", "apps/v1beta1", 1), update("ci", ownsReplicas)), ownership.Applier,
		},
		"the API server has no managedFields, and it changes the annotation": {
			"ci", deploymentOf(own, ""), deploymentOf(newer, ""), ownership.Applier,
		},
		"the API server has no managedFields, and it leaves the annotation": {
			"ci", deploymentOf(own, ""), deploymentOf(own, ""), ownership.OtherWriter,
		},
		"another manager has set the annotation": {
			"ci", deploymentOf(own, "", update("other", ownsLastApplied)), deploymentOf(own, "", update("other", ownsLastApplied), update("ci", ownsReplicas)), ownership.OtherWriter,
		},
		"another manager has taken over the annotation": {
			"ci", deploymentOf(own, "", update("ci", ownsReplicas), update("other", ownsLastApplied)),
			deploymentOf(own, "", update("ci", ownsBoth), update("other", ownsLastApplied)), ownership.OtherWriter,
		},
		"its annotation is of another kind": {
			"ci", deploymentOf(kind, "", update("ci", ownsLastApplied)), deploymentOf(kind, "", update("ci", ownsBothAnd)), ownership.OtherWriter,
		},
		"its annotation is of another name": {
			"ci", deploymentOf("", ""), deploymentOf(name, "", update("ci", ownsBothAnd)), ownership.OtherWriter,
		},
		"its annotation is of another namespace": {
			"ci", deploymentOf("", ""), deploymentOf(elsewhere, "", update("ci", ownsBothAnd)), ownership.OtherWriter,
		},
		"its annotation is not JSON": {
			"ci", deploymentOf("{", "", update("ci", ownsLastApplied)), deploymentOf("{", "", update("ci", ownsBothAnd)), ownership.OtherWriter,
		},
		"it removes the annotation": {
			"ci", deploymentOf(own, "", update("ci", ownsLastApplied)), deploymentOf("", "", update("ci", ownsReplicas)), ownership.OtherWriter,
		},
		"a user's command changes the annotation": {
			"kubectl-edit", deploymentOf(own, "", update("ci", ownsLastApplied)), deploymentOf(newer, "", update("kubectl-edit", ownsBothAnd)), ownership.ImperativeWriter,
		},
		"an autoscaler changes the annotation": {
			"keda", deploymentOf(own, ""), deploymentOf(newer, "", update("keda", ownsBothAnd)), ownership.OtherWriter,
		},
		"the manager of a rule changes the annotation": {
			"ruled", deploymentOf(own, ""), deploymentOf(newer, "", update("ruled", ownsBothAnd)), ownership.OtherWriter,
		},
		"it has set the Helm release": {
			"terraform-provider-helm", deploymentOf("", "", update("terraform-provider-helm", ownsRelease)),
			deploymentOf("", adopter, update("terraform-provider-helm", ownsRelease)), ownership.Applier,
		},
		"another manager has set the Helm release": {
			"my-operator", deploymentOf("", "", update("terraform-provider-helm", ownsRelease)),
			deploymentOf("", "", update("terraform-provider-helm", ownsRelease), update("my-operator", ownsReplicas)), ownership.OtherWriter,
		},
		"a controller has copied the Helm release to an object that it creates": {
			"my-operator", deploymentOf("", parent, update("my-operator", ownsRelease)), deploymentOf("", parent, update("my-operator", ownsRelease)), ownership.OtherWriter,
		},
		"the annotation is in an entry of a subresource": {
			"ci", deploymentOf(own, "", entry("ci", "Update", early, ownsLastApplied, "status")),
			deploymentOf(own, "", entry("ci", "Update", early, ownsLastApplied, "status"), update("ci", ownsReplicas)), ownership.OtherWriter,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			expect.Equal(t, "writer", c.want, sentBy(t, c.manager, c.live, c.incoming))
		})
	}
}

func sentBy(t *testing.T, manager, live, incoming string) ownership.Writer {
	t.Helper()
	kind := schema.GroupKind{Group: "apps", Kind: "Deployment"}
	rules, _ := ownership.NewRules(
		ownership.Rule{Kinds: []schema.GroupKind{kind}, Writers: []string{"ruled", "my-*-scaler"}, Fields: fieldpattern.MustParse(".spec.a", ".spec.b")},
		ownership.Rule{Kinds: []schema.GroupKind{{Kind: "StatefulSet"}}, Writers: []string{"sets"}},
	).For(kind, "", ownership.Object{})
	scale := func(apiVersion string) fieldpath.Path {
		if apiVersion != "apps/v1" {
			return nil
		}
		return replicas
	}
	return read(t, managers.WithRules(rules, scale), manager, object(t, live), object(t, incoming)).Sender.Writer
}

func TestSentByKnowsManifestsOfServerSideApply(t *testing.T) {
	apply := func(manager, fields string) string { return entry(manager, "Apply", early, fields, "") }
	manifest := entry("kubectl-client-side-apply", "Update", early, ownsImage, "")
	for sentence, c := range map[string]struct {
		manager        string
		live, incoming []string
		want           ownership.Writer
	}{
		"a manifest":                         {"x", nil, []string{apply("x", ownsBoth)}, ownership.Applier},
		"only replicas of a declared object": {"x", []string{manifest}, []string{manifest, apply("x", ownsReplicas)}, ownership.OtherWriter},
		"only replicas of an object that nobody else has declared": {
			"x", []string{entry("x", "Update", early, ownsReplicas, "scale")}, []string{apply("x", ownsReplicas)}, ownership.Applier,
		},
		"only replicas next to another scaler": {
			"x", []string{apply("y", ownsReplicas)}, []string{apply("x", ownsReplicas), apply("y", ownsReplicas)}, ownership.Applier,
		},
		"only replicas by a listed applier":                    {"helm", []string{manifest}, []string{manifest, apply("helm", ownsReplicas)}, ownership.Applier},
		"only replicas by kubectl":                             {"kubectl", []string{manifest}, []string{manifest, apply("kubectl", ownsReplicas)}, ownership.Applier},
		"only another field":                                   {"x", []string{manifest}, []string{manifest, apply("x", ownsImage)}, ownership.Applier},
		"only replicas, after a manifest":                      {"x", []string{manifest, apply("x", ownsBoth)}, []string{manifest, apply("x", ownsReplicas)}, ownership.Applier},
		"nothing, after only replicas":                         {"x", []string{manifest, apply("x", ownsReplicas)}, []string{manifest}, ownership.OtherWriter},
		"nothing, after a manifest":                            {"x", []string{manifest, apply("x", ownsBoth)}, []string{manifest}, ownership.Applier},
		"a manifest by a rule's manager":                       {"ruled", nil, []string{apply("ruled", ownsBoth)}, ownership.OtherWriter},
		"a manifest by a rule's pattern":                       {"my-own-scaler", nil, []string{apply("my-own-scaler", ownsBoth)}, ownership.OtherWriter},
		"a manifest by the manager of a rule for another kind": {"sets", nil, []string{apply("sets", ownsBoth)}, ownership.Applier},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := sentBy(t, c.manager, deploymentOf("", "", c.live...), deploymentOf("", "", c.incoming...))
			expect.Equal(t, "writer", c.want, got)
		})
	}
}

// TestWhoCreatesAnObjectWithoutATemplateHasAppliedIt has server-side applies of nothing but replicas, which are manifests of their creators.
func TestWhoCreatesAnObjectWithoutATemplateHasAppliedIt(t *testing.T) {
	for sentence, c := range map[string]struct {
		spec, at string
		want     ownership.Writer
	}{
		"in the second of the creation":      {`{}`, early, ownership.Applier},
		"later":                              {`{}`, late, ownership.OtherWriter},
		"an object whose template says more": {`{"template":{}}`, early, ownership.OtherWriter},
		"an object whose selector says more": {`{"selector":{}}`, early, ownership.OtherWriter},
	} {
		text := deploymentOf("", "", entry("kubectl-client-side-apply", "Update", early, ownsImage, ""), entry("x", "Apply", c.at, ownsReplicas, ""))
		text = strings.Replace(text, `"spec":{}`, `"spec":`+c.spec, 1)
		text = strings.Replace(text, `"name":"web"`, `"name":"web","creationTimestamp":"`+early+`"`, 1)
		expect.Equal(t, sentence+": writer", c.want, sentBy(t, "x", text, text))
	}
}

// TestWhoManagesMostOfTheManifestHasAppliedIt has updates of a manager that is in no list, on objects whose annotation another one has written.
func TestWhoManagesMostOfTheManifestHasAppliedIt(t *testing.T) {
	const manifest = `{"kind":"Deployment","metadata":{"name":"web","namespace":"shop"},"spec":{"a":1,"b":2,"c":{"d":3},"list":[1,2,3,4]}}`
	for sentence, c := range map[string]struct {
		fields, subresource, spec string
		want                      ownership.Writer
	}{
		"two of three values":                    {`"f:a":{},"f:c":{"f:d":{}}`, "", `{"a":1,"c":{"d":3}}`, ownership.Applier},
		"one of three":                           {`"f:a":{}`, "", `{"a":1}`, ownership.OtherWriter},
		"two, of which live has one":             {`"f:a":{},"f:b":{}`, "", `{"a":1,"b":7}`, ownership.OtherWriter},
		"one, and a list":                        {`"f:a":{},"f:list":{}`, "", `{"a":1,"list":[1,2,3,4]}`, ownership.OtherWriter},
		"one, and fields of others":              {`"f:a":{},"f:x":{},"f:y":{}`, "", `{"a":1,"x":1,"y":1}`, ownership.OtherWriter},
		"two of three, in an entry of /scale":    {`"f:a":{},"f:c":{"f:d":{}}`, "scale", `{"a":1,"c":{"d":3}}`, ownership.OtherWriter},
		"two of three, of a controller's object": {`"f:a":{},"f:c":{"f:d":{}}`, "", `{"a":1,"c":{"d":3},"owned":true}`, ownership.OtherWriter},
		"two of three, which a rule assigns":     {`"f:a":{},"f:b":{}`, "", `{"a":1,"b":2}`, ownership.OtherWriter},
	} {
		owner := ""
		if strings.Contains(c.spec, "owned") {
			owner = `{"kind":"Shop","name":"web","uid":"2","controller":true}`
		}
		text := deploymentOf(manifest, owner, entry("other", "Update", early, ownsLastApplied, ""), entry("ci", "Update", early, `{"f:spec":{`+c.fields+`}}`, c.subresource))
		text = strings.Replace(text, `"spec":{}}`, `"spec":`+c.spec+`}`, 1)
		expect.Equal(t, sentence+": writer", c.want, sentBy(t, "ci", text, text))
	}
}
