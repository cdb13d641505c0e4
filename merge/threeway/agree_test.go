package threeway_test

import (
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/threeway"
)

// inputs are those of one merge.
type inputs struct{ base, manifest, live string }

// TestMergeEqualsStrategicPatch merges corner cases. The result or error must be that of strategicpatch.
func TestMergeEqualsStrategicPatch(t *testing.T) {
	var types schema.Types
	for name, c := range map[string]struct {
		typed any
		cases map[string]inputs
	}{
		"retainKeys of a Deployment": {&appsv1.Deployment{}, map[string]inputs{
			"a directive in the base, and no member in the manifest":        {`{"spec":{"strategy":{"type":"Recreate","$retainKeys":["type"]}}}`, `{"spec":{"strategy":{}}}`, `{"spec":{"strategy":{"type":"Recreate"}}}`},
			"a directive in the base, and the same member":                  {`{"spec":{"strategy":{"type":"Recreate","$retainKeys":["type"]}}}`, `{"spec":{"strategy":{"type":"Recreate"}}}`, `{"spec":{"strategy":{"type":"Recreate"}}}`},
			"a directive in the base, and a member that only live has":      {`{"spec":{"strategy":{"type":"Recreate","$retainKeys":["type"]}}}`, `{"spec":{"strategy":{"type":"Recreate"}}}`, `{"spec":{"strategy":{"type":"Recreate","rollingUpdate":{"maxSurge":1}}}}`},
			"a directive in the base, and only null in the manifest":        {`{"spec":{"strategy":{"type":"Recreate","$retainKeys":["type"]}}}`, `{"spec":{"strategy":{"type":null}}}`, `{"spec":{"strategy":{"type":"Recreate"}}}`},
			"a null is removed if the manifest drops a member":              {`{"spec":{"strategy":{"type":"Recreate","rollingUpdate":{}}}}`, `{"spec":{"strategy":{"type":"Recreate"}}}`, `{"spec":{"strategy":{"type":"Recreate","x":null}}}`},
			"a null is removed if the manifest drops a nested member":       {`{"spec":{"strategy":{"type":"Recreate","rollingUpdate":{"maxSurge":1}}}}`, `{"spec":{"strategy":{"type":"Recreate","rollingUpdate":{}}}}`, `{"spec":{"strategy":{"type":"Recreate","rollingUpdate":{},"x":null}}}`},
			"a null is removed if the manifest sets another member to null": {`{}`, `{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null}}}`, `{"spec":{"strategy":{"type":"Recreate","x":null}}}`},
			"a null is removed if the manifest has a nested null":           {`{}`, `{"spec":{"strategy":{"type":"Recreate","rollingUpdate":{"maxSurge":null}}}}`, `{"spec":{"strategy":{"type":"Recreate","rollingUpdate":{},"x":null}}}`},
			"a null is removed if the base has one that the manifest drops": {`{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null}}}`, `{"spec":{"strategy":{"type":"Recreate"}}}`, `{"spec":{"strategy":{"type":"Recreate","x":null}}}`},
			"a null stays if nothing changes":                               {`{}`, `{"spec":{"strategy":{"type":"Recreate"}}}`, `{"spec":{"strategy":{"type":"Recreate","x":null}}}`},
			"a null stays if manifest and live have another null":           {`{}`, `{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null}}}`, `{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null,"x":null}}}`},
		}},
		"retainKeys of a volume": {&corev1.Pod{}, map[string]inputs{
			"a null is removed if the manifest drops the only source":    {`{"spec":{"volumes":[{"name":"v","emptyDir":{}}]}}`, `{"spec":{"volumes":[{"name":"v"}]}}`, `{"spec":{"volumes":[{"name":"v","x":null}]}}`},
			"a null is removed if the manifest drops one of two sources": {`{"spec":{"volumes":[{"name":"v","hostPath":{},"emptyDir":{}}]}}`, `{"spec":{"volumes":[{"name":"v","hostPath":{}}]}}`, `{"spec":{"volumes":[{"name":"v","hostPath":{},"x":null}]}}`},
			"a null is removed if the manifest drops a value of a set in the object": {
				`{"spec":{"volumes":[{"name":"v","ephemeral":{"volumeClaimTemplate":{"metadata":{"finalizers":["a","b"]}}}}]}}`,
				`{"spec":{"volumes":[{"name":"v","ephemeral":{"volumeClaimTemplate":{"metadata":{"finalizers":["a"]}}}}]}}`,
				`{"spec":{"volumes":[{"name":"v","ephemeral":{"volumeClaimTemplate":{"metadata":{"finalizers":["a"]}}},"x":null}]}}`,
			},
			"a null stays if the manifest adds to the base": {
				`{"spec":{"volumes":[{"name":"v","hostPath":{}}]}}`, `{"spec":{"volumes":[{"name":"v","hostPath":{"path":"/"}}]}}`, `{"spec":{"volumes":[{"name":"v","hostPath":{"path":"/"},"x":null}]}}`,
			},
		}},
		"a key that is a number": {&corev1.Service{}, map[string]inputs{
			"with an exponent":           {``, `{"spec":{"ports":[{"port":8e1,"name":"a"}]}}`, `{"spec":{"ports":[{"port":80}]}}`},
			"with a fraction of 0":       {``, `{"spec":{"ports":[{"port":80.0,"name":"a"}]}}`, `{"spec":{"ports":[{"port":80}]}}`},
			"with a fraction":            {``, `{"spec":{"ports":[{"port":80.5,"name":"a"}]}}`, `{"spec":{"ports":[{"port":80}]}}`},
			"of the largest exact float": {``, `{"spec":{"ports":[{"port":9007199254740991.0,"name":"a"}]}}`, `{"spec":{"ports":[{"port":9007199254740991}]}}`},
		}},
		"a key that is null": {&corev1.Pod{}, map[string]inputs{
			"in the manifest":                          {`{}`, `{"spec":{"containers":[{"name":null}]}}`, `{"spec":{"containers":[{"name":"a"}]}}`},
			"in the manifest, among others":            {`{}`, `{"spec":{"containers":[{"name":null,"image":"x"},{"name":"b"}]}}`, `{"spec":{"containers":[{"name":"a"},{"name":"b"}]}}`},
			"in the base":                              {`{"spec":{"containers":[{"name":null},{"name":"b"}]}}`, `{"spec":{"containers":[{"name":"a"}]}}`, `{"spec":{"containers":[{"name":"a"}]}}`},
			"in base and live: the element is deleted": {`{"spec":{"containers":[{"name":null},{"name":"b"}]}}`, `{"spec":{"containers":[{"name":"a"}]}}`, `{"spec":{"containers":[{"name":"a"},{"name":null}]}}`},
			"in live":                                  {`{}`, `{"spec":{"containers":[{"name":"a"}]}}`, `{"spec":{"containers":[{"name":null}]}}`},
			"in manifest and live, with others":        {`{}`, `{"spec":{"containers":[{"name":null},{"name":"b"}]}}`, `{"spec":{"containers":[{"name":null}]}}`},
			"in manifest and live, equal":              {`{}`, `{"spec":{"containers":[{"name":null}]}}`, `{"spec":{"containers":[{"name":null}]}}`},
			"in manifest and live, which has more":     {`{}`, `{"spec":{"containers":[{"name":null}]}}`, `{"spec":{"containers":[{"name":null,"image":"x"}]}}`},
			"in manifest and live, which would change": {`{}`, `{"spec":{"containers":[{"name":null,"image":"i"}]}}`, `{"spec":{"containers":[{"name":null,"image":"j"}]}}`},
			"in manifest and live, with another null":  {`{}`, `{"spec":{"containers":[{"name":null,"image":null}]}}`, `{"spec":{"containers":[{"name":null,"image":"x"}]}}`},
			"in all three, which would delete a field": {`{"spec":{"containers":[{"name":null,"image":"x"}]}}`, `{"spec":{"containers":[{"name":null}]}}`, `{"spec":{"containers":[{"name":null,"image":"x"}]}}`},
			"in a list that is added again":            {`{"spec":{"containers":[{"name":null}]}}`, `{"spec":{"containers":[{"name":null}]}}`, `{"spec":{}}`},
			"twice in the manifest":                    {`{}`, `{"spec":{"containers":[{"name":null},{"name":null}]}}`, `{"spec":{"containers":[{"name":"a"}]}}`},
		}},
		"an element without its key": {&corev1.Pod{}, map[string]inputs{
			"in a list that is added again":                     {`{"spec":{"containers":[{"name":"a"}]}}`, `{"spec":{"containers":[{"image":"a"}]}}`, `{"spec":{}}`},
			"in the base of a list that is added again":         {`{"spec":{"containers":[{"image":"a"}]}}`, `{"spec":{"containers":[{"name":"a"}]}}`, `{"spec":{}}`},
			"in a list that is added again, with an empty base": {`{"spec":{"containers":[]}}`, `{"spec":{"containers":[{"image":"a"}]}}`, `{"spec":{}}`},
			"in a list that is added again unchanged":           {`{"spec":{"containers":[{"image":"a"}]}}`, `{"spec":{"containers":[{"image":"a"}]}}`, `{"spec":{}}`},
			"in a list of an element that is added again":       {`{"spec":{"containers":[{"name":"a","ports":[{"x":1}]}]}}`, `{"spec":{"containers":[{"name":"a","ports":[{"x":1}]}]}}`, `{"spec":{}}`},
			"in a new list of an element that is added again":   {`{"spec":{"containers":[{"name":"a"}]}}`, `{"spec":{"containers":[{"name":"a","ports":[{"x":1}]}]}}`, `{"spec":{}}`},
			"in an element that is added again next to another": {`{"spec":{"containers":[{"name":"b","ports":[{"x":1}]}]}}`, `{"spec":{"containers":[{"name":"b","ports":[{"x":2}]}]}}`, `{"spec":{"containers":[{"name":"a"}]}}`},
			"in a list that replaces a value of another kind":   {`{"spec":{"containers":[{"name":"a"}]}}`, `{"spec":{"containers":[{"image":"a"}]}}`, `{"spec":{"containers":"x"}}`},
			"in a new list":                                {`{}`, `{"spec":{"containers":[{"image":"a"}]}}`, `{"spec":{}}`},
			"over an empty list":                           {`{}`, `{"spec":{"containers":[{"image":"a"}]}}`, `{"spec":{"containers":[]}}`},
			"in an equal list":                             {`{}`, `{"spec":{"containers":[{"image":"a"}]}}`, `{"spec":{"containers":[{"image":"a"}]}}`},
			"in an equal list with other white space":      {`{}`, `{"spec":{"containers":[{"image":"a"}]}}`, `{"spec":{"containers":[ {"image":"a"} ]}}`},
			"empty, in an equal list":                      {`{}`, `{"spec":{"imagePullSecrets":[{}]}}`, `{"spec":{"imagePullSecrets":[{}]}}`},
			"in an equal element of another list":          {`{}`, `{"spec":{"containers":[{"name":"a","ports":[{"x":1}]},{"name":"b"}]}}`, `{"spec":{"containers":[{"name":"a","ports":[{"x":1}]}]}}`},
			"in an equal list of an equal list":            {`{}`, `{"spec":{"containers":[{"name":"a","ports":[{"x":1}]}]}}`, `{"spec":{"containers":[{"name":"a","ports":[{"x":1}]}]}}`},
			"in the base of an equal list":                 {`{"spec":{"containers":[{"image":"x"}]}}`, `{"spec":{"containers":[{"name":"a"}]}}`, `{"spec":{"containers":[{"name":"a"}]}}`},
			"in the base of an equal empty list":           {`{"spec":{"containers":[{"image":"x"}]}}`, `{"spec":{"containers":[]}}`, `{"spec":{"containers":[]}}`},
			"in the base of an empty list that live lacks": {`{"spec":{"containers":[{"image":"x"}]}}`, `{"spec":{"containers":[]}}`, `{"spec":{}}`},
			"in the base of a list of an equal list":       {`{"spec":{"containers":[{"name":"a","ports":[{"x":1}]}]}}`, `{"spec":{"containers":[{"name":"a","ports":[{"containerPort":1}]}]}}`, `{"spec":{"containers":[{"name":"a","ports":[{"containerPort":1}]}]}}`},
			"in live, with an empty manifest":              {`{}`, `{"spec":{"containers":[]}}`, `{"spec":{"containers":[{"image":"x"}]}}`},
			"only in the base":                             {`{"spec":{"containers":[{"image":"x"}]}}`, `{"spec":{}}`, `{"spec":{"containers":[{"name":"a"}]}}`},
		}},
		"a key that is not a scalar": {&corev1.Pod{}, map[string]inputs{
			"in the manifest":               {`{}`, `{"spec":{"containers":[{"name":{}}]}}`, `{"spec":{"containers":[{"name":"a"}]}}`},
			"in an equal list":              {`{}`, `{"spec":{"containers":[{"name":{}}]}}`, `{"spec":{"containers":[{"name":{}}]}}`},
			"in a new list":                 {`{}`, `{"spec":{"containers":[{"name":{}}]}}`, `{"spec":{}}`},
			"in a list that is added again": {`{"spec":{"containers":[{"name":"a"}]}}`, `{"spec":{"containers":[{"name":{}}]}}`, `{"spec":{}}`},
		}},
		"null in a list that merges": {&corev1.Pod{}, map[string]inputs{
			"in the base of an equal set":              {`{"metadata":{"finalizers":[null]}}`, `{"metadata":{"finalizers":["a"]}}`, `{"metadata":{"finalizers":["a"]}}`},
			"in the base of a set that is added again": {`{"metadata":{"finalizers":[null]}}`, `{"metadata":{"finalizers":["a"]}}`, `{"metadata":{}}`},
			"in a set that is added again":             {`{"metadata":{"finalizers":["a"]}}`, `{"metadata":{"finalizers":[null]}}`, `{"metadata":{}}`},
			"in a new set":                             {`{}`, `{"metadata":{"finalizers":[null]}}`, `{"metadata":{}}`},
			"in a set of live":                         {`{}`, `{"metadata":{"finalizers":["a"]}}`, `{"metadata":{"finalizers":[null]}}`},
			"in an equal set":                          {`{}`, `{"metadata":{"finalizers":[null]}}`, `{"metadata":{"finalizers":[null]}}`},
			"in the base of an equal keyed list":       {`{"spec":{"containers":[null]}}`, `{"spec":{"containers":[{"name":"a"}]}}`, `{"spec":{"containers":[{"name":"a"}]}}`},
			"in the base of a keyed list":              {`{"spec":{"containers":[null,{"name":"b"}]}}`, `{"spec":{"containers":[{"name":"a"}]}}`, `{"spec":{"containers":[{"name":"a"},{"name":"b"}]}}`},
			"only in the base":                         {`{"spec":{"containers":[null]}}`, `{"spec":{}}`, `{"spec":{"containers":[{"name":"a"}]}}`},
			"in an equal keyed list":                   {`{}`, `{"spec":{"containers":[null]}}`, `{"spec":{"containers":[null]}}`},
			"in a new keyed list":                      {`{}`, `{"spec":{"containers":[null]}}`, `{"spec":{}}`},
			"in live":                                  {`{}`, `{"spec":{"containers":[{"name":"a"}]}}`, `{"spec":{"containers":[{"name":"b"},null]}}`},
		}},
		"another kind than the type declares": {&corev1.Pod{}, map[string]inputs{
			"an equal list, declared as an object":                         {`{}`, `{"spec":[]}`, `{"spec":[]}`},
			"an equal list with a blank, declared as an object":            {`{}`, `{"spec":[]}`, `{"spec":[ ]}`},
			"a list over another list, declared as an object":              {`{}`, `{"spec":[1]}`, `{"spec":[2]}`},
			"a list over an object":                                        {`{}`, `{"spec":[]}`, `{"spec":{}}`},
			"a list over another list, declared as a scalar":               {`{}`, `{"spec":{"nodeName":[1]}}`, `{"spec":{"nodeName":[2]}}`},
			"an equal list, declared as a scalar":                          {`{}`, `{"spec":{"nodeName":[]}}`, `{"spec":{"nodeName":[]}}`},
			"an equal object, declared as a scalar":                        {`{}`, `{"spec":{"nodeName":{"a":1}}}`, `{"spec":{"nodeName":{ "a":1}}}`},
			"an object, declared as a scalar":                              {`{}`, `{"spec":{"nodeName":{"a":1}}}`, `{"spec":{}}`},
			"an object over a string":                                      {`{}`, `{"metadata":{"labels":{"a":{"x":1}}}}`, `{"metadata":{"labels":{"a":"x"}}}`},
			"an object over another object, declared as a string of a map": {`{}`, `{"metadata":{"labels":{"a":{"x":1}}}}`, `{"metadata":{"labels":{"a":{"x":2}}}}`},
			"a number over an object":                                      {`{}`, `{"spec":3}`, `{"spec":{"a":1}}`},
			"a number, declared as an object":                              {`{}`, `{"spec":3}`, `{}`},
			"an equal number, declared as a list":                          {`{}`, `{"spec":{"containers":3}}`, `{"spec":{"containers":3}}`},
			"an equal object, declared as a list":                          {`{}`, `{"spec":{"containers":{}}}`, `{"spec":{"containers":{ }}}`},
			"a list over an object, declared as a list":                    {`{}`, `{"spec":{"containers":[{"name":"a"}]}}`, `{"spec":{"containers":{}}}`},
			"a list over a string, declared as a list":                     {`{}`, `{"spec":{"containers":[{"name":"a"}]}}`, `{"spec":{"containers":"x"}}`},
			"an object in the base, declared as a list":                    {`{"spec":{"containers":{"a":1}}}`, `{"spec":{"containers":[{"name":"a"}]}}`, `{"spec":{"containers":[{"name":"b"}]}}`},
			"an object in a set":                                           {`{}`, `{"metadata":{"finalizers":[{"a":1}]}}`, `{"metadata":{"finalizers":["a"]}}`},
			"an object in an equal set":                                    {`{}`, `{"metadata":{"finalizers":[{"a":1}]}}`, `{"metadata":{"finalizers":[{"a":1}]}}`},
			"strings in a keyed list":                                      {`{}`, `{"spec":{"containers":["a"]}}`, `{"spec":{"containers":["b"]}}`},
			"a string over an object in a keyed list":                      {`{}`, `{"spec":{"containers":["a"]}}`, `{"spec":{"containers":[{"name":"b"}]}}`},
			"lists in a list":                                              {`{}`, `{"spec":{"containers":[[]]}}`, `{"spec":{"containers":[[]]}}`},
			"numbers in a set":                                             {`{}`, `{"metadata":{"finalizers":[1,2]}}`, `{"metadata":{"finalizers":[3]}}`},
			"scalars of two kinds in a set":                                {``, `{"metadata":{"finalizers":["a"]}}`, `{"metadata":{"finalizers":[1]}}`},
			"scalars of two kinds in a set of the manifest":                {``, `{"metadata":{"finalizers":["a",1]}}`, `{"metadata":{"finalizers":["a"]}}`},
			"scalars of two kinds in an equal set":                         {``, `{"metadata":{"finalizers":["a",1]}}`, `{"metadata":{"finalizers":["a",1]}}`},
			"scalars of another kind in the base of a set":                 {`{"metadata":{"finalizers":[1]}}`, `{"metadata":{"finalizers":["a"]}}`, `{"metadata":{"finalizers":["b"]}}`},
			"booleans in a set":                                            {``, `{"metadata":{"finalizers":[true,false]}}`, `{"metadata":{"finalizers":[false]}}`},
		}},
		"a type with its own JSON encoding": {&holder{}, map[string]inputs{
			"in a field that is replaced":  {``, `{"replaced":{"a":1}}`, `{"replaced":{"a":1,"b":2}}`},
			"in a field that retains keys": {``, `{"retained":{"a":1}}`, `{"retained":{"a":1,"b":2}}`},
			"in a field that merges":       {``, `{"merged":{"a":1}}`, `{"merged":{"a":1,"b":2}}`},
		}},
		"directives in the base": {&corev1.Pod{}, map[string]inputs{
			"of an object":                          {`{"spec":{"securityContext":{"$patch":"replace"}}}`, `{"spec":{"securityContext":{"runAsUser":1}}}`, `{"spec":{"securityContext":{"runAsUser":2}}}`},
			"of an object that does not change":     {`{"spec":{"securityContext":{"$patch":"x"}}}`, `{"spec":{"securityContext":{"runAsUser":1}}}`, `{"spec":{"securityContext":{"runAsUser":1}}}`},
			"of an object that live lacks":          {`{"spec":{"securityContext":{"$patch":"replace"}}}`, `{"spec":{"securityContext":{"runAsUser":1}}}`, `{"spec":{}}`},
			"of an object that the manifest drops":  {`{"spec":{"securityContext":{"$patch":"x"}}}`, `{"spec":{}}`, `{"spec":{"securityContext":{"runAsUser":1}}}`},
			"of an element":                         {`{"spec":{"containers":[{"name":"a","$patch":"delete"}]}}`, `{"spec":{"containers":[{"name":"a"}]}}`, `{"spec":{"containers":[{"name":"a"}]}}`},
			"of a list":                             {`{"spec":{"containers":[{"name":"a"},{"$patch":"replace"}]}}`, `{"spec":{"containers":[{"name":"a"}]}}`, `{"spec":{"containers":[{"name":"a"}]}}`},
			"of an element that the manifest drops": {`{"spec":{"containers":[{"name":"a"},{"name":"b","$patch":"replace"}]}}`, `{"spec":{"containers":[{"name":"a"}]}}`, `{"spec":{"containers":[{"name":"a"}]}}`},
			"retainKeys":                            {`{"spec":{"$retainKeys":["a"]}}`, `{"spec":{"securityContext":{"runAsUser":1}}}`, `{"spec":{"securityContext":{"runAsUser":2}}}`},
			"retainKeys of a union":                 {`{"spec":{"volumes":[{"name":"v","emptyDir":{},"$retainKeys":["name","emptyDir"]}]}}`, `{"spec":{"volumes":[{"name":"v","emptyDir":{}}]}}`, `{"spec":{"volumes":[{"name":"v","emptyDir":{}}]}}`},
			"retainKeys of a union, with another member in the manifest": {`{"spec":{"volumes":[{"name":"v","emptyDir":{},"$retainKeys":["name","emptyDir"]}]}}`, `{"spec":{"volumes":[{"name":"v","hostPath":{"path":"/"}}]}}`, `{"spec":{"volumes":[{"name":"v","emptyDir":{}}]}}`},
			"retainKeys of a union, with another member in live":         {`{"spec":{"volumes":[{"name":"v","emptyDir":{},"$retainKeys":["name","emptyDir"]}]}}`, `{"spec":{"volumes":[{"name":"v","emptyDir":{}}]}}`, `{"spec":{"volumes":[{"name":"v","hostPath":{"path":"/"}}]}}`},
			"retainKeys of a union, with a null in live":                 {`{"spec":{"volumes":[{"name":"v","emptyDir":{},"$retainKeys":["name","emptyDir"]}]}}`, `{"spec":{"volumes":[{"name":"v","emptyDir":{}}]}}`, `{"spec":{"volumes":[{"name":"v","emptyDir":{},"hostPath":null}]}}`},
			"retainKeys of a union, and another directive":               {`{"spec":{"volumes":[{"name":"v","emptyDir":{},"$retainKeys":["name","emptyDir"],"$patch":"replace"}]}}`, `{"spec":{"volumes":[{"name":"v","emptyDir":{}}]}}`, `{"spec":{"volumes":[{"name":"v","emptyDir":{}}]}}`},
			"retainKeys of a union among equal lists":                    {`{"spec":{"volumes":[{"name":"v","emptyDir":{},"$retainKeys":["name","emptyDir"]},{"name":"w"}]}}`, `{"spec":{"volumes":[{"name":"v","emptyDir":{}}]}}`, `{"spec":{"volumes":[{"name":"v","emptyDir":{}}]}}`},
			"an order": {`{"spec":{"$setElementOrder/containers":[{"name":"a"}]}}`, `{"spec":{"securityContext":{"runAsUser":1}}}`, `{"spec":{"securityContext":{"runAsUser":2}}}`},
		}},
		"directives in live": {&corev1.Pod{}, map[string]inputs{
			"of an object":  {`{}`, `{"spec":{"securityContext":{"runAsUser":1}}}`, `{"spec":{"securityContext":{"$patch":"replace","runAsUser":2}}}`},
			"of an element": {`{}`, `{"spec":{"containers":[{"name":"a","image":"x"}]}}`, `{"spec":{"containers":[{"name":"a","$patch":"delete"}]}}`},
			"an order":      {`{}`, `{"spec":{"containers":[{"name":"a","image":"x"}]}}`, `{"spec":{"$setElementOrder/containers":[{"name":"z"}],"containers":[{"name":"a"},{"name":"b"}]}}`},
			"retainKeys":    {`{}`, `{"spec":{"volumes":[{"name":"a","emptyDir":{}}]}}`, `{"spec":{"volumes":[{"name":"a","$retainKeys":["name"]}]}}`},
		}},
	} {
		for sub, in := range c.cases {
			t.Run(name+"/"+sub, func(t *testing.T) {
				want, wantErr := upstreamStrategic(orEmpty(in.base), orEmpty(in.manifest), orEmpty(in.live), c.typed)
				agrees(t, types.Of(c.typed), in, want, wantErr)
			})
		}
	}
}

