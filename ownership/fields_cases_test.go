package ownership_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

func TestFields(t *testing.T) {
	all := `{` + annotated + `,"f:list":{"k:{\"name\":\"a\"}":{"f:x":{}}}}`
	size, ready := `{"f:spec":{"f:replicas":{}}}`, `{"f:status":{"f:ready":{}}}`
	for name, c := range map[string]fieldsCase{
		// Which fields there are.
		"identity, managedFields and the annotation are none": {
			live: `{"apiVersion":"v1","kind":"Web","metadata":{"name":"web","namespace":"a","uid":"1","resourceVersion":"2","generation":3,` +
				`"creationTimestamp":"T","managedFields":[` + entryOf("me/Apply", "", `{`+annotated+`}`) + `],` +
				`"annotations":{"` + ownership.LastAppliedAnnotation + `":"{}"},"labels":{"name":"a"}},"name":1}`,
			want: []string{".metadata.labels.name=\"a\" Default []", ".name=1 Default []"},
		},
		"an object or list that is managed as a whole": {
			live: liveWith(`,"spec":{"args":["a","b"],"selector":{"a":{"b":1}}}`, "", entryOf("me/Apply", "", `{"f:spec":{"f:args":{},"f:selector":{}}}`)),
			want: []string{`.spec.args=["a","b"] Manifest me [me/Apply]`, `.spec.selector={"a":{"b":1}} Manifest me [me/Apply]`},
		},
		"a managed object, and a field in it with another manager": {
			live: liveWith(`,"spec":{"pool":{"min":1,"size":7}}`, "", entryOf("me/Apply", "", `{"f:spec":{"f:pool":{}}}`), entryOf("keda/Update", "", `{"f:spec":{"f:pool":{"f:size":{}}}}`)),
			want: []string{".spec.pool.min=1 Default []", ".spec.pool.size=7 Other keda [keda/Update]"},
		},
		"annotations are never atomic: a single one is excluded": {
			live: liveWith("", `{}`, entryOf("me/Apply", "", `{"f:metadata":{"f:annotations":{}}}`)),
		},
		"empty containers and null": {
			live: liveWith(`,"spec":{"a":{},"b":[],"c":null}`, "", entryOf("me/Apply", "", `{"f:spec":{"f:a":{},"f:b":{},"f:c":{}}}`)),
			want: []string{".spec.a={} Manifest me [me/Apply]", ".spec.b=[] Manifest me [me/Apply]", ".spec.c=null Manifest me [me/Apply]"},
		},
		"a time that is null or missing in the metadata of a template is none": {
			live: liveWith(`,"spec":{"metadata":{"creationTimestamp":null,"labels":{"a":"b"}},"template":{"metadata":{"creationTimestamp":null}},"none":{}}`, "",
				entryOf("me/Apply", "", `{"f:spec":{"f:metadata":{"f:creationTimestamp":{},"f:labels":{"f:a":{}}},"f:none":{"f:metadata":{"f:creationTimestamp":{}}}}}`)),
			want: []string{`.spec.metadata.labels.a="b" Manifest me [me/Apply]`, ".spec.template.metadata={} Default []", ".spec.none={} Default []"},
		},
		"a time that is set, and other fields of its name": {
			live: liveWith(`,"spec":{"metadata":{"creationTimestamp":"T"},"creationTimestamp":null,"list":[{"creationTimestamp":null}]}`, "",
				entryOf("me/Apply", "", `{"f:spec":{"f:metadata":{"f:creationTimestamp":{}}},"f:creationTimestamp":{}}`)),
			want: []string{
				`.spec.metadata.creationTimestamp="T" Manifest me [me/Apply]`, ".spec.creationTimestamp=null Default []",
				".spec.list[0].creationTimestamp=null Default []", ".creationTimestamp= Manifest me [me/Apply]",
			},
		},
		"elements by key, and by index if no entry has them": {
			live: liveWith(`,"ports":[{"port":1},{"port":80},{"name":"x"},2]`, "", entryOf("me/Apply", "", `{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}`)),
			want: []string{
				".ports[0].port=1 Default []", `.ports[port=80,protocol="TCP"].port=80 Manifest me [me/Apply]`,
				`.ports[2].name="x" Default []`, ".ports[3]=2 Default []",
			},
		},
		"an element that is managed as a whole": {
			live: liveWith(`,"list":[{"name":"a","x":1}]`, "", entryOf("me/Apply", "", `{"f:list":{"k:{\"name\":\"a\"}":{}}}`)),
			want: []string{`.list[name="a"]={"name":"a","x":1} Manifest me [me/Apply]`},
		},
		"elements by value": {
			live: liveWith(`,"set":["b","a",1]`, "", entryOf("me/Apply", "", `{"f:set":{"v:\"a\"":{},"v:1":{}}}`)),
			want: []string{`.set[0]="b" Default []`, `.set[="a"]="a" Manifest me [me/Apply]`, `.set[=1]=1 Manifest me [me/Apply]`},
		},
		"elements by index": {
			live: liveWith(`,"list":["b","a"]`, "", entryOf("me/Apply", "", `{"f:list":{"i:1":{}}}`)),
			want: []string{`.list[0]="b" Default []`, `.list[1]="a" Manifest me [me/Apply]`},
		},
		"elements that share a key, of which the second goes by its index": {
			live: liveWith(`,"env":[{"name":"A","value":"1"},{"name":"A","value":"2"}]`, "", entryOf("me/Apply", "", `{"f:env":{"k:{\"name\":\"A\"}":{}}}`)),
			want: []string{`.env[name="A"]={"name":"A","value":"1"} Manifest me [me/Apply]`, `.env[1]={"name":"A","value":"2"} Manifest me [me/Apply]`},
		},
		"an element that two entries name in two ways": {
			live: liveWith(`,"list":[{"id":1,"name":"a"}]`, "", entryOf("me/Apply", "", `{"f:list":{"k:{\"id\":1}":{"f:id":{}}}}`),
				entryOf("you/Apply", "", `{"f:list":{"k:{\"name\":\"a\"}":{"f:id":{},"f:name":{}}}}`)),
			want: []string{".list[id=1].id=1 Manifest me [me/Apply you/Apply]", `.list[id=1].name="a" Manifest you [you/Apply]`},
		},
		"elements that two entries name by different keys": {
			live: liveWith(`,"list":[{"id":1},{"port":2}]`, `{"list":[{"port":2},{"id":1}]}`, entryOf("me/Apply", "", `{"f:list":{"k:{\"id\":1}":{}}}`),
				entryOf("you/Apply", "", `{"f:list":{"k:{\"port\":2}":{}}}`)),
			want: []string{`.list[id=1]={"id":1} Manifest me [me/Apply] sets it`, `.list[port=2]={"port":2} Manifest you [you/Apply] sets it`},
		},
		"managed fields that live lacks come last in their parent": {
			live: liveWith(`,"spec":{"new":1},"x":[],"y":2`, "", entryOf("me/Apply", "", `{"f:spec":{".":{},"f:old":{".":{},"f:a":{},"f:b":{}},"f:new":{}},"f:x":{"k:{\"name\":\"a\"}":{}},"f:y":{"f:z":{}},"f:gone":{}}`), entryOf("you/Apply", "", `{"f:gone":{}}`)),
			want: []string{
				".spec.new=1 Manifest me [me/Apply]", ".spec.old.a= Manifest me [me/Apply]", ".spec.old.b= Manifest me [me/Apply]",
				".x=[] Default []", `.x[name="a"]= Manifest me [me/Apply]`, ".y=2 Default []", ".y.z= Manifest me [me/Apply]", ".gone= Manifest me [me/Apply you/Apply]",
			},
		},
		"unknown kinds of field set elements are ignored": {
			live: liveWith(`,"spec":1`, "", entryOf("me/Apply", "", `{"f:spec":{"z:new":{}}}`)),
			want: []string{".spec=1 Manifest me [me/Apply]"},
		},
		"names with escapes": {
			live: liveWith(`,"a\"\u00e9":1`, "", entryOf("me/Apply", "", `{"f:a\"é":{}}`)),
			want: []string{`.a"é=1 Manifest me [me/Apply]`},
		},
		"an entry without a set, and a root that manages itself": {
			live: liveWith(`,"a":1`, "", `{"manager":"me","fieldsV1":null}`, entryOf("me/Apply", "", `{".":{}}`)),
			want: []string{".a=1 Default []"},
		},
		"what is not as an object is": {
			live: `{"metadata":1,"spec":[1],"status":"x"}`,
			want: []string{".metadata=1 Unknown []", ".spec[0]=1 Unknown []", `.status="x" Unknown []`},
		},
		"nothing":                {live: `{}`},
		"an object of none":      {live: `null`},
		"an object of name only": {live: `{"metadata":{"name":"a"}}`},

		// What the last-applied configuration declares.
		"elements by key, at any index; an unmanaged one does not match another": {
			live: liveWith(`,"list":[{"name":"side","x":1},{"name":"a","x":1}]`, `{"list":[{"x":1,"name":"a"}]}`, entryOf(clientSide, "T", all)),
			want: []string{
				`.list[0].name="side" Default []`, ".list[0].x=1 Default []", `.list[name="a"].name="a" Manifest [] sets it`,
				".list[name=\"a\"].x=1 Manifest kubectl-client-side-apply T [kubectl-client-side-apply/Update] sets it",
			},
		},
		"elements by name where there are no entries": {
			live: liveWith(`,"list":[{"name":"side","x":1},{"name":"a","x":2}]`, `{"list":[{"name":"a","x":2}]}`),
			want: []string{`.list[0].name="side" Unknown []`, ".list[0].x=1 Unknown []", `.list[1].name="a" Manifest [] sets it`, ".list[1].x=2 Manifest [] sets it"},
		},
		"elements by value, of which one is declared": {
			live: liveWith(`,"set":["b","a"]`, `{"set":["a"]}`, entryOf("me/Apply", "", `{"f:set":{"v:\"a\"":{}}}`)),
			want: []string{`.set[0]="b" Default []`, `.set[="a"]="a" Manifest me [me/Apply] sets it`},
		},
		"elements by index where nothing else names them": {
			live: liveWith(`,"args":["b","a"]`, `{"args":["b","c"]}`),
			want: []string{`.args[0]="b" Manifest [] sets it`, `.args[1]="a" Unknown [] sets it to "c"`},
		},
		"a port without a protocol in the manifest": {
			live: liveWith(`,"ports":[{"port":80,"protocol":"TCP"}]`, `{"ports":[{"port":80}]}`, entryOf("me/Apply", "", `{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}`)),
			want: []string{`.ports[port=80,protocol="TCP"].port=80 Manifest me [me/Apply] sets it`, `.ports[port=80,protocol="TCP"].protocol="TCP" Default []`},
		},
		"a container as a whole, the same in another order": {
			live: liveWith(`,"args":{"a":1,"b":2}`, `{"args":{"b": 2, "a": 1.0}}`, entryOf("me/Apply", "", `{"f:args":{}}`)),
			want: []string{`.args={"a":1,"b":2} Manifest me [me/Apply] sets it`},
		},
		"a container as a whole, and another one": {
			live: liveWith(`,"args":{"a":1,"b":2}`, `{"args":{"a":1}}`, entryOf("me/Apply", "", `{"f:args":{}}`)),
			want: []string{`.args={"a":1,"b":2} Manifest me [me/Apply] sets it to {"a":1}`},
		},
		"what has gone from the object": {
			live: liveWith(`,"spec":{}`, `{"spec":{"old":1}}`, entryOf("me/Apply", "", `{"f:spec":{"f:old":{}}}`)),
			want: []string{".spec={} Manifest [] sets it to {\"old\":1}", ".spec.old= Manifest me [me/Apply] sets it to 1"},
		},
		"a scalar, a list or null where the object has an object": {
			live: liveWith(`,"a":{"x":1},"b":{"x":1},"c":{"x":1}`, `{"a":1,"b":[1],"c":null}`, entryOf("me/Apply", "", `{}`)),
			want: []string{".a.x=1 Default []", ".b.x=1 Default []", ".c.x=1 Default []"},
		},
		"a secret's stringData goes before its data": {
			live: strings.Replace(liveWith(`,"data":{"a":"aGk=","b":"Yg==","c":"Yw=="}`, `{"data":{"a":"eA==","b":"Yg=="},"stringData":{"a":"hi","d":1}}`,
				entryOf(clientSide, "T", `{`+annotated+`,"f:data":{"f:a":{},"f:b":{},"f:c":{}}}`)), "Web", "Secret", 1),
			want: []string{
				`.data.a="aGk=" Manifest kubectl-client-side-apply T [kubectl-client-side-apply/Update] sets it`,
				`.data.b="Yg==" Manifest kubectl-client-side-apply T [kubectl-client-side-apply/Update] sets it`,
				`.data.c="Yw==" Default [kubectl-client-side-apply/Update]`,
			},
		},

		// Owners that are not recorded, and those of status.
		"managedFields were taken away": {
			live: liveWith(`,"spec":{"replicas":3},"status":{"ready":1}`, ""),
			want: []string{".spec.replicas=3 Unknown []", ".status.ready=1 Unknown []"},
		},
		"managedFields were taken away, and the annotation declares the value": {
			live: liveWith(`,"spec":{"replicas":3}`, `{"spec":{"replicas":3}}`),
			want: []string{".spec.replicas=3 Manifest [] sets it"},
		},
		"managedFields were taken away, and the annotation declares another value": {
			live: liveWith(`,"spec":{"replicas":5}`, `{"spec":{"replicas":3}}`),
			want: []string{".spec.replicas=5 Unknown [] sets it to 3"},
		},
		"managedFields were taken away, and an autoscaler targets the object": {
			context: ownership.ObjectContext{Scale: fieldpath.MakePathOrDie("spec", "replicas"), Autoscaler: "HPA web"},
			live:    liveWith(`,"spec":{"replicas":3,"paused":true}`, ""),
			want:    []string{".spec.replicas=3 Autoscaler HPA web []", ".spec.paused=true Unknown []"},
		},
		"an empty list of managedFields is none": {
			live: `{"metadata":{"managedFields":[]},"spec":{"replicas":3}}`,
			want: []string{".spec.replicas=3 Unknown []"},
		},
		"only ancient changes": {
			live: liveWith(`,"spec":{"replicas":3}`, "", entryOf("ancient-changes/Update", "T", size)),
			want: []string{".spec.replicas=3 Unknown [ancient-changes/Update]"},
		},
		"only what was before the first apply": {
			live: liveWith(`,"spec":{"replicas":3}`, "", entryOf("before-first-apply/Update", "T", size)),
			want: []string{".spec.replicas=3 Unknown [before-first-apply/Update]"},
		},
		"what was before the first apply, and a person": {
			live: liveWith(`,"spec":{"replicas":3}`, "", entryOf("before-first-apply/Update", "T", size), entryOf("kubectl-edit/Update", "T2", size)),
			want: []string{".spec.replicas=3 Imperative kubectl-edit T2 [kubectl-edit/Update before-first-apply/Update]"},
		},
		"what was before the first apply, and the manifest declares it": {
			live: liveWith(`,"spec":{"replicas":3}`, `{"spec":{"replicas":3}}`, entryOf("before-first-apply/Update", "T", size)),
			want: []string{".spec.replicas=3 Manifest [before-first-apply/Update] sets it"},
		},
		"status: a controller": {
			live: liveWith(`,"status":{"ready":1,"seen":2}`, `{"status":{"ready":0}}`, entryOf("kube-controller-manager/Update/status", "T", ready)),
			want: []string{
				".status.ready=1 Controller kube-controller-manager T [kube-controller-manager/Update/status] sets it to 0",
				".status.seen=2 Default []",
			},
		},
		"status: a controller that applies, and another that writes the whole object": {
			live: liveWith(`,"status":{"ready":1}`, "", entryOf("helm/Update", "T1", ready), entryOf("agent/Apply/status", "T2", ready)),
			want: []string{".status.ready=1 Controller agent T2 [agent/Apply/status helm/Update]"},
		},
		"status: a person": {
			live: liveWith(`,"status":{"ready":1}`, "", entryOf("kubectl-edit/Update/status", "T", ready)),
			want: []string{".status.ready=1 Imperative kubectl-edit T [kubectl-edit/Update/status]"},
		},
		"status: without a status subresource, as any field": {
			live: liveWith(`,"status":{"ready":1}`, "", entryOf("operator/Update", "T", ready)),
			want: []string{".status.ready=1 Other operator T [operator/Update]"},
		},
		"status: a field that its writer manages outside of status is like any other": {
			live: liveWith(`,"spec":{"ready":1}`, "", entryOf("operator/Update/status", "T", `{"f:spec":{"f:ready":{}}}`)),
			want: []string{".spec.ready=1 Other operator T [operator/Update/status]"},
		},
	} {
		t.Run(name, c.run)
	}
}
