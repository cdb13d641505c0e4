package twoway_test

import (
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/twoway"
)

// Only the schema of a CustomResourceDefinition has defaults of keys.
func TestAKeyWithADefaultMayBeAbsent(t *testing.T) {
	place, err := schema.OpenAPI([]byte(`{"type":"object","properties":{"ports":{"type":"array","x-kubernetes-list-type":"map",
		"x-kubernetes-list-map-keys":["protocol","port"],"items":{"type":"object","properties":{
		"port":{"type":"integer"},"protocol":{"type":"string","default":"TCP"}}}}}}`))
	expect.NoError(t, err)
	for sentence, c := range map[string]struct{ manifest, live, want string }{
		"in the manifest": {
			`{"ports":[{"port":53,"name":"dns"}]}`, `{"ports":[{"port":53,"protocol":"UDP"},{"port":53,"protocol":"TCP"}]}`,
			`{"ports":[{"port":53,"protocol":"UDP"},{"port":53,"protocol":"TCP","name":"dns"}]}`,
		},
		"in live": {
			`{"ports":[{"port":53,"protocol":"TCP"},{"port":53,"protocol":"UDP"}]}`, `{"ports":[{"port":53}]}`,
			`{"ports":[{"port":53,"protocol":"TCP"},{"port":53,"protocol":"UDP"}]}`,
		},
		"in the manifest, for the first of two that agree": {
			`{"ports":[{"protocol":"TCP","name":"a"}]}`, `{"ports":[{"port":52,"protocol":"UDP"},{"port":53,"protocol":"TCP"},{"port":54,"protocol":"TCP"}]}`,
			`{"ports":[{"port":52,"protocol":"UDP"},{"port":53,"protocol":"TCP","name":"a"},{"port":54,"protocol":"TCP"}]}`,
		},
		"in the manifest, for the first of all": {
			`{"ports":[{"protocol":"TCP","name":"a"},{"protocol":"UDP","port":1}]}`, `{"ports":[{"port":53,"protocol":"TCP"},{"port":54,"protocol":"TCP"}]}`,
			`{"ports":[{"port":53,"protocol":"TCP","name":"a"},{"port":54,"protocol":"TCP"},{"protocol":"UDP","port":1}]}`,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := twoway.Merge([]byte(c.manifest), []byte(c.live), place, twoway.Options{})
			expect.NoError(t, err)
			expect.Equal(t, "result", c.want, string(got))
		})
	}
	_, err = twoway.Merge([]byte(`{"ports":[{"port":53,"$patch":"other"}]}`), []byte(`{}`), place, twoway.Options{})
	const want = `manifest: .ports[port=53,protocol="TCP"]: the directive is not merge, replace or delete: $patch is other`
	if err == nil || err.Error() != want {
		t.Errorf("want %s, got %v", want, err)
	}
}
