package size

import (
	"encoding/json"
	"fmt"
	"strings"
)

// namespace is the namespace of the reviewed objects.
const namespace = "size"

// shape is a review of an apply to a ConfigMap. A controller has changed some of its keys, which the manifest sets.
type shape struct {
	// kept is the number of these keys, other that of keys that neither the controller nor the manifest changes.
	kept, other int
	// entries is the number of managedFields entries of other managers, each with two fields.
	entries int
}

// review returns the AdmissionReview as the API server sends it.
func (s shape) review() ([]byte, error) {
	live, err := s.object("live", "1", s.entry("controller", "", s.claims()), s.entry(applier, lastAppliedClaim, s.others()))
	if err != nil {
		return nil, err
	}
	incoming, err := s.object("manifest", "2", s.entry(applier, lastAppliedClaim, join(s.claims(), s.others())))
	if err != nil {
		return nil, err
	}
	const format = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1",
"request":{"uid":"7c2f1a58-1d0c-4c6e-9d43-5e0c7e7e9a11",
"kind":{"group":"","version":"v1","kind":"ConfigMap"},"resource":{"group":"","version":"v1","resource":"configmaps"},
"requestKind":{"group":"","version":"v1","kind":"ConfigMap"},
"requestResource":{"group":"","version":"v1","resource":"configmaps"},
"name":"web","namespace":%q,"operation":"UPDATE","userInfo":{"username":"admin","groups":["system:authenticated"]},
"object":%s,"oldObject":%s,"dryRun":false,
"options":{"kind":"PatchOptions","apiVersion":"meta.k8s.io/v1","fieldManager":%q}}}`
	return fmt.Appendf(nil, format, namespace, incoming, live, applier), nil
}

const (
	applier          = "kubectl-client-side-apply"
	lastAppliedClaim = `"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-applied-configuration":{}}},`
)

// object returns the live or the incoming object.
func (s shape) object(value, version string, entries ...string) (string, error) {
	applied, err := json.Marshal(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web","namespace":"` + namespace +
		`"},"data":{` + s.keys("manifest") + `}}`)
	if err != nil {
		return "", err
	}
	for i := range s.entries {
		entries = append(entries, s.entry(fmt.Sprintf("manager-%05d", i), "",
			fmt.Sprintf(`"f:other-%05d-a":{},"f:other-%05d-b":{}`, i, i)))
	}
	others := joined(s.other, func(i int) string { return fmt.Sprintf(`"other-%05d":"a value of another manager"`, i) })
	const format = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"web","namespace":%q,` +
		`"uid":"0d9cd5f4-3f4c-4f61-8d58-6a1c2a1b7c22","resourceVersion":"1","creationTimestamp":"2026-01-02T03:04:05Z",` +
		`"annotations":{"kubectl.kubernetes.io/last-applied-configuration":%s,"version":%q},"managedFields":[%s]},"data":{%s}}`
	return fmt.Sprintf(format, namespace, applied, version, strings.Join(entries, ","), join(s.keys(value), others)), nil
}

func (shape) entry(manager, metadata, claims string) string {
	const format = `{"manager":%q,"operation":"Update","apiVersion":"v1","time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1",` +
		`"fieldsV1":{%s"f:data":{%s}}}`
	return fmt.Sprintf(format, manager, metadata, claims)
}

// keys returns the members of data that the controller has changed.
func (s shape) keys(value string) string {
	return joined(s.kept, func(i int) string { return fmt.Sprintf(`"key-%05d":%q`, i, value) })
}

func (s shape) claims() string {
	return joined(s.kept, func(i int) string { return fmt.Sprintf(`"f:key-%05d":{}`, i) })
}

func (s shape) others() string {
	return joined(s.other, func(i int) string { return fmt.Sprintf(`"f:other-%05d":{}`, i) })
}

func joined(n int, element func(i int) string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = element(i)
	}
	return strings.Join(all, ",")
}

// join joins two lists of members, each of which can be empty.
func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "," + b
}
