package webhook_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/ownership"
)

const (
	early = "2026-01-02T03:04:05Z"
	late  = "2026-01-02T03:04:09Z"

	lastApplied = ownership.LastAppliedAnnotation

	managesReplicas = `{"f:spec":{"f:replicas":{}}}`
	managesTemplate = `{"f:spec":{"f:template":{}}}`
	managesBoth     = `{"f:spec":{"f:replicas":{},"f:template":{}}}`
	// As client-side apply manages them: the annotation as well.
	managesApplied     = `{"f:metadata":{"f:annotations":{"f:kubectl.kubernetes.io/last-applied-configuration":{}}},"f:spec":{"f:template":{}}}`
	managesAppliedBoth = `{"f:metadata":{"f:annotations":{"f:kubectl.kubernetes.io/last-applied-configuration":{}}},"f:spec":{"f:replicas":{},"f:template":{}}}`
)

// secret is in each Deployment and its manifest, and in what is broken: see server.answer.
const secret = "hunter2"

// deployment is a Deployment as the API server encodes it. The replicas are JSON, none when empty.
type deployment struct {
	replicas    string
	image       string
	annotations map[string]string
	labels      map[string]string // left out if nil
	entries     []string
	// managedFields stand in place of entries where they are not empty, as JSON.
	managedFields string
	// status is the member status with a comma before it, or empty.
	status string
}

func (d deployment) text() string {
	managedFields := cmp.Or(d.managedFields, "["+strings.Join(d.entries, ",")+"]")
	replicas, labels := "", ""
	if d.labels != nil {
		labels = `"labels":` + encode(d.labels) + ","
	}
	if d.replicas != "" {
		replicas = `"replicas":` + d.replicas + ","
	}
	return fmt.Sprintf(`{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","namespace":"shop","uid":"object-uid",`+
		`%s"annotations":%s,"managedFields":%s},"spec":{%s"template":{"spec":{"containers":[{"name":"app","image":%q,"env":[{"name":"E","value":%s}]}]}}}%s}`,
		labels, encode(d.annotations), managedFields, replicas, d.image, encode("password="+secret), d.status)
}

// with returns the deployment with another annotation.
func (d deployment) with(name, value string) deployment {
	d.annotations = maps.Clone(d.annotations)
	if d.annotations == nil {
		d.annotations = map[string]string{}
	}
	d.annotations[name] = value
	return d
}

// inMode returns the deployment with the mode label.
func (d deployment) inMode(mode string) deployment {
	d.labels = map[string]string{optin.Label: mode}
	return d
}

func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func entry(manager, operation, at, fields, subresource string) string {
	text := fmt.Sprintf(`{"manager":%q,"operation":%q,"apiVersion":"apps/v1",`, manager, operation)
	if at != "" {
		text += fmt.Sprintf(`"time":%q,`, at)
	}
	text += `"fieldsType":"FieldsV1","fieldsV1":` + fields
	if subresource != "" {
		text += fmt.Sprintf(`,"subresource":%q`, subresource)
	}
	return text + "}"
}

// request is an AdmissionReview in the order in which the API server encodes it.
type request struct {
	version                                    string
	uid, operation, subResource, name, manager string
	kind, namespace                            string
	dryRun                                     bool
	object, oldObject                          string
}

func (r request) body() string {
	return fmt.Sprintf(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/%s","request":{"uid":%q,`+
		`"kind":{"group":"apps","version":"v1","kind":%q},"resource":{"group":"apps","version":"v1","resource":"deployments"},`+
		`"subResource":%q,"name":%q,"namespace":%q,"operation":%q,"userInfo":{"username":"me"},"object":%s,"oldObject":%s,`+
		`"dryRun":%t,"options":{"kind":"UpdateOptions","apiVersion":"meta.k8s.io/v1","fieldManager":%q}}}`,
		r.version, r.uid, r.kind, r.subResource, r.name, r.namespace, r.operation, r.object, r.oldObject, r.dryRun, r.manager)
}

// update is a write of deployment web in the namespace shop.
func update(manager string, live, incoming deployment) request {
	return request{
		version: "v1", uid: "review-uid", operation: "UPDATE", kind: "Deployment", name: "web", namespace: "shop",
		manager: manager, oldObject: live.text(), object: incoming.text(),
	}
}

const (
	manifest3    = `{"spec":{"replicas":3,"template":{"` + secret + `":"` + secret + `"}}}`
	manifestNone = `{"spec":{"template":{"` + secret + `":"` + secret + `"}}}`

	csa = "kubectl-client-side-apply"
)

// scaledBy7 is a Deployment that client-side apply has made and an autoscaler has scaled to 7.
func scaledBy7() deployment {
	return deployment{
		replicas: "7", image: "app:1", annotations: map[string]string{lastApplied: manifest3},
		entries: []string{
			entry("kube-controller-manager", "Update", "", managesReplicas, "scale"), entry(csa, "Update", early, managesApplied, ""),
		},
	}
}

// applied3 is what client-side apply of the same manifest makes of scaledBy7: row 1.
func applied3() deployment {
	return deployment{
		replicas: "3", image: "app:1", annotations: map[string]string{lastApplied: manifest3},
		entries: []string{entry(csa, "Update", late, managesAppliedBoth, "")},
	}
}

// patched1 is what a person's kubectl patch makes of scaledBy7: row 9.
func patched1() deployment {
	d := scaledBy7()
	d.replicas = "1"
	d.entries = []string{entry(csa, "Update", early, managesApplied, ""), entry("kubectl-patch", "Update", late, managesReplicas, "")}
	return d
}
