package ownership_test

import (
	"testing"
)

func TestFieldsDeclaredByLastApplied(t *testing.T) {
	all := `{` + annotated + `,"f:list":{"k:{\"name\":\"a\"}":{"f:x":{}}}}`
	for name, c := range map[string]fieldsCase{
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
		"elements by value": {
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
			live: liveWith(`,"data":{"a":"aGk=","b":"Yg==","c":"Yw=="}`, `{"kind":"Secret","data":{"a":"eA==","b":"Yg=="},"stringData":{"a":"hi","d":1}}`,
				entryOf(clientSide, "T", `{`+annotated+`,"f:data":{"f:a":{},"f:b":{},"f:c":{}}}`)),
			want: []string{
				`.data.a="aGk=" Manifest kubectl-client-side-apply T [kubectl-client-side-apply/Update] sets it`,
				`.data.b="Yg==" Manifest kubectl-client-side-apply T [kubectl-client-side-apply/Update] sets it`,
				`.data.c="Yw==" Default [kubectl-client-side-apply/Update]`,
			},
		},
	} {
		t.Run(name, c.run)
	}
}
