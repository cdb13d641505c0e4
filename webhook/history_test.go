package webhook_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/test/document"
	"github.com/ownership-handoff/handoff/test/ledger"
)

// how is a way to write an object.
type how int

const (
	clientSide how = iota // kubectl apply: a three-way merge, with the manifest in the annotation
	replacing             // the whole manifest with the annotation, as Argo CD with Replace=true
	serverSide            // a forced server-side apply
	helm3                 // a three-way merge with the chart's manifest, which is not recorded
	updating              // a write of single fields
	scaling               // a write of the scale subresource
)

// role is what a client is, by docs/decisions.md and the default configuration.
type role int

const (
	applier role = iota
	person
	controller
	autoscaler // listed, and without objects that reference what it scales
)

// client is a client of the API server.
type client struct {
	manager string
	how     how
	role    role
}

func (c client) isClientSide() bool { return c.how == clientSide || c.how == replacing }

func appliers() []client {
	return []client{
		{csa, clientSide, applier}, {csa, clientSide, applier}, {"argocd-controller", clientSide, applier}, {"ci", clientSide, applier},
		{"OpenAPI-Generator", clientSide, applier}, {"argocd-application-controller", replacing, applier},
		{"kubectl", serverSide, applier}, {"kustomize-controller", serverSide, applier}, {"my-gitops", serverSide, applier},
		{"helm", helm3, applier}, {"terraform-provider-helm_v3.0.2_x5", helm3, applier},
	}
}

func others() []client {
	return []client{
		{"kubectl-edit", updating, person}, {"kubectl-patch", updating, person}, {"my-operator", updating, controller},
		{"Mozilla", updating, controller}, // a client that no list names
	}
}

func scaleClients() []client {
	return []client{
		{"kube-controller-manager", scaling, controller}, {"kubectl", scaling, person}, {"keda", scaling, controller},
		{"my-operator", scaling, controller}, {"cluster-proportional-autoscaler", updating, autoscaler},
	}
}

// settings are values of fields by their index; nil is null in a manifest.
type settings map[int]any

// fakeScaler is a scaler of the cluster; the zero value stands for none.
type fakeScaler struct {
	name string
	// self reports whether it scales to zero by itself.
	self bool
}

// history is what happened to an object up to the write that is reviewed.
type history struct {
	kind objectKind
	// book is the model's object before the write, scaler what references it, and ruled the fields of rules.
	book    ledger.Object
	scaler  fakeScaler
	ruled   map[int]bool
	release settings // the last manifest of Helm
	steps   []string
	live    string
	clock   time.Time
	random  *rand.Rand
	all     bool // whether the history is about all fields

	// Who created the object, who last changed the annotation of kubectl apply, and who first set that of Helm.
	creator, annotator, releaser client

	// The write.
	writer   client
	manifest settings
	incoming string
}

func (k objectKind) manifestOf(s settings) string {
	object := unmarshalOrPanic(k.skeleton)
	for _, i := range slices.Sorted(maps.Keys(s)) {
		document.Set(object, k.settable[i].path, s[i])
	}
	return encode(object)
}

func newHistory(k objectKind, random *rand.Rand) *history {
	return &history{
		kind: k, random: random, clock: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), ruled: map[int]bool{}, book: k.book(),
		live: fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":"web","namespace":"shop"}}`,
			k.gvk.GroupVersion(), k.gvk.Kind),
	}
}

// generateHistory generates a history: a manifest is applied, others write, and a manifest is applied again. It is about the scale
// field, or about all fields.
func generateHistory(t *testing.T, k objectKind, random *rand.Rand, all bool) *history {
	t.Helper()
	h := newHistory(k, random)
	h.all = all
	if k.scale != nil {
		h.scaler = pick(random, []fakeScaler{
			{}, {}, {}, {"HorizontalPodAutoscaler/web", false}, {"HorizontalPodAutoscaler/web", false}, {"ScaledObject/web", true},
		})
		h.ruled[0] = random.IntN(6) == 0
	}
	for i := range k.settable {
		h.ruled[i] = h.ruled[i] || all && (i > 0 || k.scale == nil) && random.IntN(4) == 0
	}
	h.book.Scaler = ledger.Scaler{Name: h.scaler.name, ScalesToZero: h.scaler.self}
	for i, field := range k.settable {
		if h.ruled[i] {
			h.book.Rules = append(h.book.Rules, ledger.Rule{Fields: regexp.MustCompile("^" + regexp.QuoteMeta(field.path.String()) + "$")})
		}
	}
	by := pick(random, appliers())
	h.creator = by
	if random.IntN(6) == 0 {
		h.creator = client{"kubectl-create", updating, person}
		manifest := h.newManifest()
		h.live = k.update(t, h.live, k.manifestOf(manifest), h.creator.manager, h.tick())
		created := k.write(client{h.creator.manager, replacing, person}, manifest)
		created.Save = false
		h.remember(t, created)
		h.note("created: %s", h.live)
	}
	h.apply(t, by, h.newManifest())
	for range random.IntN(5) {
		switch n := random.IntN(8); {
		case n < 6:
			h.writeAny(t)
		default:
			if random.IntN(3) == 0 {
				by = pick(random, appliers())
			}
			h.apply(t, by, h.newManifest())
		}
	}
	if random.IntN(6) == 0 {
		by = pick(random, appliers())
	}
	h.finish(t, by, h.lastManifest(by))
	return h
}

