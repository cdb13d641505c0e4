package ownership_test

import (
	"testing"

	"github.com/ownership-handoff/handoff/ownership"
)

func TestFieldsLeaves(t *testing.T) {
	for name, c := range map[string]fieldsCase{
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
		"managed fields that live lacks come last in their parent": {
			live: liveWith(`,"spec":{"new":1},"x":[],"y":2`, "", entryOf("me/Apply", "", `{"f:spec":{".":{},"f:old":{".":{},"f:a":{},"f:b":{}},"f:new":{}},"f:x":{"k:{\"name\":\"a\"}":{}},"f:y":{"f:z":{}},"f:gone":{}}`)),
			want: []string{
				".spec.new=1 Manifest me [me/Apply]", ".spec.old.a= Manifest me [me/Apply]", ".spec.old.b= Manifest me [me/Apply]",
				".x=[] Default []", `.x[name="a"]= Manifest me [me/Apply]`, ".y=2 Default []", ".y.z= Manifest me [me/Apply]", ".gone= Manifest me [me/Apply]",
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
	} {
		t.Run(name, c.run)
	}
}
