package ledger

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// decide returns what becomes of the fields of an existing object in an apply, given the object without handoff.
func (o Object) decide(w Write, next Object) Outcomes {
	decided := Outcomes{}
	for path, value := range o.values {
		var outcome Outcome
		unit, isKey, in := unitOf(o.Kind.Name, path), elementOf(path) != "", path
		switch rule := o.ruleOf(path); {
		case isKey && unit == "", path == o.Kind.Scale && value == nil, w.Verb == Edit && reflect.DeepEqual(value, next.values[path]):
			continue // a key identifies the element, null is no count, and nothing shows that the manifest of an edit drops a field
		case path == o.Kind.Scale:
			outcome = o.decideScale(w, next)
		case rule != nil && !isKey && o.isWriters(rule, path):
			outcome = o.ruled(w, next, path, *rule)
		default:
			outcome, in = o.unit(w, path), unit // with all elements in it
		}
		if outcome == Kept && !next.hasElement(in) {
			outcome = Through // the list element goes with all in it
		}
		if outcome != Through {
			decided[path] = outcome
		}
	}
	return decided
}

// decideScale is the scale field: rows 1 to 4, 6 and 8.
func (o Object) decideScale(w Write, next Object) Outcome {
	path := o.Kind.Scale
	live, sets := o.values[path], o.sets(w, next, path)
	base, rule := o.baseOf(w)[path], o.ruleOf(path)
	// A write of 0 through /scale leaves no entry.
	isUnrecorded := len(o.managers[path]) == 0 && !reflect.DeepEqual(live, base) && live != int64(1)
	switch {
	case w.Verb == ServerApply && !sets && !slices.Contains(o.managers[path], w.entry()):
		return Through // neither manifest has it
	case w.Verb == Helm && reflect.DeepEqual(next.values[path], live):
		return Through // nothing shows whether its manifest drops the field
	case o.Scaler.Name != "":
		if outcome := o.scalers(w, base == int64(0) || sets && w.Sets[path] == int64(0)); outcome != Through {
			return outcome
		}
	case o.managedBy(path, Autoscaler):
		return Kept
	case rule != nil && (o.isWriters(rule, path) || isUnrecorded && (len(rule.Writers) == 0 || !rule.EditApply)):
		return o.ruled(w, next, path, *rule)
	}
	value, has := w.Sets[path]
	if isNull := has && value == nil; sets || !isNull && reflect.DeepEqual(next.values[path], live) {
		return Through // row 6, or nothing happens
	}
	return Kept // rows 3 and 4: dropping replicas never means 1
}

// scalers is the scale field of an object that a scaler references. declaresZero reports whether the manifest declares 0, now or before.
func (o Object) scalers(w Write, declaresZero bool) Outcome {
	path := o.Kind.Scale
	switch isZero := o.values[path] == int64(0); {
	case !isZero || o.Scaler.ScalesToZero:
		return Kept
	case w.Verb == Helm || o.managedBy(path, Autoscaler):
		return Unknown // Helm does not record whether its manifest declares the 0, and nothing is said about two autoscalers
	case declaresZero || o.managedBy(path, Applier):
		return Through // the manifest's next number starts the workload
	default:
		return Kept // a person has switched it off
	}
}

// ruled is a field that a rule assigns to its writer.
func (o Object) ruled(w Write, next Object, path string, rule Rule) Outcome {
	last, isKnown := o.applied[w.By][path]
	switch value, sets := w.Sets[path], has(w.Sets, path); { // the field, or something in it if it is an empty map
	case w.Verb == ServerApply && !sets && !slices.Contains(o.managers[path], w.entry()):
		return Through // neither manifest has it
	case !rule.EditApply, !sets, value == nil, !isKnown && o.applied != nil && !has(o.baseOf(w), path):
		return Kept
	case o.applied == nil || w.Verb == Helm && reflect.DeepEqual(next.values[path], o.values[path]):
		return Unknown // replaced, with the record
	case !reflect.DeepEqual(last, value) && !reflect.DeepEqual(o.baseOf(w)[path], value):
		return Through // an edit
	default:
		return Kept
	}
}

// remember records what an applier sets in fields of rules with edit: apply.
func (o *Object) remember(was Object, w Write) {
	applied := map[string]Values{}
	for by, values := range was.applied {
		applied[by] = values
	}
	mine := Values{}
	for path, value := range applied[w.By] {
		mine[path] = value
	}
	for path, value := range w.Sets {
		if rule := o.ruleOf(path); rule != nil && rule.EditApply && value != nil {
			mine[path] = value
		}
	}
	applied[w.By] = mine
	o.applied = applied
}