// writeAny is a write of a person, a controller or an autoscaler.
func (h *history) writeAny(t *testing.T) {
	t.Helper()
	isScale := h.kind.scale != nil && h.random.IntN(7) > 0 && (!h.all || h.random.IntN(4) == 0)
	switch {
	case isScale && h.random.IntN(3) > 0:
		h.write(t, pick(h.random, scaleClients()), 0, h.replicas())
	case isScale:
		h.write(t, pick(h.random, others()), 0, h.replicas())
	default:
		i := h.random.IntN(len(h.kind.settable))
		if h.kind.settable[i].values != nil {
			h.write(t, pick(h.random, others()), i, h.any(h.kind.settable[i].values))
		}
	}
}

func (h *history) replicas() any {
	if h.random.IntN(6) == 0 {
		return int64(0)
	}
	return int64(1 + h.random.IntN(9))
}

// newManifest sets the scale field or not and, in a history of all fields, some others.
func (h *history) newManifest() settings {
	s := settings{}
	for i, field := range h.kind.settable {
		switch {
		case field.values == nil && h.random.IntN(3) > 0:
			s[i] = h.replicas()
		case field.values != nil && h.all && h.random.IntN(2) == 0:
			s[i] = h.any(field.values)
		}
	}
	return s
}

// lastManifest is the manifest of the write that is reviewed, in which kubectl's users also set null.
func (h *history) lastManifest(by client) settings {
	s := h.newManifest()
	for i, field := range h.kind.settable {
		isNull := by.isClientSide() && h.random.IntN(8) == 0 && len(field.path) < 5 // kubectl refuses null in an element of a list
		if isNull && (h.all || i == 0) {
			s[i] = nil
		}
	}
	if h.random.IntN(3) == 0 && !h.all {
		s[1] = h.any(h.kind.settable[1].values)
	}
	return s
}

func (h *history) note(format string, args ...any) {
	h.steps = append(h.steps, fmt.Sprintf(format, args...))
}

func (h *history) tick() metav1.Time {
	h.clock = h.clock.Add(time.Minute)
	return metav1.NewTime(h.clock)
}

// applied is the object after an apply, as the API server sends it to a webhook.
func (h *history) applied(tb testing.TB, by client, manifest settings) string {
	tb.Helper()
	text, at := h.kind.manifestOf(manifest), h.tick()
	h.note("%s (%d) applied %s", by.manager, by.how, text)
	switch by.how {
	case serverSide:
		return h.kind.applyServerSide(tb, h.live, text, by.manager, at)
	case helm3:
		base := ""
		if h.release != nil {
			base = withAnnotation(tb, h.kind.manifestOf(h.release), releaseName, "web")
		}
		return h.kind.update(tb, h.live, h.kind.merged(tb, base, withAnnotation(tb, text, releaseName, "web"), h.live), by.manager, at)
	case replacing:
		return h.kind.update(tb, h.live, withAnnotation(tb, annotated(tb, text), "example.com/replaced", "yes"), by.manager, at)
	default:
		base := lastAppliedIn(unmarshal(tb, h.live))
		return h.kind.update(tb, h.live, h.kind.merged(tb, base, annotated(tb, text), h.live), by.manager, at)
	}
}

const releaseName = "meta.helm.sh/release-name"

// apply applies a manifest.
func (h *history) apply(tb testing.TB, by client, manifest settings) {
	tb.Helper()
	before := lastAppliedIn(unmarshal(tb, h.live))
	h.live = h.applied(tb, by, manifest)
	h.remember(tb, h.kind.write(by, manifest))
	if by.isClientSide() && lastAppliedIn(unmarshal(tb, h.live)) != before {
		h.annotator = by
	}
	if by.how == helm3 && h.releaser == (client{}) {
		h.releaser = by
	}
	if by.how == helm3 {
		h.release = manifest
	}
}

