package strip_test

import (
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/plugin/source"
	"github.com/ownership-handoff/handoff/plugin/strip"
	"github.com/ownership-handoff/handoff/test/objects"
)

const (
	hpa = `apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {maxReplicas: 20, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
`
	byHPA   = `{manager: kube-controller-manager, operation: Update, apiVersion: apps/v1, subresource: scale, fieldsV1: {"f:spec":{"f:replicas":{}}}}`
	byApply = `{manager: kubectl, operation: Apply, apiVersion: apps/v1, fieldsV1: {"f:spec":{"f:replicas":{},"f:paused":{}}}}`
	cpu     = `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:resources":{"f:requests":{"f:cpu":{}}}}}}}}}`
	resizer = `{manager: resizer, operation: Update, apiVersion: apps/v1, fieldsV1: ` + cpu + `}`
	rule    = `ownership-handoff.io/controller-fields: ".spec.template.spec.containers[*].*.*.*, .spec.template.spec.containers[*].name"`
	applied = "kubectl.kubernetes.io/last-applied-configuration: "
)

// stripped strips a manifest of Deployment web with a spec, and returns the spec afterwards and the lines.
func stripped(t *testing.T, annotations, entries, live, spec string) (after string, lines []string) {
	t.Helper()
	const head = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"
	text := "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  annotations:\n    x: \"y\"\n    " + annotations +
		"\n  managedFields: [" + entries + "]\nspec: " + live + "\n---\n" + hpa
	file := objects.Write(t, text, t.TempDir(), "live.yaml")
	configuration := config.Default()
	configuration.Rules = []config.Rule{
		{Name: "edited", Fields: []string{".spec.minReadySeconds"}, Writers: []string{"tuner"}, Edit: "apply"},
		{Name: "kept", Fields: []string{".spec.revisionHistoryLimit"}, Writers: []string{"tuner"}},
	}
	reader, err := source.Reader{
		Cluster: genericclioptions.NewConfigFlags(false), Configuration: configuration, Files: resource.FilenameOptions{Filenames: []string{file}},
	}.Open()
	expect.NoError(t, err)
	stripper := strip.Stripper{Read: reader.Get}
	got, err := stripper.File(t.Context(), source.Text{Name: "f", Content: []byte(head + spec)})
	expect.NoError(t, err)
	for _, line := range stripper.Lines() {
		line = strings.TrimPrefix(line, "f: deployment.apps/web: ")
		line, _, _ = strings.Cut(line, "; to drop it in the future:")
		lines = append(lines, line)
	}
	return strings.TrimPrefix(string(got), head), lines
}