// holder has fields of a type with its own JSON encoding.
type holder struct {
	Replaced ownJSON `json:"replaced" patchStrategy:"replace"`
	Retained ownJSON `json:"retained" patchStrategy:"retainKeys"`
	Merged   ownJSON `json:"merged"`
}

type ownJSON struct {
	A int `json:"a"`
	B int `json:"b"`
}

// MarshalJSON implements json.Marshaler.
func (ownJSON) MarshalJSON() ([]byte, error) { return []byte(`{}`), nil }

// agrees merges, and compares with upstream's result. Merge must fail if upstream fails.
func agrees(t *testing.T, place schema.Schema, in inputs, want []byte, wantErr error) {
	t.Helper()
	base, manifest, live := orEmpty(in.base), orEmpty(in.manifest), orEmpty(in.live)
	got, err := threeway.Merge(base, manifest, live, place, threeway.Options{})
	switch {
	case wantErr != nil && err != nil:
		if input := (*threeway.InputError)(nil); !errors.As(err, &input) {
			t.Errorf("the error is no InputError: %v", err)
		}
	case wantErr != nil || err != nil:
		t.Errorf("error %v, upstream's %v\nresult %s, upstream's %s\n%+v", err, wantErr, got, want, in)
	default:
		if diff := jsontest.Diff(t, string(want), string(got)); diff != "" {
			t.Errorf("(-upstream +merge):\n%s\n%+v", diff, in)
		}
	}
}