// write sets a field.
func (h *history) write(tb testing.TB, by client, i int, value any) {
	tb.Helper()
	h.note("%s (%d) set %v to %v", by.manager, by.how, h.kind.settable[i].path, value)
	if by.how == scaling {
		replicas, _ := value.(int64)
		h.live = h.kind.scaleTo(tb, h.live, by.manager, replicas, h.tick())
		h.remember(tb, h.kind.write(by, settings{i: value}))
		return
	}
	object := objectOf(tb, h.live).Object
	document.Set(object, h.kind.settable[i].path, value)
	h.live = h.kind.update(tb, h.live, encode(object), by.manager, h.tick())
	h.remember(tb, h.kind.write(by, settings{i: value}))
}

// remember enters a write in the book, and checks that the API server's libraries agree with it.
func (h *history) remember(tb testing.TB, w ledger.Write) {
	tb.Helper()
	next, err := h.book.Without(w)
	if err != nil {
		tb.Fatal(err)
	}
	stored, err := h.kind.reader.Read(objectOf(tb, h.live))
	if err != nil {
		tb.Fatal(err)
	}
	if h.kind.merging == nil { // the paths of its maps of maps are ambiguous
		h.book = next.Learn(stored)
		return
	}
	if lines := next.Diff(stored); len(lines) > 0 {
		tb.Fatalf("the ledger is wrong: %q\n%s\n%s", lines, h, h.live)
	}
	h.book = next
}

// finish is the write that is reviewed.
func (h *history) finish(tb testing.TB, by client, manifest settings) {
	tb.Helper()
	h.writer, h.manifest = by, manifest
	h.incoming = h.applied(tb, by, manifest)
}

func (h *history) any(from []any) any { return from[h.random.IntN(len(from))] }

func pick[T any](random *rand.Rand, from []T) T { return from[random.IntN(len(from))] }

func unmarshalOrPanic(text string) map[string]any {
	u := unstructuredOf(nil)
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		panic(err)
	}
	return u.Object
}

func (h *history) String() string {
	return fmt.Sprintf("%s\nscaler %+v, rules %v", strings.Join(h.steps, "\n"), h.scaler, h.ruled)
}

// body is the review of a write of the object web in the namespace shop.
func (h *history) body(live, incoming, manager string, dryRun bool) string {
	g := h.kind.gvk
	body := updateOf(g.Group, g.Version, g.Kind, manager, live, incoming)
	if dryRun {
		body = strings.Replace(body, `"dryRun":false`, `"dryRun":true`, 1)
	}
	return body
}

// updateOf is an update of the object web in the namespace shop.
func updateOf(group, version, kind, manager, live, incoming string) string {
	gvk := `{"group":` + strconv.Quote(group) + `,"version":` + strconv.Quote(version) + `,"kind":` + strconv.Quote(kind) + `}`
	return `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"review-uid","kind":` + gvk +
		`,"name":"web","namespace":"shop","operation":"UPDATE","userInfo":{"username":"me"},"object":` + incoming +
		`,"oldObject":` + live + `,"dryRun":false,"options":{"kind":"UpdateOptions","apiVersion":"meta.k8s.io/v1","fieldManager":` +
		strconv.Quote(manager) + `}}}`
}

// seeded returns numbers that are the same in every run.
func seeded(seed uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // no secret is made of them
}

// historyCluster is the cluster of a history.
type historyCluster struct {
	fakeCluster

	of *history
}

func (c *historyCluster) ScalePath(group, version, kind string) fieldpath.Path {
	switch {
	case c.of.kind.scale == nil || group != c.of.kind.gvk.Group || kind != c.of.kind.gvk.Kind:
		return nil
	case kind == "Widget" && version != "v1":
		return otherScale()
	default:
		return c.of.kind.scale
	}
}

// otherScale is the path of the scale field in another version of the custom resource.
func otherScale() fieldpath.Path { return pathOf("spec", "size") }

func (c *historyCluster) Scaler(string, string, string, string) ownership.Scaler {
	s := c.of.scaler
	return ownership.Scaler{
		Name: s.name, Desired: 7, OffAtZero: s.name != "" && !s.self, Readable: []string{"keda", "keda-operator"},
	}
}

// configured are the rules of a history, as the configuration has them.
func (h *history) configured(t *testing.T) []ownership.Rule {
	t.Helper()
	rule := ownership.Rule{Kinds: []schema.GroupKind{{Kind: h.kind.gvk.Kind}}}
	for i, field := range h.kind.settable {
		pattern := ownership.Pattern{}
		for _, element := range field.path {
			pattern = append(pattern, fieldpath.PathElementMatcher{PathElement: element})
		}
		if h.ruled[i] {
			rule.Fields = append(rule.Fields, pattern)
		}
	}
	return []ownership.Rule{rule}
}
