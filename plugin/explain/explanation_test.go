package explain_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/source"
)

const (
	clientSide = `{"manager":"kubectl-client-side-apply","operation":"Update","fieldsV1":{
		"f:metadata":{"f:annotations":{"f:kubectl.kubernetes.io/last-applied-configuration":{}}},"f:spec":{"f:paused":{}}}}`
	lastApplied = `"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"spec\":{\"paused\":true,\"replicas\":3,\"mood\":null}}"}`
)

// entry returns a managedFields entry with one field of spec.
func entry(manager, operation, subresource, field string) string {
	return `{"manager":"` + manager + `","operation":"` + operation + `","subresource":"` + subresource +
		`","time":"2026-01-02T03:04:05Z","fieldsV1":{"f:spec":{"f:` + field + `":{}}}}`
}

func subject(t *testing.T, annotations, spec string, entries ...string) source.Subject {
	t.Helper()
	metadata := strings.Trim(annotations+`,"managedFields":[`+strings.Join(entries, ",")+`]`, ",")
	object, err := ownership.ParseObject([]byte(`{"metadata":{` + metadata + `},"spec":` + spec + `}`))
	expect.NoError(t, err)
	return source.Subject{
		Identity: source.Identity{Name: "web", Kind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}}, Object: object,
		Context: ownership.ObjectContext{
			Managers: config.Default().Managers(), Scale: fieldpath.MakePathOrDie("spec", "replicas"),
		},
	}
}

func TestSentences(t *testing.T) {
	for sentence, test := range map[string]struct {
		subject source.Subject
		field   string
		want    string
	}{
		"an autoscaler that has not scaled yet": {
			autoscaled(subject(t, lastApplied, `{"replicas":3}`, clientSide, entry("kubectl-client-side-apply", "Update", "", "replicas"))),
			"spec.replicas", "`.spec.replicas` is 3: the manifest set it (`kubectl-client-side-apply`) at 2026-01-02T03:04:05Z, " +
				"but HorizontalPodAutoscaler `web` owns it; the last-applied manifest sets the same value; an apply without the field would delete it (handoff: keeps 3)",
		},
		"a user who scaled a field that an autoscaler owns": {
			autoscaled(subject(t, lastApplied, `{"replicas":9}`, clientSide, entry("kubectl", "Update", "scale", "replicas"))),
			"spec.replicas", "`.spec.replicas` is 9: a user set it with an imperative command (`kubectl`) through /scale at 2026-01-02T03:04:05Z, " +
				"but HorizontalPodAutoscaler `web` owns it; the last-applied manifest sets 3; an apply would set 3 (handoff: keeps 9)",
		},
		"an autoscaler that owns a field without a manager": {
			autoscaled(subject(t, lastApplied, `{"replicas":9}`, clientSide)),
			"spec.replicas", "`.spec.replicas` is 9: HorizontalPodAutoscaler `web` owns it, and who set it last is not recorded; " +
				"the last-applied manifest sets 3; an apply would set 3 (handoff: keeps 9)",
		},
		"an autoscaler that the configuration lists": {
			subject(t, lastApplied, `{"replicas":9}`, clientSide, entry("keda", "Update", "", "replicas")),
			"spec.replicas", "`.spec.replicas` is 9: the autoscaler `keda` set it at 2026-01-02T03:04:05Z; the last-applied manifest sets 3; " +
				"an apply would set 3 (handoff: keeps 9)",
		},
		"a user, against the manifest": {
			subject(t, lastApplied, `{"replicas":9}`, clientSide, entry("kubectl", "Update", "scale", "replicas")),
			"spec.replicas", "`.spec.replicas` is 9: a user set it with an imperative command (`kubectl`) through /scale at 2026-01-02T03:04:05Z; " +
				"the last-applied manifest sets 3; an apply would set 3",
		},
		"a part of a strategy that the manifest sets, which kubectl replaces": {
			subject(t, strings.Replace(lastApplied, `\"mood\":null`, `\"strategy\":{\"type\":\"RollingUpdate\"}`, 1),
				`{"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":3}}}`, clientSide,
				strings.Replace(entry("kubectl-edit", "Update", "", "strategy"), `"f:strategy":{}`, `"f:strategy":{"f:rollingUpdate":{"f:maxSurge":{}}}`, 1)),
			"spec.strategy.rollingUpdate.maxSurge", "`.spec.strategy.rollingUpdate.maxSurge` is 3: a user set it with an imperative command (`kubectl-edit`) " +
				"at 2026-01-02T03:04:05Z; the last-applied manifest does not set it; an apply would change it nevertheless: kubectl replaces what contains it",
		},
		"a null in the manifest": {
			subject(t, lastApplied, `{"mood":"good"}`, clientSide, entry("someone", "Update", "", "mood")),
			"spec.mood", "`.spec.mood` is \"good\": `someone`, a manager that the configuration does not list, set it at 2026-01-02T03:04:05Z; " +
				"the last-applied manifest sets null; an apply would clear it",
		},
		"two server-side appliers": {
			subject(t, "", `{"mood":"good"}`, entry("a", "Apply", "", "mood"), entry("b", "Apply", "", "mood")),
			"spec.mood", "`.spec.mood` is \"good\": the manifest set it (`a`) at 2026-01-02T03:04:05Z; " +
				"an apply without the field would not delete it, because other managers also manage it",
		},
		"a user before a server-side apply that does not set the field": {
			subject(t, "", `{"paused":true,"mood":"good"}`, strings.Replace(entry("kubectl", "Apply", "", "paused"), "T03", "T04", 1),
				entry("kubectl-edit", "Update", "", "mood")),
			"spec.mood", "`.spec.mood` is \"good\": a user set it with an imperative command (`kubectl-edit`) at 2026-01-02T03:04:05Z; " +
				"the manifest of `kubectl` does not set it; an apply that sets another value would conflict, and with --force-conflicts would set it",
		},
		"a controller that applies the status server-side, and no manifest": {
			subject(t, "", `{"mood":"good"}`, entry("operator", "Apply", "status", "level"), entry("kubectl-edit", "Update", "", "mood")),
			"spec.mood", "`.spec.mood` is \"good\": a user set it with an imperative command (`kubectl-edit`) at 2026-01-02T03:04:05Z; no manifest is recorded",
		},
		"an autoscaler that has scaled to 0, which no entry records": {
			scaled(autoscaled(subject(t, lastApplied, `{"replicas":0}`, clientSide)), "2026-01-02T03:04:05Z"),
			"spec.replicas", "`.spec.replicas` is 0: HorizontalPodAutoscaler `web` owns it, and last scaled the object at 2026-01-02T03:04:05Z; " +
				"the last-applied manifest sets 3; an apply would set 3 (handoff: keeps 0)",
		},
		"another scaler, of which no entry is recorded": {
			scaledBy(subject(t, lastApplied, `{"replicas":9}`, clientSide), "ScaledObject/web"),
			"spec.replicas", "`.spec.replicas` is 9: ScaledObject `web` owns it, and who set it last is not recorded; " +
				"the last-applied manifest sets 3; an apply would set 3 (handoff: keeps 9)",
		},
		"a managed field that no longer exists": {
			subject(t, "", `{"a":1}`, entry("kubectl-edit", "Update", "", "mood")),
			"spec.mood", "`.spec.mood` no longer exists, but is still in managedFields: a user set it with an imperative command (`kubectl-edit`) " +
				"at 2026-01-02T03:04:05Z; no manifest is recorded",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			explained, err := explain.Of(test.subject)
			expect.NoError(t, err)
			found, _, err := explained.Find(test.field)
			expect.NoError(t, err)
			var got strings.Builder
			expect.NoError(t, found.Sentences(&got, "", func(ownership.Owner) bool { return true }))
			expect.Equal(t, "sentence", test.want, strings.TrimSpace(got.String()))
		})
	}
}