func orEmpty(text string) []byte {
	if text == "" {
		return []byte(`{}`)
	}
	return []byte(text)
}

// TestMergeEqualsJSONMergePatch does the same for custom resources.
func TestMergeEqualsJSONMergePatch(t *testing.T) {
	for name, in := range map[string]inputs{
		"a null that live's list lacks is not a change":        {``, `{"list":[{"a":1,"b":null}]}`, `{"list":[{"a":1}]}`},
		"a null that live's nested list lacks is not a change": {``, `{"list":[{"a":[{"b":null}]}]}`, `{"list":[{"a":[{}]}]}`},
		"a new object of a null that the base has":             {`{"a":{"x":null}}`, `{"a":{"x":null}}`, `{}`},
		"a new object of a null that the base lacks":           {`{"a":{}}`, `{"a":{"x":null}}`, `{}`},
		"a new object of a null, where the base has a value":   {`{"a":{"x":1}}`, `{"a":{"x":null}}`, `{}`},
		"a new object of a null, where the base has more":      {`{"a":{"y":1,"x":null}}`, `{"a":{"x":null}}`, `{}`},
		"a new object of a null, where the base has a scalar":  {`{"a":1}`, `{"a":{"x":null}}`, `{}`},
		"a new object of a null, where the base has a list":    {`{"a":[1]}`, `{"a":{"x":null}}`, `{}`},
		"a new object of nulls, of which the base has one":     {`{"a":{"x":null}}`, `{"a":{"x":null,"y":null}}`, `{}`},
		"a directive is an ordinary field":                     {``, `{"spec":{"$patch":"delete","a":1}}`, `{"spec":{"b":1}}`},
		"a directive is an ordinary field in a new object":     {``, `{"spec":{"$retainKeys":["a"],"a":1}}`, `{}`},
		"a directive that the manifest drops is removed":       {`{"spec":{"$patch":"delete"}}`, `{"spec":{"a":1}}`, `{"spec":{"$patch":"delete"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			want, err := upstreamMergePatch(orEmpty(in.base), orEmpty(in.manifest), orEmpty(in.live))
			agrees(t, schema.JSONMergePatch(), in, want, err)
			agrees(t, nil, in, want, err)
			var changes []threeway.Change
			_, err = threeway.Merge(orEmpty(in.base), orEmpty(in.manifest), orEmpty(in.live), nil, threeway.Options{Report: func(c threeway.Change) { changes = append(changes, c) }})
			expect.NoError(t, err)
			if (jsontest.Diff(t, in.live, string(want)) == "") != (len(changes) == 0) {
				t.Errorf("the changes are %v, upstream's result %s", changes, want)
			}
		})
	}
}

// TestMergeRejectsDirectivesInTheManifest tests directives at any place, whatever live has there.
func TestMergeRejectsDirectivesInTheManifest(t *testing.T) {
	var types schema.Types
	place := types.Of(&corev1.Pod{})
	for name, c := range map[string]struct {
		manifest, want string
		lives          []string
	}{
		"an element that deletes itself": {
			`{"spec":{"containers":[{"name":"a"},{"name":"b","$patch":"delete"}]}}`, `manifest: .spec.containers[1]: ` + directive + `: $patch`,
			[]string{`{"spec":{"containers":[{"name":"a"}]}}`, `{"spec":{"containers":[{"name":"a"},{"name":"b"}]}}`, `{"spec":{}}`, `{}`},
		},
		"an object that replaces": {
			`{"spec":{"securityContext":{"$patch":"replace","runAsUser":1}}}`, `manifest: .spec.securityContext: ` + directive + `: $patch`,
			[]string{
				`{"spec":{"securityContext":{"$patch":"replace","runAsUser":1}}}`, `{"spec":{"securityContext":{"$patch": "replace","runAsUser":1}}}`,
				`{"spec":{"securityContext":{}}}`, `{"spec":{"securityContext":null}}`, `{"spec":{}}`, `{}`,
			},
		},
		"a list that replaces": {
			`{"spec":{"containers":[{"$patch":"replace"},{"name":"a"}]}}`, `manifest: .spec.containers[0]: ` + directive + `: $patch`,
			[]string{`{"spec":{"containers":[{"name":"a"}]}}`, `{"spec":{"containers":[]}}`, `{"spec":{}}`, `{}`},
		},
		"a union's keys": {
			`{"spec":{"volumes":[{"name":"v","$retainKeys":["name"]}]}}`, `manifest: .spec.volumes[0]: ` + directive + `: $retainKeys`,
			[]string{`{"spec":{"volumes":[{"name":"v"}]}}`, `{"spec":{"volumes":[]}}`, `{}`},
		},
		"an element of a list that is replaced": {
			`{"spec":{"tolerations":[{"key":"v","$patch":"delete"}]}}`, `manifest: .spec.tolerations[0]: ` + directive + `: $patch`,
			[]string{`{"spec":{"tolerations":[{"key":"v"}]}}`, `{"spec":{}}`},
		},
		"an order": {
			`{"spec":{"$setElementOrder/containers":[{"name":"a"}]}}`, `manifest: .spec: ` + directive + `: $setElementOrder/containers`,
			[]string{`{"spec":{}}`, `{}`},
		},
		"a deletion from a set": {
			`{"metadata":{"$deleteFromPrimitiveList/finalizers":["a"]}}`, `manifest: .metadata: ` + directive + `: $deleteFromPrimitiveList/finalizers`,
			[]string{`{"metadata":{}}`, `{}`},
		},
		"written with an escape": {
			`{"spec":{"\u0024patch":"replace"}}`, `manifest: .spec: ` + directive + `: $patch`, []string{`{"spec":{}}`, `{}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, live := range c.lives {
				_, err := threeway.Merge([]byte(c.manifest), []byte(c.manifest), []byte(live), place, threeway.Options{})
				if !errors.Is(err, threeway.ErrDirective) || err.Error() != c.want {
					t.Errorf("over %s: error %v, want %s", live, err, c.want)
				}
			}
		})
	}
}

const directive = "the field is a patch directive, not part of an object"
