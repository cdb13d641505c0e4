package config_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ownership-handoff/handoff/config"
)

// hasLine matches the error of a configuration.
var hasLine = regexp.MustCompile(`^line [1-9]\d*: `)

// TestEveryErrorHasFileLineAndRemedy reads files whose first two lines are apiVersion and kind.
func TestEveryErrorHasFileLineAndRemedy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "handoff.yaml")
	for sentence, c := range map[string]struct{ text, want string }{
		"a string instead of a list":                 {"appliers: helm\n", "line 3: appliers: is of type string; write a list"},
		"a number in a list of managers":             {"appliers:\n- helm\n- 1\n", "line 5: appliers[1]: is of type number; write a string"},
		"a list in a list of managers":               {"imperative:\n- a\n-\n  - b\n", "line 6: imperative[1]: is of type array; write a string"},
		"a string instead of additions":              {"appliers:\n  remove: [helm]\n  add: ci\n", "line 5: appliers.add: is of type string; write a list"},
		"a number in the additions":                  {"appliers:\n  add:\n  - ci\n  - 1.5\n", "line 6: appliers.add[1]: is of type number; write a string"},
		"an unknown change of a list":                {"appliers:\n  add: [ci]\n  append:\n  - cd\n", "line 5: appliers.append: unknown field; correct or delete it"},
		"a string instead of scalers":                {"scalers: keda\n", "line 3: scalers: is of type string; write a list"},
		"a string instead of a scaler":               {"scalers:\n- {group: a.b, kind: C, path: .spec.ref}\n- keda\n", "line 5: scalers[1]: is of type string; write an object"},
		"a group of a scaler that is a list":         {"scalers:\n  add:\n  - kind: C\n    group: [a]\n", "line 6: scalers.add[0].group: is of type array; write a string"},
		"an unknown field of a scaler":               {"scalers:\n  add:\n  - kind: C\n    paths: .spec\n", "line 6: scalers.add[0].paths: unknown field; correct or delete it"},
		"a scaler without a path":                    {"scalers:\n- {group: a.b, kind: C, path: .spec.ref}\n- {group: a.b, kind: D}\n", "line 5: scalers[1].path: path is empty; write one, such as .spec.scaleTargetRef"},
		"a scaler with a list of names":              {"scalers:\n  add:\n  - group: a.b\n    kind: C\n    path: .spec.refs[0]\n", "line 7: scalers.add[0].path: .spec.refs[0] must lead to one object; use field names only, such as .spec.scaleTargetRef"},
		"a scaler without a group":                   {"scalers:\n- {kind: C, path: .spec.ref}\n", `line 4: scalers[0].group: "" is not the group of a custom resource; write it, such as keda.sh`},
		"a default scaler again":                     {"scalers:\n  add:\n  - {group: keda.sh, kind: ScaledObject, path: .spec.x}\n", "line 5: scalers.add[0]: \"ScaledObject.keda.sh\" is a default of scalers; delete it"},
		"a removed scaler that is no default":        {"scalers:\n  remove:\n  - {group: a.b, kind: C}\n", "line 5: scalers.remove[0]: \"C.a.b\" is not a default of scalers; correct or delete it"},
		"a removed manager that is no default":       {"appliers:\n  remove:\n  - helm\n  - helmet\n", `line 6: appliers.remove[1]: "helmet" is not a default of appliers; correct or delete it`},
		"an added default":                           {"appliers:\n  add:\n  - ci\n  - helm\n", `line 6: appliers.add[1]: "helm" is a default of appliers; delete it`},
		"an object instead of rules":                 {"rules: {name: a}\n", "line 3: rules: is of type object; write a list"},
		"a string instead of a rule":                 {"rules:\n- {name: a, fields: [.a]}\n- b\n", "line 5: rules[1]: is of type string; write an object"},
		"a string instead of fields":                 {"rules:\n- {name: a, fields: [.a]}\n- name: b\n  fields: .spec.x\n", "line 6: rules[1].fields: is of type string; write a list"},
		"a number instead of a name":                 {"rules:\n- name: 5\n  fields: [.a]\n", "line 4: rules[0].name: is of type number; write a string"},
		"a boolean instead of a namespace":           {"rules:\n- name: a\n  fields: [.a]\n  namespaces:\n  - shop\n  - true\n", "line 8: rules[0].namespaces[1]: is of type bool; write a string"},
		"namespaces of kinds outside namespaces":     {"rules:\n- name: a\n  kinds:\n  - {group: rbac.authorization.k8s.io, kind: ClusterRole}\n  fields: [.rules]\n  namespaces: [shop]\n", "line 8: rules[0].namespaces: objects of these kinds are in no namespace; delete it"},
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
		"an element of a keyed list by its index":    {"rules:\n- {name: a, kinds: [{group: apps, kind: Deployment}], fields: ['.spec.template.spec.containers[0].image']}\n", "line 4: rules[0].fields[0]: .spec.template.spec.containers[0].image never matches: containers is a list of elements with the key name; write [*], or the key, such as [name=\"...\"]"},
		"a key that the list does not have":          {"rules:\n- {name: a, kinds: [{group: apps, kind: Deployment}], fields: ['.spec.template.spec.containers[image=*].resources']}\n", "line 4: rules[0].fields[0]: .spec.template.spec.containers[image=*].resources never matches: containers is a list of elements with the key name; write [*], or the key, such as [name=\"...\"]"},
		"one of the names that a port does not have": {"rules:\n- {name: a, kinds: [{group: core, kind: Service}], fields: ['.spec.ports[name=\"http\"].nodePort']}\n", "line 4: rules[0].fields[0]: .spec.ports[name=\"http\"].nodePort never matches: ports is a list of elements with the key port; write [*], or the key, such as [port=\"...\"]"},
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
		"a string instead of packs":                  {"packs: keda\n", "line 3: packs: is of type string; write a list"},
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
	} {
		t.Run(sentence, func(t *testing.T) {
			if err := os.WriteFile(file, []byte(head+c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got := "no error"
			if _, err := config.Read(file); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff("configuration "+file+": "+c.want, got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}
