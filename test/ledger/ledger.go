// Package ledger predicts what a write leaves in an object, with and without handoff, from a history of who has set what. It is
// docs/decisions.md in a few lines, for tests, and shares no code with the product.
//
// An Object is a value: its methods return new ones, so that it can be used concurrently. It keeps the books of one object:
//
//	o := ledger.New(ledger.Kind{Name: "Deployment", Scale: ".spec.replicas", Defaults: ledger.Values{".spec.replicas": int64(1)}})
//	o.Mode = "enforce"
//	o, decided, err := o.After(ledger.Write{Verb: ledger.Apply, By: "kubectl-client-side-apply", Sets: ledger.Values{".spec.replicas": int64(3)}})
//	o.Scaler = ledger.Scaler{Name: "HorizontalPodAutoscaler/web"}
//	o, decided, err = o.After(ledger.Write{Verb: ledger.Scale, By: "kube-controller-manager", Sets: ledger.Values{".spec.replicas": int64(7)}})
//
// Fields are leaves, named by their paths as the API server prints them (fieldpath.Path.String). LeavesOf returns those of an object or a
// manifest; identity and last-applied are not among them. Lists without keys and atomic maps are leaves.
//
// Mode, Scaler and Rules are the surroundings of the object, which the caller changes at any time. After is a pure function: if the API server
// refuses a write, keep the old Object. The error is ErrConflict if the API server refuses a server-side apply.
//
// Value, Managers and LastApplied say what is stored. Read returns the same of a real object, and Diff compares both. A field of which
// docs/decisions.md does not say what happens is decided as Unknown: Diff ignores it until Learn has taken it from a stored object. Learn
// also takes over what no write of the ledger has made, such as defaults.
//
// The ledger does not model validation, conversion, and what the API server derives from other fields. Its callers use kinds and values that
// need none of it, or compare with a twin without handoff (Without).
package ledger

