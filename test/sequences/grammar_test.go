package sequences_test

import (
	_ "embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"

	"github.com/ownership-handoff/handoff/test/document"
	"github.com/ownership-handoff/handoff/test/ledger"
)

//go:embed testdata/grammar.yaml
var grammarFile []byte

// part is a part of testdata/grammar.yaml, which explains it.
type part struct {
	Rules   []string         `json:"rules"`
	Themes  []string         `json:"themes"`
	Choices []map[string]any `json:"choices"`
}

// kind is the grammar for the manifests of a kind.
type kind struct {
	part

	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Scaled     bool           `json:"scaled"` // the kind has /scale
	Pod        string         `json:"pod"`
	Versions   []string       `json:"versions"` // of a custom resource
	Base       map[string]any `json:"base"`

	choices []choice
	ruled   []*regexp.Regexp // matches the paths of ruled fields
}

// choice is a place in a manifest with its options. A required choice is never empty. If another choice that it needs is empty or has
// none of the values, the choice is empty too.
type choice struct {
	at, needs       string
	options, values []any
	required        bool
}

// null is the option null.
type null struct{}

// MarshalJSON implements json.Marshaler.
func (null) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// manifest is the chosen option of each non-empty choice.
type manifest map[string]any

// The namespaces of a kind: see the comment of the package.
const (
	opted = "opted"
	twin  = "twin"
)

func (k *kind) namespace(role string) string { return role + "-of-" + strings.ToLower(k.Kind) }

func (k *kind) gvk() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(k.APIVersion, k.Kind)
}

// ledger returns the ledger of an object of the kind in a namespace that has opted in.
func (k *kind) ledger() ledger.Object {
	of := ledger.Kind{Name: k.Kind}
	if k.Scaled {
		of.Scale = scaleField
		if k.Pod != "" {
			of.Defaults = ledger.Values{scaleField: int64(1)}
		}
	}
	o := ledger.New(of)
	o.Mode = "enforce"
	if len(k.Rules) > 0 {
		o.Rules = []ledger.Rule{{Fields: ledger.Pattern(slices.Clone(k.Rules)...), Writers: []string{tuner}}}
	}
	return o
}

// scenario is a sequence of the grammar: an apply, a change by each of some field managers, and other applies, each of them twice.
type scenario struct {
	Kind    string         `json:"kind"`
	Verb    string         `json:"verb"`
	Adopts  bool           `json:"adopts"` // Helm takes over what kubectl has applied
	By      []string       `json:"by"`
	Kubectl bool           `json:"kubectl"`
	In      string         `json:"in"`
	Applied string         `json:"applied"`
	First   manifest       `json:"first"`
	Sets    map[string]any `json:"sets"`
	Then    []manifest     `json:"then"`
	// Refused reports whether the API server or a policy refuses what handoff keeps.
	Refused bool `json:"refused"`
}

// scripts returns the steps of a scenario, for each field manager.
func (c scenario) scripts(all []*kind) (scripts []script) {
	kind := all[slices.IndexFunc(all, func(k *kind) bool { return c.Kind == "" || k.Kind == c.Kind })]
	applied := func(m manifest) step {
		if c.Verb == helmUpgrade {
			return step{verb: helmUpgrade, by: helm, manifest: kind.completed(m), version: c.Applied}
		}
		return step{verb: apply, by: clientSide, manifest: kind.completed(m), version: c.Applied}
	}
	for _, by := range c.By {
		first, changed := applied(c.First), step{verb: edit, by: by, version: c.In}
		first.verb, first.saved = create, c.Verb == "" || c.Adopts
		if c.Adopts {
			first.by = clientSide
		}
		for at, value := range c.Sets {
			changed.sets = append(changed.sets, setting{at: fullPlace.Replace(at), value: expanded(value)})
		}
		if by == platform {
			changed = step{verb: serverApply, by: platform, manifest: expandedAll(c.Sets), force: true}
		}
		s := script{kind: kind, kubectl: c.Kubectl, steps: []step{first, changed}}
		for _, m := range c.Then {
			s.steps = append(s.steps, applied(m), applied(m))
		}
		scripts = append(scripts, s)
	}
	return scripts
}

var fullPlace = strings.NewReplacer("$a", "spec/template/spec/containers/name=a", "$pod", "spec/template/spec")

// completed returns a manifest with all required choices.
func (k *kind) completed(m manifest) manifest {
	all := expandedAll(m)
	for _, s := range k.choices {
		if _, has := all[s.at]; s.required && !has {
			all[s.at] = s.options[0]
		}
	}
	return all
}

func expandedAll(m manifest) manifest {
	all := manifest{}
	for at, value := range m {
		if value == nil {
			value = null{}
		}
		all[fullPlace.Replace(at)] = expanded(value)
	}
	return all
}

