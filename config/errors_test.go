package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/internal/expect"
)

// TestEveryErrorHasFileLineAndRemedy reads files whose first two lines are apiVersion and kind, except for a wholeFile.
func TestEveryErrorHasFileLineAndRemedy(t *testing.T) {
	const wholeFile = "whole file: "
	file := filepath.Join(t.TempDir(), "handoff.yaml")
	for sentence, c := range map[string]struct{ text, want string }{
		"a string instead of a list":                 {"appliers: helm\n", "line 3: appliers: is of type string; write a list"},
		"a number in a list of managers":             {"appliers:\n- helm\n- 1\n", "line 5: appliers[1]: is of type number; write a string"},
		"a string instead of additions":              {"appliers:\n  remove: [helm]\n  add: ci\n", "line 5: appliers.add: is of type string; write a list"},
		"a number in the additions":                  {"appliers:\n  add:\n  - ci\n  - 1.5\n", "line 6: appliers.add[1]: is of type number; write a string"},
		"an unknown change of a list":                {"appliers:\n  add: [ci]\n  append:\n  - cd\n", "line 5: appliers.append: unknown field; correct or delete it"},
		"a string instead of a scaler":               {"scalers:\n- {group: a.b, kind: C, path: .spec.ref}\n- keda\n", "line 5: scalers[1]: is of type string; write an object"},
		"a group of a scaler that is a list":         {"scalers:\n  add:\n  - kind: C\n    group: [a]\n", "line 6: scalers.add[0].group: is of type array; write a string"},
		"an unknown field of a scaler":               {"scalers:\n  add:\n  - kind: C\n    paths: .spec\n", "line 6: scalers.add[0].paths: unknown field; correct or delete it"},
		"a scaler without a path":                    {"scalers:\n- {group: a.b, kind: C, path: .spec.ref}\n- {group: a.b, kind: D}\n", "line 5: scalers[1].path: path is empty; write one, such as .spec.scaleTargetRef"},
		"a scaler with a list of names":              {"scalers:\n  add:\n  - group: a.b\n    kind: C\n    path: .spec.refs[0]\n", "line 7: scalers.add[0].path: .spec.refs[0] must lead to one object; use field names only, such as .spec.scaleTargetRef"},
		"a scaler without a group":                   {"scalers:\n- {kind: C, path: .spec.ref}\n", `line 4: scalers[0].group: "" is not the group of a custom resource; write it, such as keda.sh`},
		"a default scaler again":                     {"scalers:\n  add:\n  - {group: keda.sh, kind: ScaledObject, path: .spec.x}\n", "line 5: scalers.add[0]: \"ScaledObject.keda.sh\" is a default of scalers with another value; list it in scalers.remove, too"},
		"a removed scaler that is no default":        {"scalers:\n  remove:\n  - {group: a.b, kind: C}\n", "line 5: scalers.remove[0]: \"C.a.b\" is not a default of scalers; correct or delete it"},
		"a removed manager that is no default":       {"appliers:\n  remove:\n  - helm\n  - helmet\n", `line 6: appliers.remove[1]: "helmet" is not a default of appliers; correct or delete it`},
		"an object instead of rules":                 {"rules: {name: a}\n", "line 3: rules: is of type object; write a list"},
		"a string instead of a rule":                 {"rules:\n- {name: a, fields: [.a]}\n- b\n", "line 5: rules[1]: is of type string; write an object"},
		"a string instead of fields":                 {"rules:\n- {name: a, fields: [.a]}\n- name: b\n  fields: .spec.x\n", "line 6: rules[1].fields: is of type string; write a list"},
		"a number instead of a name":                 {"rules:\n- name: 5\n  fields: [.a]\n", "line 4: rules[0].name: is of type number; write a string"},
		"namespaces of kinds outside namespaces":     {"rules:\n- name: a\n  kinds:\n  - {group: rbac.authorization.k8s.io, kind: ClusterRole}\n  fields: [.rules]\n  namespaces: [shop]\n", "line 8: rules[0].namespaces: objects of these kinds are in no namespace; delete it"},
		"a kind that is never sent":                  {"rules:\n- name: a\n  fields: [.a]\n  kinds:\n  - {group: core, kind: Service}\n  - {group: core, kind: Namespace}\n", "line 8: rules[0].kinds[1]: the API server never sends objects of this kind to handoff; delete it"},
		"a group that is never sent":                 {"rules:\n- {name: a, kinds: [{group: discovery.k8s.io}], fields: [.a]}\n", "line 4: rules[0].kinds[0]: the API server never sends objects of this kind to handoff; delete it"},
		"an object instead of a field":               {"rules:\n- name: a\n  fields:\n  - .a\n  - b: c\n", "line 7: rules[0].fields[1]: is of type object; write a string"},
		"a string instead of a kind":                 {"rules:\n- name: a\n  kinds:\n  - Deployment\n", "line 6: rules[0].kinds[0]: is of type string; write an object"},
		"an unknown field of a kind":                 {"rules:\n- name: a\n  kinds:\n  - kind: Deployment\n    version: v1\n", "line 7: rules[0].kinds[0].version: unknown field; correct or delete it"},
		"an unknown field of a rule":                 {"rules:\n- name: a\n  field:\n  - .a\n", "line 5: rules[0].field: unknown field; correct or delete it"},
		"an unknown field of a selector":             {"rules:\n- name: a\n  fields: [.a]\n  selector:\n    matchLabel: {a: b}\n", "line 7: rules[0].selector.matchLabel: unknown field; correct or delete it"},
		"a number as the value of a label":           {"rules:\n- name: a\n  fields: [.a]\n  selector:\n    matchLabels:\n      a.b/c: d\n      e: 1\n", "line 9: rules[0].selector.matchLabels.e: is of type number; write a string"},
		"an operator that is none":                   {"rules:\n- name: a\n  fields: [.a]\n  selector:\n    matchExpressions: [{key: a, operator: Near}]\n", `line 6: rules[0].selector: "Near" is not a valid label selector operator; correct it`},
		"a rule without fields":                      {"rules:\n- name: a\n  edit: keep\n", "line 4: rules[0].fields: must not be empty; list at least one path"},
		"a second rule with the same name":           {"rules:\n- fields: [.a]\n  name: a\n- fields: [.b]\n  name: a\n", `line 7: rules[1].name: "a" is also the name of rules[0]; rename one of them`},
		"a rule from an alias":                       {"rules:\n- &a {name: a, fields: [.a]}\n- *a\n", `line 5: rules[1].name: "a" is also the name of rules[0]; rename one of them`},
		"an element of a keyed list by its index":    {"rules:\n- {name: a, kinds: [{group: apps, kind: Deployment}], fields: ['.spec.template.spec.containers[0].image']}\n", "line 4: rules[0].fields[0]: .spec.template.spec.containers[0].image never matches: containers is a list whose elements are identified by name; write [*] or [name=...]"},
		"a key that the list does not have":          {"rules:\n- {name: a, kinds: [{group: apps, kind: Deployment}], fields: ['.spec.template.spec.containers[image=*].resources']}\n", "line 4: rules[0].fields[0]: .spec.template.spec.containers[image=*].resources never matches: containers is a list whose elements are identified by name; write [*] or [name=...]"},
		"one of the names that a port does not have": {"rules:\n- {name: a, kinds: [{group: core, kind: Service}], fields: ['.spec.ports[name=\"http\"].nodePort']}\n", "line 4: rules[0].fields[0]: .spec.ports[name=\"http\"].nodePort never matches: ports is a list whose elements are identified by port and protocol; write [*] or [port=...,protocol=...]"},
		"one of two keys of a port":                  {"rules:\n- {name: a, kinds: [{group: core, kind: Service}], fields: ['.spec.ports[port=80].nodePort']}\n", "line 4: rules[0].fields[0]: .spec.ports[port=80].nodePort never matches: ports is a list whose elements are identified by port and protocol; write [*] or [port=...,protocol=...]"},
		"a field of a list":                          {"rules:\n- {name: a, kinds: [{group: apps, kind: Deployment}], fields: ['.spec.template.spec.containers.image']}\n", "line 4: rules[0].fields[0]: .spec.template.spec.containers.image never matches: containers is a list; name an element, such as [*]"},
		"an element of an object":                    {"rules:\n- {name: a, kinds: [{group: apps, kind: Deployment}], fields: ['.spec.template[0].spec']}\n", "line 4: rules[0].fields[0]: .spec.template[0].spec never matches: template is an object; name a field"},
		"an element of an object by its name":        {"rules:\n- {name: a, kinds: [{group: apps, kind: Deployment}], fields: ['.spec.template[name=*].spec']}\n", "line 4: rules[0].fields[0]: .spec.template[name=*].spec never matches: template is an object; name a field"},
		"a key of an element":                        {"rules:\n- {name: a, kinds: [{group: apps, kind: Deployment}], fields: ['.spec.template.spec.containers[*].name']}\n", "line 4: rules[0].fields[0]: .spec.template.spec.containers[*].name never matches: name identifies its list element; delete the path"},
		"a webhook configuration of any group":       {"rules:\n- {name: a, kinds: [{kind: MutatingWebhookConfiguration}], fields: [.webhooks]}\n", "line 4: rules[0].kinds[0].group: the API server calls no webhook for objects of admissionregistration.k8s.io; delete it, and remove the field from manifests with kubectl handoff strip"},
		"a field of a number":                        {"rules:\n- {name: a, kinds: [{group: apps, kind: Deployment}], fields: ['.spec.replicas.max']}\n", "line 4: rules[0].fields[0]: .spec.replicas.max never matches: replicas has no fields; if its name contains a dot, write it in brackets and quotes, such as .data[\"a.b\"]"},
		"a field of a key of data":                   {"rules:\n- {name: a, kinds: [{group: core, kind: Secret}, {group: core, kind: ConfigMap}], fields: ['.data.ca-bundle.crt']}\n", "line 4: rules[0].fields[0]: .data.ca-bundle.crt never matches: ca-bundle has no fields; if its name contains a dot, write it in brackets and quotes, such as .data[\"a.b\"]"},
		"a field of the selector":                    {"rules:\n- {name: a, kinds: [{group: core, kind: Service}], fields: ['.spec.selector.app.name']}\n", "line 4: rules[0].fields[0]: .spec.selector.app.name never matches: app has no fields; if its name contains a dot, write it in brackets and quotes, such as .data[\"a.b\"]"},
		"a key that is there twice":                  {"rules:\n- {name: a, kinds: [], fields: ['.spec.c[name=*,name=*]']}\n", "line 4: rules[0].fields[0]: path .spec.c[name=*,name=*]: at \"[name=*,name=*]\": the key name is there twice; delete one of them"},
		"an unknown field":                           {"rules: []\napplier:\n- helm\n", "line 4: applier: unknown field; correct or delete it"},
		"an unknown pack":                            {"packs:\n- keda\n- kedo\n", `line 5: packs[1]: "kedo" is not a pack; write one of ` + strings.Join(config.Packs(), ", ")},
		"a repeated field":                           {"rules: []\npacks: []\nrules: []\n", `line 5: key "rules" already set in map; delete one of them`},
		"an unclosed bracket":                        {"appliers:\n  add: [helm\n", "line 4: did not find expected ',' or ']'; correct the YAML"},
		"a list beside fields":                       {"appliers:\n  add: [a]\n  - b\n", "line 5: did not find expected key; correct the YAML"},
		"a colon in a value":                         {"rules:\n- name: a: b\n", "line 4: mapping values are not allowed in this context; correct the YAML"},
		"an unknown anchor":                          {"rules:\n- *a\npacks: []\n", "line 4: unknown anchor 'a' referenced; correct the YAML"},
		"a control character":                        {"packs: []\nrules: \"\x01\"\n", "line 4: control characters are not allowed; correct the YAML"},
		"bytes that are not UTF-8":                   {"rules:\n- name: \"\xff\"\n", "line 4: invalid leading UTF-8 octet; correct the YAML"},
		"not a number":                               {"packs: []\nappliers: [.nan]\n", "line 4: unsupported value: NaN; correct the YAML"},
		"a merge of what is not an object":           {"rules:\n- <<: a\n", "line 4: map merge requires map or sequence of maps as the value; correct the YAML"},
		"an unclosed quote after blank lines":        {"\n\nrules: []\npacks: 'a\n\n", "line 6: found unexpected end of stream; correct the YAML"},
		"a second document":                          {"packs: []\n---\npacks: []\n", "line 4: second YAML document; write a single document"},
		"a second document, which does not parse":    {"packs: []\n---\n[\n", "line 4: second YAML document; write a single document"},
		"an empty file":                              {wholeFile, `line 1: apiVersion: "" is not supported; write config.ownership-handoff.io/v1alpha1`},
		"no kind":                                    {wholeFile + "apiVersion: config.ownership-handoff.io/v1alpha1\n", `line 1: kind: "" is not supported; write HandoffConfiguration`},
		"an unknown apiVersion":                      {wholeFile + "apiVersion: config.ownership-handoff.io/v9\nkind: HandoffConfiguration\n", `line 1: apiVersion: "config.ownership-handoff.io/v9" is not supported; write config.ownership-handoff.io/v1alpha1`},
		"a field in the wrong case":                  {"Appliers: [helm]\n", "line 3: Appliers: unknown field; correct or delete it"},
		"a list instead of an object":                {wholeFile + "- a\n", "line 1: the document: is of type array; write an object"},
		"a second empty document":                    {"---\n", "line 3: second YAML document; write a single document"},
		"an empty manager":                           {"appliers: [helm, '']\n", `line 3: appliers[1]: "" is neither a field manager's name nor a pattern; correct or remove it`},
		"a rule that is null":                        {"rules:\n- name: a\n  fields: [.a]\n- null\n", `line 6: rules[1].name: "" is not a name; use lowercase letters, digits, - and ., such as right-sizer`},
		"a bad pattern":                              {"autoscalers: [a, 'b-[']\n", `line 3: autoscalers[1]: "b-[" is neither a field manager's name nor a pattern; correct or remove it`},
		"a manager with spaces":                      {"appliers: [\" helm \"]\n", `line 3: appliers[0]: " helm " has leading or trailing spaces; write "helm"`},
		"a manager that is too long":                 {"appliers: [" + strings.Repeat("a", 129) + "]\n", `line 3: appliers[0]: "` + strings.Repeat("a", 129) + `" is not a field manager's name; use at most 128 printable characters`},
		"a manager with a line break":                {"appliers: [\"a\\nb\"]\n", `line 3: appliers[0]: "a\nb" is not a field manager's name; use at most 128 printable characters`},
		"a manager in two lists":                     {"appliers: [me]\nautoscalers: [me]\n", `line 4: autoscalers[0]: "me" is also in appliers; remove it from one of them`},
		"a manager of the defaults in two lists":     {"imperative: [helm]\n", `line 3: imperative[0]: "helm" is also in appliers; remove it from one of them (from the defaults with appliers: {remove: [helm]})`},
		"an addition of what is removed":             {"appliers: {add: [helm], remove: [helm]}\n", `line 3: appliers.add[0]: "helm" is also in appliers.remove; delete one of them`},
		"an addition that is there twice":            {"appliers: {add: [ci, ci]}\n", `line 3: appliers.add[1]: "ci" is listed twice; delete one of them`},
		"a removal that is there twice":              {"appliers: {remove: [helm, helm]}\n", `line 3: appliers.remove[1]: "helm" is listed twice; delete one of them`},
		"an addition of a default of a list":         {"imperative: {add: [helm]}\n", `line 3: imperative.add[0]: "helm" is also in appliers; remove it from one of them (from the defaults with appliers: {remove: [helm]})`},
		"an addition of a later list's default":      {"appliers: {add: [keda]}\n", `line 3: appliers.add[0]: "keda" is also in autoscalers; remove it from one of them (from the defaults with autoscalers: {remove: [keda]})`},
		"a rule's writer that is an applier":         {"rules:\n- {name: a, fields: [.spec.x], writers: [helm]}\n", `line 4: rules[0].writers[0]: "helm" is also in appliers; remove it from one of them (from the defaults with appliers: {remove: [helm]})`},
		"a rule's writer that is imperative":         {"imperative: [me]\nrules:\n- {name: a, fields: [.spec.x], writers: [a, me]}\n", `line 5: rules[0].writers[1]: "me" is also in imperative; remove it from one of them`},
		"a rule's writer that is no pattern":         {"rules:\n- {name: a, fields: [.spec.x], writers: ['a[']}\n", `line 4: rules[0].writers[0]: "a[" is neither a field manager's name nor a pattern; correct or remove it`},
		"a group with its version":                   {"rules:\n- {name: a, kinds: [{group: apps/v1}], fields: [.spec.x]}\n", `line 4: rules[0].kinds[0].group: "apps/v1" includes the version v1; write apps`},
		"a version instead of a group":               {"rules:\n- {name: a, kinds: [{group: v1}], fields: [.spec.x]}\n", `line 4: rules[0].kinds[0].group: "v1" is a version; write core for the core group`},
		"an invalid group":                           {"rules:\n- {name: a, kinds: [{group: ' apps'}], fields: [.spec.x]}\n", `line 4: rules[0].kinds[0].group: " apps" is not an API group; write it as in apiVersion, without the version, such as apps`},
		"a plural resource name as kind":             {"rules:\n- {name: a, kinds: [{kind: deployments}], fields: [.spec.x]}\n", `line 4: rules[0].kinds[0].kind: "deployments" is not a kind; write it as in a manifest, such as Deployment`},
		"status":                                     {"rules:\n- {name: a, fields: [.spec.x, .status.*]}\n", "line 4: rules[0].fields[1]: .status.* is in status, which manifests do not set; delete the path"},
		"the name":                                   {"rules:\n- {name: a, fields: [.metadata.name]}\n", "line 4: rules[0].fields[0]: .metadata.name matches .metadata.name, which a manifest cannot leave to a controller; use a path that does not match it"},
		"everything":                                 {"rules:\n- {name: a, fields: ['.*']}\n", "line 4: rules[0].fields[0]: .* matches .apiVersion, which a manifest cannot leave to a controller; use a path that does not match it"},
		"all metadata":                               {"rules:\n- {name: a, fields: ['.metadata']}\n", "line 4: rules[0].fields[0]: .metadata matches .metadata.uid, which a manifest cannot leave to a controller; use a path that does not match it"},
		"the last-applied annotation":                {"rules:\n- {name: a, fields: ['.metadata.annotations[\"kubectl.kubernetes.io/last-applied-configuration\"]']}\n", `line 4: rules[0].fields[0]: .metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"] matches the last-applied configuration annotation, which records what was applied; list other annotations one by one, such as .metadata.annotations["example.com/team"]`},
		"all annotations":                            {"rules:\n- {name: a, fields: ['.metadata.annotations.*']}\n", `line 4: rules[0].fields[0]: .metadata.annotations.* matches the last-applied configuration annotation, which records what was applied; list other annotations one by one, such as .metadata.annotations["example.com/team"]`},
		"a list element of the object":               {"rules:\n- {name: a, fields: ['[0].x']}\n", "line 4: rules[0].fields[0]: [0].x begins with a list element, but an object is not a list; begin with a field, such as .spec"},
		"a key of a list element":                    {"rules:\n- {name: a, fields: ['.spec.ports[port=80].port']}\n", "line 4: rules[0].fields[0]: .spec.ports[port=80].port is a key of its list element, which identifies it; delete the path"},
		"a nested key of a list element":             {"rules:\n- {name: a, fields: ['.spec.route[to.host=*].to.host']}\n", "line 4: rules[0].fields[0]: .spec.route[to.host=*].to.host is a key of its list element, which identifies it; delete the path"},
		"a field of managedFields":                   {"rules:\n- {name: a, fields: ['.metadata.managedFields[*].time']}\n", "line 4: rules[0].fields[0]: .metadata.managedFields[*].time is set by the API server or by handoff itself, and never kept; delete the path"},
		"handoff's own annotation":                   {"rules:\n- {name: a, fields: [.metadata.annotations.ownership-handoff.io/applied-values]}\n", "line 4: rules[0].fields[0]: .metadata.annotations.ownership-handoff.io/applied-values is set by the API server or by handoff itself, and never kept; delete the path"},
		"handoff's own label":                        {"rules:\n- {name: a, fields: ['.metadata.labels[\"ownership-handoff.io/mode\"]']}\n", `line 4: rules[0].fields[0]: .metadata.labels["ownership-handoff.io/mode"] is set by the API server or by handoff itself, and never kept; delete the path`},
		"what is never stored":                       {"rules:\n- {name: a, fields: [.stringData.password]}\n", "line 4: rules[0].fields[0]: .stringData.password is in stringData, which is never stored; write the key of .data"},
		"a name that is not one":                     {"rules:\n- {name: Right Sizer, fields: [.spec.x]}\n", `line 4: rules[0].name: "Right Sizer" is not a name; use lowercase letters, digits, - and ., such as right-sizer`},
		"a namespace that is not one":                {"rules:\n- name: a\n  fields: [.spec.x]\n  namespaces: [shop, 'Shop[']\n", `line 6: rules[0].namespaces[1]: "Shop[" is neither a namespace nor a pattern, such as shop-*; correct it, or delete it to match all`},
		"an edit that is neither":                    {"rules:\n- {name: a, fields: [.spec.x], edit: never}\n", `line 4: rules[0].edit: "never" is neither keep nor apply; correct or delete it`},
		"any writer beside others":                   {"rules:\n- {name: a, fields: [.spec.x], writers: [b, '*']}\n", `line 4: rules[0].writers[1]: "*" matches every manager; delete the others`},
		"a writer that matches an applier":           {"rules:\n- {name: a, fields: [.spec.x], writers: ['hel*']}\n", `line 4: rules[0].writers[0]: "hel*" matches helm in appliers; write a pattern that does not, or the managers' names`},
		"a writer that an applier's pattern matches": {"rules:\n- {name: a, fields: [.spec.x], writers: [pulumi-web]}\n", `line 4: rules[0].writers[0]: "pulumi-web" matches pulumi-* in appliers; remove it from one of them (from the defaults with appliers: {remove: [pulumi-*]})`},
		"rules that contradict each other":           {"rules:\n- {name: a, fields: [.spec.x]}\n- {name: b, kinds: [{kind: Deployment}], fields: [.spec.y, .spec.x], edit: apply}\n", "line 5: rules[1].fields[1]: .spec.x is also in rule a with edit: keep, and here with edit: apply; delete it from one of them"},
		"rules that share a kind and a writer":       {"rules:\n- {name: a, kinds: [{kind: Pod}, {group: apps, kind: Deployment}], fields: [.spec.x], writers: [c, d]}\n- {name: b, kinds: [{group: apps, kind: '*'}], fields: [.spec.x], writers: [d], edit: apply}\n", "line 5: rules[1].fields[0]: .spec.x is also in rule a with edit: keep, and here with edit: apply; delete it from one of them"},
		"a pack that is listed twice":                {"packs:\n- restarts\n- restarts\n", `line 5: packs[1]: "restarts" is listed twice; delete one of them`},
		"a rule with the name of a pack's":           {"packs: [restarts]\nrules:\n- {name: restarts/restarted-at, fields: [.spec.x]}\n", `line 5: rules[0].name: "restarts/restarted-at" contains a slash, as only rules of packs do; write another name`},
		"a writer of a pack that is an applier":      {"appliers: [Reloader]\npacks: [restarts]\n", `line 4: packs[0]: restarts/reloader: writers[0]: "Reloader" is also in appliers; remove it from one of them`},
		"a scaler's path with a wildcard":            {"scalers: {add: [{group: a.b, kind: C, path: .spec.*}]}\n", "line 3: scalers.add[0].path: .spec.* must lead to one object; use field names only, such as .spec.scaleTargetRef"},
		"a scaler of the core group":                 {"scalers: {add: [{group: core, kind: C, path: .spec}]}\n", `line 3: scalers.add[0].group: "core" is not the group of a custom resource; write it, such as keda.sh`},
		"a scaler without a kind":                    {"scalers: {add: [{group: a.b, path: .spec}]}\n", `line 3: scalers.add[0].kind: "" is not a kind; write it as in a manifest, such as ScaledObject`},
		"a plural name as the kind of a scaler":      {"scalers: {add: [{group: a.b, kind: scaledobjects, path: .spec}]}\n", `line 3: scalers.add[0].kind: "scaledobjects" is not a kind; write it as in a manifest, such as Deployment`},
		"a HorizontalPodAutoscaler as a scaler":      {"scalers: {add: [{group: autoscaling, kind: HorizontalPodAutoscaler, path: .spec}]}\n", "line 3: scalers.add[0]: HorizontalPodAutoscalers are always scalers; delete the element"},
	} {
		t.Run(sentence, func(t *testing.T) {
			text, isWhole := strings.CutPrefix(c.text, wholeFile)
			if !isWhole {
				text = head + text
			}
			expect.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			got := "no error"
			if _, err := config.Read(file); err != nil {
				got = err.Error()
			}
			expect.Equal(t, "error", "configuration "+file+": "+c.want, got)
		})
	}
}