func TestFileDropsOrSetsTheFieldsThatOthersOwn(t *testing.T) {
	const (
		dropped = "dropped .spec.replicas, owned by HorizontalPodAutoscaler/web"
		set     = "set .spec.replicas to the live value 7, owned by HorizontalPodAutoscaler/web; without the field, an apply could delete it: "
		path    = `.spec.template.spec.containers[name="a"].resources.requests.cpu`
		// helmRecord is why a field is set.
		helmRecord = "Helm records its manifest in the Secret of the release, which kubectl handoff cannot edit; " +
			"give the chart a condition that renders the live value, or enable handoff in the namespace"
		pod = `{replicas: 7, template: {spec: {containers: [{name: a, resources: {requests: {cpu: "2"}}}]}}}`
	)
	for name, c := range map[string]struct {
		annotations, entries, live, spec string
		want                             string
		lines                            []string
	}{
		"a field of an autoscaler": {
			entries: byHPA, live: "{replicas: 7}", spec: "spec:\n  replicas: 3\n  paused: true\n",
			want: "spec:\n  paused: true\n", lines: []string{dropped},
		},
		"a field that an applier manages as well": {
			entries: byHPA + "," + byApply, live: "{replicas: 7}", spec: "spec: {replicas: 7, paused: true}\n",
			want: "spec: {paused: true}\n", lines: []string{dropped},
		},
		"a field that nobody manages, as after scaling to 0": {
			entries: "{manager: x, operation: Update, apiVersion: apps/v1, fieldsV1: {}}", live: "{replicas: 0}", spec: "spec: {replicas: 3, paused: true}\n",
			want: "spec: {paused: true}\n", lines: []string{dropped},
		},
		"null": {entries: byHPA, live: "{replicas: 7}", spec: "spec: {replicas: null, paused: true}\n", want: "spec: {paused: true}\n", lines: []string{dropped}},
		"a field that only an applier manages": {
			entries: byApply, live: "{replicas: 7}", spec: "spec: {replicas: 3, paused: true}\n",
			want: "spec: {replicas: 7, paused: true}\n", lines: []string{set + "no other manager manages it"},
		},
		"a field that only an applier manages, with its value": {
			entries: byApply, live: "{replicas: 7}", spec: "spec: {replicas: 0x7, paused: true}\n", want: "spec: {replicas: 0x7, paused: true}\n",
		},
		"an applier of another API version": {
			entries: strings.Replace(byApply, "apps/v1", "apps/v1beta1", 1), live: "{replicas: 7}", spec: "spec: {replicas: 3, paused: true}\n",
			want: "spec: {replicas: 7, paused: true}\n", lines: []string{set + "no other manager manages it"},
		},
		"a field of the last-applied annotation": {
			annotations: applied + `'{"spec":{"replicas":3}}'`, entries: byHPA, live: "{replicas: 7}", spec: "spec: {replicas: 3, paused: true}\n",
			want: "spec: {replicas: 7, paused: true}\n", lines: []string{set + "the last-applied annotation contains it"},
		},
		"null in the last-applied annotation": {
			annotations: applied + `'{"spec":{"replicas":null}}'`, entries: byHPA, live: "{replicas: 7}", spec: "spec: {replicas: 3, paused: true}\n",
			want: "spec: {replicas: 7, paused: true}\n", lines: []string{set + "the last-applied annotation contains it"},
		},
		"a last-applied annotation without the field": {
			annotations: applied + `'{"spec":{"paused":true}}'`, entries: byHPA, live: "{replicas: 7}", spec: "spec: {replicas: 3, paused: true}\n",
			want: "spec: {paused: true}\n", lines: []string{dropped},
		},
		"a parent of the last-applied annotation that would be empty": {
			annotations: applied + `'{"spec":{"paused":true}}'`, entries: byHPA, live: "{replicas: 7}", spec: "spec: {replicas: 3}\n",
			want: "spec: {replicas: 7}\n", lines: []string{set + "the last-applied annotation contains its parent .spec"},
		},
		"a part of a strategy, which kubectl apply replaces": {
			annotations: "ownership-handoff.io/controller-fields: .spec.strategy.rollingUpdate.maxSurge\n    " + applied + `'{"spec":{"strategy":{"type":"RollingUpdate"}}}'`,
			entries:     `{manager: tuner, operation: Update, apiVersion: apps/v1, fieldsV1: {"f:spec":{"f:strategy":{"f:rollingUpdate":{"f:maxSurge":{}}}}}}`,
			live:        "{strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 50%}}}",
			spec:        "spec: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%}}}\n",
			want:        `spec: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: "50%"}}}` + "\n",
			lines: []string{`set .spec.strategy.rollingUpdate.maxSurge to the live value "50%", owned by tuner; without the field, an apply could delete it: ` +
				"kubectl apply replaces what contains it"},
		},
		"Helm 3": {
			entries: `{manager: helm, operation: Update, apiVersion: apps/v1, fieldsV1: {"f:spec":{"f:paused":{}}}},` + byHPA, live: "{replicas: 7}",
			spec: "spec: {replicas: 3, paused: true}\n",
			want: "spec: {replicas: 7, paused: true}\n", lines: []string{set + helmRecord},
		},
		"Helm 3 together with kubectl apply": {
			annotations: applied + `'{"spec":{"paused":true}}'`, live: "{replicas: 7}", spec: "spec: {replicas: 3, paused: true}\n",
			entries: `{manager: helm, operation: Update, apiVersion: apps/v1, fieldsV1: {"f:spec":{"f:paused":{}}}},` + byHPA,
			want:    "spec: {replicas: 7, paused: true}\n", lines: []string{set + helmRecord},
		},
		"kapp together with kubectl apply": {
			annotations: applied + `'{"spec":{"paused":true}}'` + "\n    kapp.k14s.io/original: '{}'", entries: byHPA, live: "{replicas: 7}",
			spec: "spec: {replicas: 3, paused: true}\n", want: "spec: {replicas: 7, paused: true}\n",
			lines: []string{set + "kapp records its manifest in its annotation kapp.k14s.io/original, which kubectl handoff cannot edit; " +
				"add a rebaseRule for the field to kapp's configuration"},
		},
		"another program with Helm's library": {
			annotations: "meta.helm.sh/release-name: web", entries: byHPA, live: "{replicas: 7}", spec: "spec: {replicas: 3, paused: true}\n",
			want: "spec: {replicas: 7, paused: true}\n", lines: []string{set + helmRecord},
		},
		"Helm 4": {
			annotations: "meta.helm.sh/release-name: web",
			entries:     `{manager: helm, operation: Apply, apiVersion: apps/v1, fieldsV1: {"f:metadata":{"f:annotations":{"f:meta.helm.sh/release-name":{}}}}},` + byHPA,
			live:        "{replicas: 7}", spec: "spec: {replicas: 3, paused: true}\n",
			want: "spec: {paused: true}\n", lines: []string{dropped},
		},
		"a field of a controller, and the key of its element": {
			annotations: rule, entries: byHPA + "," + resizer, live: pod,
			spec: "spec:\n  template:\n    spec:\n      containers:\n      - name: a\n        resources:\n          requests: {cpu: 1}\n",
			want: "spec:\n  template:\n    spec:\n      containers:\n      - name: a\n", lines: []string{"dropped " + path + ", owned by resizer"},
		},
		"another field beside it": {
			annotations: rule, entries: byHPA + "," + resizer, live: pod,
			spec: "spec:\n  template:\n    spec:\n      containers:\n      - name: a\n        resources: {requests: {cpu: 1, memory: 1Gi}}\n",
			want: "spec:\n  template:\n    spec:\n      containers:\n      - name: a\n        resources: {requests: {memory: 1Gi}}\n", lines: []string{"dropped " + path + ", owned by resizer"},
		},
		"a field of a rule that lets a new value in the manifest win, and one of another rule": {
			entries: `{manager: tuner, operation: Update, apiVersion: apps/v1, fieldsV1: {"f:spec":{"f:minReadySeconds":{},"f:revisionHistoryLimit":{}}}}`,
			live:    "{minReadySeconds: 5, revisionHistoryLimit: 3}", spec: "spec: {minReadySeconds: 1, revisionHistoryLimit: 2}\n",
			want: "spec: {minReadySeconds: 1}\n", lines: []string{"dropped .spec.revisionHistoryLimit, owned by tuner"},
		},
		"a field of a user": {
			entries: `{manager: kubectl-patch, operation: Update, apiVersion: apps/v1, fieldsV1: {"f:spec":{"f:paused":{}}}},` + byHPA,
			live:    "{replicas: 7, paused: true}", spec: "spec: {paused: false}\n", want: "spec: {paused: false}\n",
		},
		"a status": {
			entries: `{manager: kube-controller-manager, operation: Update, apiVersion: apps/v1, subresource: status, fieldsV1: {"f:status":{"f:replicas":{}}}},` + byHPA,
			live:    "{replicas: 7}\nstatus: {replicas: 7}", spec: "spec: {paused: true}\nstatus: {replicas: 1}\n", want: "spec: {paused: true}\nstatus: {replicas: 1}\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, lines := stripped(t, c.annotations, c.entries, c.live, c.spec)
			expect.Equal(t, "manifest", c.want, got)
			expect.Equal(t, "lines", c.lines, lines)
		})
	}
}