// readGrammar returns all kinds, scenarios and alternatives. It panics on an error, which is a mistake in the grammar.
func readGrammar() ([]*kind, []scenario, map[string][]any) {
	var all struct {
		All          part             `json:"all"`
		Pods         part             `json:"pods"`
		Kinds        []*kind          `json:"kinds"`
		Scenarios    []scenario       `json:"scenarios"`
		Alternatives map[string][]any `json:"alternatives"`
	}
	decode(grammarFile, &all)
	for _, k := range all.Kinds {
		for _, entry := range slices.Concat(all.All.Choices, k.Choices) {
			k.choices = append(k.choices, newChoices("", entry)...)
		}
		if k.Pod != "" {
			for _, entry := range all.Pods.Choices {
				k.choices = append(k.choices, newChoices(k.Pod, entry)...)
			}
			for _, theme := range all.Pods.Themes {
				k.Themes = append(k.Themes, k.Pod+strings.ReplaceAll(theme, " ", " "+k.Pod))
			}
			for _, rule := range all.Pods.Rules {
				k.Rules = append(k.Rules, "."+strings.ReplaceAll(strings.TrimSuffix(k.Pod, "/"), "/", ".")+rule)
			}
		}
		for _, rule := range k.Rules {
			k.ruled = append(k.ruled, ledger.Pattern(rule))
		}
	}
	for i := range all.Scenarios {
		if all.Scenarios[i].By == nil {
			all.Scenarios[i].By = []string{"kubectl-patch"}
		}
	}
	for name, values := range all.Alternatives {
		for i := range values {
			all.Alternatives[name][i] = expanded(values[i])
		}
	}
	return all.Kinds, all.Scenarios, all.Alternatives
}

// newChoices returns the choices of a line of the grammar.
func newChoices(prefix string, line map[string]any) (all []choice) {
	for _, name := range slices.Sorted(maps.Keys(line)) {
		at, needs, _ := strings.Cut(name, " if ")
		at, required := strings.CutPrefix(at, "+")
		s := choice{at: prefix + at, required: required}
		for _, option := range line[name].([]any) { //nolint:forcetypeassert // a mistake in the grammar
			s.options = append(s.options, expanded(option))
		}
		if needs != "" {
			needed, values, _ := strings.Cut(needs, " in ")
			s.needs = prefix + needed
			for _, v := range strings.FieldsFunc(values, func(c rune) bool { return c == '|' }) {
				s.values = append(s.values, v)
			}
		}
		all = append(all, s)
	}
	return all
}

// expanded returns the text that x*100 stands for.
func expanded(option any) any {
	if name, times, ok := strings.Cut(fmt.Sprint(option), "*"); ok {
		if n, err := strconv.Atoi(times); err == nil {
			return strings.Repeat(name, n)
		}
	}
	return option
}

func (k *kind) isRuled(p string) bool {
	return slices.ContainsFunc(k.ruled, func(r *regexp.Regexp) bool { return r.MatchString(p) })
}

// decode decodes YAML. It panics on an error, which is a mistake in this package.
func decode(text []byte, into any) {
	asJSON, err := yaml.YAMLToJSON(text)
	if err == nil {
		err = utiljson.Unmarshal(asJSON, into)
	}
	if err != nil {
		panic(fmt.Sprintf("%.200s: %v", text, err))
	}
}

// object returns the object that the manifest of a step declares. The platform's manifests only have choices.
func (k *kind) object(w step, name, namespace string) map[string]any {
	o := map[string]any{}
	if w.by != platform {
		maps.Copy(o, runtime.DeepCopyJSON(k.Base))
	}
	for _, at := range slices.Sorted(maps.Keys(w.manifest)) { // scenarios have places that are no choices
		i := slices.IndexFunc(k.choices, func(s choice) bool { return s.at == at })
		if i >= 0 && w.by != platform && !k.allowed(k.choices[i], w.manifest) {
			continue
		}
		value := w.manifest[at]
		if _, isNull := value.(null); isNull {
			value = nil
		}
		document.Set(o, place(at), runtime.DeepCopyJSONValue(value))
	}
	o["apiVersion"], o["kind"] = k.apiVersion(w.version), k.Kind
	document.Set(o, fieldpath.MakePathOrDie("metadata", "name"), name)
	document.Set(o, fieldpath.MakePathOrDie("metadata", "namespace"), namespace)
	if w.by == helm {
		document.Set(o, fieldpath.MakePathOrDie("metadata", "labels", "app.kubernetes.io/managed-by"), "Helm")
		document.Set(o, fieldpath.MakePathOrDie("metadata", "annotations", "meta.helm.sh/release-name"), name)
		document.Set(o, fieldpath.MakePathOrDie("metadata", "annotations", "meta.helm.sh/release-namespace"), namespace)
	}
	return o
}

// apiVersion returns the apiVersion of a client that uses a version; an empty one is the default.
func (k *kind) apiVersion(version string) string {
	if version == "" {
		return k.APIVersion
	}
	return k.gvk().Group + "/" + version
}

// allowed reports whether a manifest has the choice that a choice requires.
func (k *kind) allowed(s choice, m manifest) bool {
	if s.needs == "" {
		return true
	}
	value, has := m[s.needs]
	if !has || len(s.values) > 0 && !slices.ContainsFunc(s.values, func(v any) bool { return v == value }) {
		return false
	}
	i := slices.IndexFunc(k.choices, func(other choice) bool { return other.at == s.needs })
	return k.allowed(k.choices[i], m)
}

// place returns the path of a place: names and key=value of list elements behind slashes, in which ~ stands for a slash.
func place(at string) fieldpath.Path {
	var path fieldpath.Path
	for name := range strings.SplitSeq(at, "/") {
		name = strings.ReplaceAll(name, "~", "/")
		if key, of, isElement := strings.Cut(name, "="); isElement {
			path = append(path, fieldpath.PathElement{Key: fieldpath.KeyByFields(key, scalar(of))})
			continue
		}
		path = append(path, fieldpath.FieldNameElement(name))
	}
	return path
}

func scalar(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	return text
}