import (
	"errors"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// modeLabel is the label of an object that overrides the mode of its namespace.
const modeLabel = "ownership-handoff.io/mode"

// Values are the values of fields by path. In a manifest or an edit, nil is null.
type Values map[string]any

// Kind is what the ledger knows of a kind of object.
type Kind struct {
	// Name is the kind, as "ConfigMap": it decides which fields are units.
	Name string
	// Scale is the path of the scale field, empty for a kind without /scale.
	Scale string
	// Defaults are set by the API server where a write leaves nothing.
	Defaults Values
}

// Entry identifies an entry of managedFields.
type Entry struct {
	Manager     string
	Apply       bool // by server-side apply
	Subresource string
}

// Scaler references the object. The zero Scaler stands for none.
type Scaler struct {
	Name string
	// ScalesToZero reports whether 0 replicas are its own, and do not switch it off.
	ScalesToZero bool
	// Desired is the number of replicas that it wants for an object that does not exist yet.
	Desired int64
}

// Rule assigns fields to the writers that have written them.
type Rule struct {
	// Fields matches the paths: see Pattern.
	Fields *regexp.Regexp
	// Writers are field managers, empty for all that are neither Applier nor Person.
	Writers []string
	// EditApply reports whether the rule has edit: apply.
	EditApply bool
}

// Pattern returns a matcher of the fields at or below the paths, in which [*] and .* stand for any element or name.
func Pattern(paths ...string) *regexp.Regexp {
	for i, path := range paths {
		quoted := strings.ReplaceAll(regexp.QuoteMeta(path), `\[\*\]`, `\[[^\]]*\]`)
		paths[i] = strings.ReplaceAll(quoted, `\.\*`, `\.[^.\[]*`)
	}
	return regexp.MustCompile(`^(` + strings.Join(paths, "|") + `)(\.|\[|$)`)
}

// Role is what docs/decisions.md calls a client.
type Role int

// The roles. ByVerb is Applier for a write that applies a manifest, Person for the other commands of kubectl, and Other else.
const (
	ByVerb Role = iota
	Applier
	Person
	Other
	// Autoscaler is listed under autoscalers, and no object of it references others.
	Autoscaler
)

// Verb is a way to write an object.
type Verb string

// The verbs.
const (
	Create      Verb = "create"
	Apply       Verb = "apply"               // client-side
	ServerApply Verb = "apply --server-side" // also of a part of the object
	Helm        Verb = "helm upgrade"        // three-way, and records no manifest in the object
	Replace     Verb = "replace"             // the whole object
	Edit        Verb = "edit"                // sets and removes single fields: patch, set, label, rollout, an update
	Scale       Verb = "scale"               // through /scale
	Delete      Verb = "delete"
)

// Write is a write of a client.
type Write struct {
	Verb Verb
	// By is the field manager, As its role.
	By string
	As Role
	// Sets is the whole manifest, or what an Edit or Scale changes, with nil for a field that it removes.
	Sets Values
	// Save reports whether a Create or Replace records the manifest in last-applied. Force is --force-conflicts.
	Save, Force bool
}

// saves reports whether the write records its manifest in last-applied.
func (w Write) saves() bool {
	return w.Verb == Apply || w.Save && (w.Verb == Create || w.Verb == Replace)
}

func (w Write) role() Role {
	switch {
	case w.As != ByVerb:
		return w.As
	case w.saves(), w.Verb == ServerApply, w.Verb == Helm:
		return Applier
	case strings.HasPrefix(w.By, "kubectl"):
		return Person
	default:
		return Other
	}
}

func (w Write) entry() Entry {
	e := Entry{Manager: w.By, Apply: w.Verb == ServerApply}
	if w.Verb == Scale {
		e.Subresource = "scale"
	}
	return e
}

// Outcome is what handoff decides on a field.
type Outcome int

// The outcomes.
const (
	Through Outcome = iota // the field is as without handoff
	Kept                   // the field is as before the write, and not in last-applied
	Unknown                // docs/decisions.md does not say
)

// Outcomes are the outcomes of fields by path, without those that are Through.
type Outcomes map[string]Outcome

// Object is the ledger of an object. The zero value is of no use: see New.
type Object struct {
	Kind Kind
	// Mode is the mode of the namespace, which the object's label overrides. Only "enforce" has an effect.
	Mode   string
	Scaler Scaler
	Rules  []Rule

	exists   bool
	values   Values
	managers map[string][]Entry // never modified in place
	base     Values             // last-applied, nil if there is none
	unread   bool               // last-applied cannot be read
	released Values             // the last manifest of Helm
	roles    map[Entry]Role
	applied  map[string]Values // what each applier has set last in fields of rules with edit: apply, as handoff records it
	known    map[string]bool   // fields that a write has set: true, or false for one that is Unknown
}

// New returns the ledger of an object that does not exist yet.
func New(k Kind) Object {
	return Object{Kind: k, roles: map[Entry]Role{}, known: map[string]bool{}}
}

// Value returns the stored value of a field; ok is false if the object does not have it.
func (o Object) Value(path string) (value any, ok bool) {
	value, ok = o.values[path]
	return value, ok
}

// Managers returns the entries of managedFields that contain a field.
func (o Object) Managers(path string) []Entry { return o.managers[path] }

// LastApplied returns the fields of the last-applied annotation, nil if there is none.
func (o Object) LastApplied() Values { return o.base }

// ErrConflict is the error of a server-side apply without force that sets a field of another manager to another value.
var ErrConflict = errors.New("conflict")

// After returns the object after a write, and what handoff has decided on its fields.
func (o Object) After(w Write) (Object, Outcomes, error) {
	next, err := o.Without(w)
	if err != nil || next.mode() != "enforce" || o.roleOf(w) != Applier && (w.Verb != Edit || !next.managesMost(w.entry())) {
		return next, nil, err
	}
	decided := Outcomes{}
	if o.exists {
		decided = o.decide(w, next)
	}
	start := Values{}
	if desired := o.Scaler.Desired; !o.exists && o.Scaler.Name != "" && next.replicas() != 0 && desired > next.replicas() { // row 12
		start[o.Kind.Scale], decided[o.Kind.Scale] = desired, Kept
	}
	next.remember(o, w)
	for path, outcome := range decided {
		switch value, isStart := start[path]; {
		case outcome == Unknown:
			next.known[path] = false
			continue
		case isStart:
			next.values[path] = value
		default:
			maps.DeleteFunc(next.values, func(p string, _ any) bool { return p != path && slices.Contains(parents(p), path) }) // of an empty map
			next.values[path] = o.values[path]
			next.managers[path] = slices.DeleteFunc(slices.Clone(o.managers[path]), func(e Entry) bool {
				_, sets := w.Sets[path]
				return e == w.entry() && e.Apply && !sets // it records what its manifest sets
			})
		}
		if _, has := next.base[path]; has {
			next.base = maps.Clone(next.base)
			delete(next.base, path)
		}
	}
	return next, decided, nil
}

// roleOf returns the role of a write to the object. A server-side apply of nothing but the scale field and fields of rules without writers
// is how an operator scales, unless its manager is kubectl or has applied anything else.
func (o Object) roleOf(w Write) Role {
	if w.Verb != ServerApply || w.As != ByVerb || w.By == "kubectl" || !o.exists {
		return w.role()
	}
	applied := slices.Collect(maps.Keys(w.Sets)) // now and before
	for path, entries := range o.managers {
		if slices.Contains(entries, w.entry()) {
			applied = append(applied, path)
		}
	}
	if len(applied) == 0 || slices.ContainsFunc(applied, func(path string) bool { return !o.isControlled(path) }) {
		return Applier
	}
	return Other
}

// managesMost reports whether an entry of neither an applier, a person nor a writer of a rule counts as that of an applier: its manager manages
// most of the values outside of lists that last-applied declares, and something that is neither the scale field nor a field of a rule.
func (o Object) managesMost(e Entry) bool {
	if slices.ContainsFunc(o.Rules, func(r Rule) bool { return slices.Contains(r.Writers, e.Manager) }) {
		return false
	}
	values, managed, others := 0, 0, 0
	for path, entries := range o.managers {
		if slices.Contains(entries, e) && path != o.Kind.Scale && o.ruleOf(path) == nil {
			others++
		}
	}
	for path, value := range o.base {
		if kind := reflect.ValueOf(value).Kind(); kind == reflect.Map || kind == reflect.Slice || value == nil || strings.Contains(path, "[") {
			continue
		}
		values++
		if slices.Contains(o.managers[path], e) && reflect.DeepEqual(o.values[path], value) {
			managed++
		}
	}
	return o.roles[e] == Other && others > 0 && 2*managed > values
}

func (o Object) isControlled(path string) bool {
	rule := o.ruleOf(path)
	return path == o.Kind.Scale || rule != nil && len(rule.Writers) == 0
}

// mode returns the mode of a write that makes this object.
func (o Object) mode() string {
	if label, ok := o.values[".metadata.labels."+modeLabel].(string); ok {
		return label
	}
	return o.Mode
}

func (o Object) replicas() int64 {
	n, _ := o.values[o.Kind.Scale].(int64)
	return n
}

// Without returns the object after a write that handoff does not see.
func (o Object) Without(w Write) (Object, error) {
	next := o
	next.exists, next.values, next.managers = true, maps.Clone(o.values), maps.Clone(o.managers)
	next.roles, next.known = maps.Clone(o.roles), maps.Clone(o.known)
	if !o.exists {
		next.values, next.managers = Values{}, map[string][]Entry{}
	}
	next.roles[w.entry()] = o.roleOf(w)
	for path := range w.Sets {
		next.known[path] = true
	}
	switch w.Verb {
	case Delete:
		gone := New(o.Kind)
		gone.Mode, gone.Scaler, gone.Rules, gone.known = o.Mode, o.Scaler, o.Rules, o.known
		return gone, nil
	case Scale:
		return next.scaled(o, w), nil
	case ServerApply:
		return next.appliedBy(o, w)
	case Create, Replace:
		next.values, next.base, next.applied = Values{}, nil, nil
		if w.By == "helm" {
			next.released = w.Sets
		}
	case Apply:
		next.drop(o.base, w.Sets)
	case Helm:
		next.drop(o.released, w.Sets)
		next.released = w.Sets
	case Edit:
	}
	for path, value := range w.Sets {
		if value == nil {
			maps.DeleteFunc(next.values, func(p string, _ any) bool { return slices.Contains(parents(p), path) })
			continue
		}
		next.values[path] = value
	}
	if w.saves() {
		next.base, next.unread = w.Sets, false
	}
	return next.updated(o, w), nil
}

// drop removes what a three-way merge removes: the fields and maps and list elements of the base that the manifest does not have, with
// everything in them.
func (o *Object) drop(base, manifest Values) {
	dropped := map[string]bool{} // whether the merge removes a path, by path
	for path := range o.values {
		for _, parent := range parents(path) {
			if _, isKnown := dropped[parent]; !isKnown {
				always := parent == ".metadata" || parent == ".metadata.annotations" // in what kubectl and Helm apply
				dropped[parent] = !always && has(base, parent) && !has(manifest, parent)
			}
			if dropped[parent] {
				delete(o.values, path)
				break
			}
		}
	}
}

// has reports whether values have a field at or below a path.
func has(v Values, path string) bool {
	if _, ok := v[path]; ok {
		return true
	}
	for p := range v {
		if slices.Contains(parents(p), path) {
			return true
		}
	}
	return false
}

// mapsOfNames matches the maps of which the names can contain dots.
var mapsOfNames = regexp.MustCompile(`\.(labels|annotations|matchLabels|nodeSelector|data|binaryData|stringData|options|requests|limits)\.`)

// parents returns a path and the paths above it.
func parents(path string) (all []string) {
	if at := mapsOfNames.FindStringIndex(path); at != nil {
		all = append(all, path) // its end is one name
		path = path[:at[1]-1]
	}
	for i := len(path); i > 0; i = strings.LastIndexAny(path[:i], ".[") {
		all = append(all, path[:i])
	}
	return all
}

// updated returns the object with its defaults, and with the writer as the only manager of what it has changed.
func (o Object) updated(was Object, w Write) Object {
	o.addDefaults()
	for path := range o.managers {
		if _, ok := o.values[path]; !ok {
			delete(o.managers, path)
		}
	}
	for path, value := range o.values {
		if before, had := was.values[path]; !had || !reflect.DeepEqual(before, value) {
			o.managers[path] = []Entry{w.entry()}
		}
	}
	return o
}

func (o *Object) addDefaults() {
	for path, value := range o.Kind.Defaults {
		if _, ok := o.values[path]; !ok {
			o.values[path] = value
		}
	}
}

// scaled returns the object after a write of /scale. A write of 0 leaves no entry, and neither do later ones.
func (o Object) scaled(was Object, w Write) Object {
	path := o.Kind.Scale
	before, after, isManaged := was.values[path], w.Sets[path], len(was.managers[path]) > 0
	o.values[path] = after
	switch {
	case after == int64(0) || !isManaged:
		delete(o.managers, path)
	case !reflect.DeepEqual(before, after):
		o.managers[path] = []Entry{w.entry()}
	}
	return o
}

// keyOfElement matches the key field of a list element.
var keyOfElement = regexp.MustCompile(`^(.*\[(\w+)=[^\]]*\])\.(\w+)$`)

// elementOf returns the list element of which a path is the key, empty for any other path.
func elementOf(path string) string {
	for _, m := range keyOfElement.FindAllStringSubmatch(path, 1) {
		if m[2] == m[3] {
			return m[1]
		}
	}
	return ""
}

// appliedBy returns the object after a server-side apply.
func (o Object) appliedBy(was Object, w Write) (Object, error) {
	own := w.entry()
	isOwn := func(e Entry) bool { return e == own }
	sets := Values{}
	for path, value := range w.Sets {
		if value == nil {
			value = o.Kind.Defaults[path] // the API server cannot tell null from the default
		}
		sets[path] = value
		before, had := was.values[path]
		isOthers := slices.ContainsFunc(was.managers[path], func(e Entry) bool { return e != own })
		if had && isOthers && !w.Force && !reflect.DeepEqual(before, value) {
			return was, ErrConflict
		}
	}
	for path, entries := range was.managers {
		if _, ok := sets[path]; ok || !slices.ContainsFunc(entries, isOwn) {
			continue
		}
		if o.managers[path] = slices.DeleteFunc(slices.Clone(entries), isOwn); len(o.managers[path]) > 0 {
			continue
		}
		gone := path
		if element := elementOf(path); element != "" {
			gone = element // with what others manage in it
		}
		for p := range o.values {
			if slices.Contains(parents(p), gone) {
				delete(o.managers, p)
				delete(o.values, p)
			}
		}
	}
	maps.DeleteFunc(o.managers, func(p string, _ []Entry) bool { return o.values[p] == nil })
	for path, value := range sets {
		others := slices.DeleteFunc(slices.Clone(was.managers[path]), isOwn)
		if before, had := was.values[path]; !had || !reflect.DeepEqual(before, value) {
			others = nil
		}
		o.values[path], o.managers[path] = value, append(others, own)
	}
	o.addDefaults()
	if w.By == "kubectl" && was.base != nil {
		o.base = w.Sets // the API server updates the annotation for kubectl
	}
	return o, nil
}
