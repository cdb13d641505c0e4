package release

import (
	"strings"
	"testing"
)

// TestRefusals tests fields that would not survive the next apply. test/plugin tests more of them on a control plane.
func TestRefusals(t *testing.T) {
	annotated := func(kind, body, declared string, entries ...string) object {
		return object{kind: kind, body: body, annotated: declared, entries: append(entries, entry(client, annotation))}
	}
	containers := `{"spec":{"template":{"spec":{"containers":[{"name":"a","args":["x","y"]}]}}}}`
	for name, c := range map[string]struct {
		object      object
		field, says string
	}{
		"part of a list without a manager": {
			annotated("", containers, containers), ".spec.template.spec.containers[0].args[0]",
			"in a list without keys; release all of .spec.template.spec.containers instead",
		},
		"the key of a list element": {
			annotated("", containers, containers, entry("me/Update", `"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{".":{},"f:name":{}}}}}}`)),
			`.spec.template.spec.containers[name="a"].name`, "cannot be released, because a manifest without it cannot be applied",
		},
		"part of a list in a custom resource": {
			annotated("shop.example.com/v1 Gadget", `{"spec":{"hosts":[{"name":"a","weight":5},{"name":"b"}]}}`, `{"spec":{"hosts":[{"name":"a","weight":1},{"name":"b"}]}}`,
				entry("me/Update", `"f:spec":{"f:hosts":{"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:weight":{}}}}`)),
			`.spec.hosts[name="a"].weight`, "kubectl apply treats as atomic: a manifest without it would still change it; release all of .spec.hosts",
		},
		"a manifest that does not merge": {
			annotated("", `{"spec":{"replicas":3,"template":{"spec":{"containers":[{"name":"a"}]}}}}`,
				`{"spec":{"replicas":3,"template":{"spec":{"containers":[{"image":"x"}]}}}}`),
			".spec.replicas", "cannot be released, because a manifest without it cannot be applied",
		},
		"a field that no longer exists": {
			annotated("", `{"spec":{"replicas":3}}`, `{"spec":{"paused":true}}`, entry("me/Update", `"f:spec":{"f:paused":{}}`)), ".spec.paused",
			".spec.paused no longer exists, so there is nothing to keep; remove it from the manifest",
		},
		"the annotation itself": {
			annotated("", `{"spec":{"replicas":3}}`, `{"spec":{"replicas":3}}`),
			`.metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]`, "identifies the object",
		},
		"Helm 3 together with kubectl apply": {
			annotated("", `{"spec":{"replicas":3}}`, `{"spec":{"replicas":3}}`, entry("helm/Update", `"f:spec":{"f:paused":{}}`)), ".spec.replicas",
			"Helm records its manifest in the Secret of the release",
		},
		"server-side appliers in two versions": {
			object{kind: "shop.example.com/v1 Gadget", body: `{"spec":{"replicas":3}}`, entries: []string{
				versioned("a", "v1"), versioned("b", "v2"),
			}}, ".spec.replicas", "uses shop.example.com/v1 and shop.example.com/v2, but the object was read in shop.example.com/v1",
		},
		"a tool that records its manifest elsewhere": {
			object{body: `{"spec":{"replicas":3}}`, entries: []string{entry("HashiCorp/Update", `"f:spec":{"f:replicas":{}}`)}}, ".spec.replicas",
			"HashiCorp records its manifest elsewhere",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, refusals := planOf(t, c.object.subject(t), c.field)
			if len(refusals) != 1 || !strings.Contains(refusals[0].Error(), c.says) || strings.Contains(refusals[0].Error(), "\n") {
				t.Errorf("want one line that says %q, got %v", c.says, refusals)
			}
		})
	}
}

// versioned returns the managedFields entry of a server-side applier that uses an API version.
func versioned(manager, version string) string {
	return strings.Replace(entry(manager+"/Apply", `"f:spec":{"f:replicas":{}}`), "VERSION", "shop.example.com/"+version, 1)
}

func TestAllRefusalsAreReturned(t *testing.T) {
	o := object{body: `{"spec":{"replicas":3}}`, annotated: `{"spec":{"replicas":3}}`, entries: []string{entry(client, annotation)}}
	if _, refusals := planOf(t, o.subject(t), ".spec.nosuch", ".spec.replicas", ".status", "kind"); len(refusals) != 3 {
		t.Errorf("got %v", refusals)
	}
}