// unit is row 3: a client-side apply drops a unit that live has with another value than the base, and that someone else has written.
func (o Object) unit(w Write, path string) Outcome {
	unit, base := unitOf(o.Kind.Name, path), o.baseOf(w)
	if unit == "" || !w.saves() || !o.setsUnit(base, unit) || o.mentions(w.Sets, unit) {
		return Through
	}
	differs, written := false, false
	for p, value := range o.values {
		if unitOf(o.Kind.Name, p) == unit {
			differs = differs || !reflect.DeepEqual(base[p], value)
			written = written || slices.ContainsFunc(o.managers[p], func(e Entry) bool {
				return e.Subresource == "" && (e.Apply || o.roles[e] != Applier && !o.managesMost(e)) && !o.assigns(p, e)
			})
		}
	}
	for p := range base {
		_, has := o.values[p]
		differs = differs || unitOf(o.Kind.Name, p) == unit && !has && base[p] != nil
	}
	if differs && written {
		return Kept
	}
	return Through
}

// assigns reports whether a rule assigns a field to an entry's manager, whose change is then not one of a unit.
func (o Object) assigns(path string, e Entry) bool {
	rule := o.ruleOf(path)
	return rule != nil && (slices.Contains(rule.Writers, e.Manager) || len(rule.Writers) == 0 && o.roles[e] == Other)
}

// setsUnit reports whether a manifest sets a value in a unit: an empty map sets nothing.
func (o Object) setsUnit(manifest Values, unit string) bool {
	for p, value := range manifest {
		m, isMap := value.(map[string]any)
		if value != nil && (!isMap || len(m) > 0) && slices.Contains(names(unit), unitOf(o.Kind.Name, p)) {
			return true
		}
	}
	return false
}

// mentions reports whether a manifest sets a unit, or clears it or a map that it is in.
func (o Object) mentions(manifest Values, unit string) bool {
	for _, parent := range parents(unit) {
		if value, has := manifest[parent]; has && value == nil {
			return true
		}
	}
	return o.setsUnit(manifest, unit)
}

// sets reports whether the write's manifest gives a field a value. What Helm 3 changes counts as set by it.
func (o Object) sets(w Write, next Object, path string) bool {
	if w.Verb == Helm {
		value, has := next.values[path]
		return has && !reflect.DeepEqual(value, o.values[path])
	}
	value, has := w.Sets[path]
	return has && (value != nil || w.Verb == ServerApply)
}

// baseOf returns the base of a write with its values. That of a server-side apply is a set of fields.
func (o Object) baseOf(w Write) Values {
	if !w.saves() || o.unread {
		return nil
	}
	return o.base
}

func (o Object) ruleOf(path string) *Rule {
	i := slices.IndexFunc(o.Rules, func(r Rule) bool { return r.Fields.MatchString(path) })
	if i < 0 {
		return nil
	}
	return &o.Rules[i]
}

// isWriters reports whether a writer of a rule manages a field.
func (o Object) isWriters(rule *Rule, path string) bool {
	return slices.ContainsFunc(o.managers[path], func(e Entry) bool {
		if len(rule.Writers) > 0 {
			return slices.Contains(rule.Writers, e.Manager)
		}
		return o.roles[e] != Applier && o.roles[e] != Person
	})
}

func (o Object) managedBy(path string, role Role) bool {
	return slices.ContainsFunc(o.managers[path], func(e Entry) bool { return o.roles[e] == role })
}

// hasElement reports whether the list elements of a path are there.
func (o Object) hasElement(path string) bool {
	if at := mapsOfNames.FindStringIndex(path); at != nil {
		path = path[:at[0]] // brackets can be in a name
	}
	i := strings.LastIndexByte(path, ']')
	return i < 0 || has(o.values, path[:i+1])
}

var units = regexp.MustCompile(`^(\.metadata\.(labels|annotations)\..*|\.spec\.(paused|suspend)|` +
	`\.spec\.(jobTemplate\.spec\.)?template\.(metadata\.(labels|annotations)\..*|spec\.(serviceAccount|serviceAccountName|` +
	`(containers|initContainers)\[[^\]]*\]\.resources)))(\.|\[|$)`)

// unitOf returns the unit of docs/decisions.md that a field of a kind belongs to, empty if it is in none.
func unitOf(kind, path string) string {
	if kind == "ConfigMap" || kind == "Secret" {
		if strings.HasPrefix(path, ".data.") {
			return path
		}
	}
	m := units.FindStringSubmatch(path)
	if m == nil || strings.Contains(path, "ownership-handoff.io/") || kind == "DaemonSet" && strings.Contains(path, ".deprecated.daemonset.") {
		return ""
	}
	return m[1]
}

// names returns the paths of a unit, which are two for the service account of a pod.
func names(unit string) []string {
	const account = ".template.spec.serviceAccount"
	if short := strings.TrimSuffix(unit, "Name"); strings.HasSuffix(short, account) {
		return []string{short, short + "Name"}
	}
	return []string{unit}
}