func autoscaled(s source.Subject) source.Subject { return scaledBy(s, "HorizontalPodAutoscaler/web") }

func scaledBy(s source.Subject, scaler string) source.Subject {
	s.Context.Autoscaler = scaler
	return s
}

func scaled(s source.Subject, at string) source.Subject {
	s.Scaled = at
	return s
}

func TestTextParsesAsPattern(t *testing.T) {
	for _, path := range []fieldpath.Path{
		fieldpath.MakePathOrDie("metadata", "annotations", "a.b/c"),
		fieldpath.MakePathOrDie("spec", "containers", fieldpath.KeyByFields("name", "a.b"), "ports",
			fieldpath.KeyByFields("containerPort", 80, "protocol", "TCP"), "hostPort"),
		fieldpath.MakePathOrDie("data", "*"),
		fieldpath.MakePathOrDie("data", `"[x]`),
		fieldpath.MakePathOrDie("spec", "args", 0),
	} {
		pattern, err := ownership.ParsePattern(explain.Text(path))
		if err != nil || len(pattern) != len(path) || !pattern.Matches(path) || pattern[len(pattern)-1].Wildcard {
			t.Errorf("%s: Text returns %s, which parses as %v (%v)", path, explain.Text(path), pattern, err)
		}
	}
}

func TestFind(t *testing.T) {
	s := subject(t, `"annotations":{"a.b/c":"x"}`, `{"containers":[{"name":"app","image":"i"},{"name":"b","image":"j"}]}`,
		`{"manager":"kubectl","operation":"Apply","fieldsV1":{"f:spec":{"f:containers":{
			"k:{\"name\":\"app\"}":{".":{},"f:image":{},"f:name":{}},"k:{\"name\":\"b\"}":{".":{},"f:image":{},"f:name":{}}}}}}`)
	explained, err := explain.Of(s)
	expect.NoError(t, err)
	for text, want := range map[string]string{
		`.spec.containers[name="app"].image`:   `.spec.containers[name="app"].image`,
		`{.spec.containers[1].image}`:          `.spec.containers[name="b"].image`,
		`spec.containers[*].image`:             `.spec.containers[name="app"].image .spec.containers[name="b"].image`,
		`$.metadata.annotations["a.b/c"]`:      `.metadata.annotations["a.b/c"]`,
		`.metadata.annotations.a.b/c`:          `.metadata.annotations["a.b/c"]`,
		`{.metadata.annotations.a\.b/c}`:       `.metadata.annotations["a.b/c"]`,
		`.spec.containers[1]`:                  `.spec.containers[name="b"].name .spec.containers[name="b"].image`,
		`.spec.containers[name="app"].imagine`: ``,
		`.spec.container`:                      ``,
	} {
		found, _, err := explained.Find(text)
		got := make([]string, 0, len(found.Fields))
		for _, f := range found.Fields {
			got = append(got, explain.Text(f.Path))
		}
		if strings.Join(got, " ") != want || (err == nil) != (want != "") {
			t.Errorf("%s: want %s, got %s (%v)", text, want, got, err)
		}
	}
}

// TestDeepObjectsAreNotExplained has an object whose explanation would take quadratic time and memory.
func TestDeepObjectsAreNotExplained(t *testing.T) {
	deep := strings.Repeat(`{"f:v":{},"f:n":`, 2000) + "{}" + strings.Repeat("}", 2000)
	s := subject(t, "", `{}`, `{"manager":"x","operation":"Update","apiVersion":"apps/v1","fieldsV1":{"f:spec":`+deep+`}}`)
	_, err := explain.Of(s)
	expect.Error(t, "a deep object", "nested deeper than", err)
}
