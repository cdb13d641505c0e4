package webhook_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/webhook"
)

// secret stands in every place of the objects below that is not for the log.
const secret = "hunter2"

// secretive puts the secret into annotations, into the environment, and into the manifest that is recorded.
func secretive(d deployment) deployment {
	d.env = "password=" + secret
	manifest := d.annotations[lastApplied]
	d = d.with("example.com/token", secret).with(secret, "as a name")
	return d.with(lastApplied, strings.Replace(manifest, `"template":{}`,
		`"template":{"env":[{"name":"E","value":"`+secret+`"}],"`+secret+`":{}}`, 1))
}

// panicking is a cluster that panics with what it has seen.
type panicking struct{ *fakeCluster }

func (panicking) Scaler(string, string, string, string) ownership.Scaler {
	panic(fmt.Errorf("cannot make sense of %s", secret))
}

func TestObjectContentIsNeverLogged(t *testing.T) {
	live, incoming := secretive(scaledBy7()), secretive(applied3())
	good := update(csa, live, incoming)
	applies := func(manifest string) request { return update(csa, live, incoming.with(lastApplied, manifest)) }
	object := func(text string) request { return changed(good, func(r *request) { r.object = text }) }
	entries := func(text string) request {
		d := incoming
		d.managedFields = text
		return update(csa, live, d)
	}
	counts := func(by string, of deployment, replicas string) request {
		of.replicas = replicas
		return update(by, live, of)
	}
	warn := &fakeCluster{modes: map[string]string{"shop": "warn"}, autoscaler: "HorizontalPodAutoscaler/web"}
	for sentence, c := range map[string]struct {
		cluster webhook.Cluster
		body    string
	}{
		"it was patched":                    {enforced(), good.body()},
		"it would have been patched":        {warn, good.body()},
		"a person was warned":               {enforced(), update("kubectl-patch", live, secretive(patched1())).body()},
		"the mode is unknown":               {enforced(), update(csa, live, incoming.inMode("enforced")).body()},
		"the manifest is no JSON":           {enforced(), applies(`{"a":"` + secret).body()},
		"the manifest is the secret":        {enforced(), applies(secret).body()},
		"the manifest repeats a name":       {enforced(), applies(`{"` + secret + `":1,"` + secret + `":2}`).body()},
		"the manifest breaks when nested":   {enforced(), applies(`{"` + secret + `":{"` + secret + `":[tru]}}`).body()},
		"the manifest breaks in a string":   {enforced(), applies(`{"a":"` + secret + `\x"}`).body()},
		"the manifest is a list":            {enforced(), applies(`["` + secret + `"]`).body()},
		"the object is a string":            {enforced(), object(`"` + secret + `"`).body()},
		"the object repeats a name":         {enforced(), object(`{"` + secret + `":1,"` + secret + `":2}`).body()},
		"the object breaks under a name":    {enforced(), object(`{"` + secret + `":{"a":tru}}`).body()},
		"the object is not ended":           {enforced(), good.body()[:strings.Index(good.body(), secret)+len(secret)]},
		"the object has half a character":   {enforced(), object(`{"` + secret + `":"` + secret + `\ud800"}`).body()},
		"the object is nested deeply":       {enforced(), object(deep(`{"`+secret+`":`, "}")).body()},
		"the review is too large":           {enforced(), object(`{"` + secret + `":"` + strings.Repeat(secret, 1<<20) + `"}`).body()},
		"managedFields are a string":        {enforced(), entries(`"` + secret + `"`).body()},
		"managedFields have a broken entry": {enforced(), entries(`[{"manager":"a","` + secret + `":1,"fieldsV1":"` + secret + `"}]`).body()},
		"managedFields have a broken set": {
			enforced(), entries("[" + entry(csa, "Update", late, `{"f:spec":{"f:replicas":{}},"k:`+secret+`":{}}`, "") + "]").body(),
		},
		"managedFields have a set of a broken value": {
			enforced(), entries("[" + entry(csa, "Update", late, `{"f:spec":{"f:replicas":{}},"f:`+secret+`":"`+secret+`"}`, "") + "]").body(),
		},
		"replicas are the secret":             {enforced(), counts(csa, incoming, `"`+secret+`"`).body()},
		"a person makes replicas the secret":  {enforced(), counts("kubectl-patch", secretive(patched1()), `"`+secret+`"`).body()},
		"a person's replicas hold the secret": {enforced(), counts("kubectl-patch", secretive(patched1()), `{"`+secret+`":1}`).body()},
		"the cluster is not ready":            {&fakeCluster{notReady: true}, good.body()},
		"the cluster panics with a text":      {&fakeCluster{panics: secret}, good.body()},
		"the cluster panics with an error":    {panicking{enforced()}, good.body()},
		"the cluster panics with an object":   {&fakeCluster{panics: map[string]error{secret: errors.New(secret)}}, good.body()},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := newServer(t, c.cluster)
			response := s.answer(t, c.body)
			logged := s.logged()
			if logged == "" {
				t.Error("something is to be logged")
			}
			if strings.Contains(logged, secret) {
				t.Errorf("the log has the secret:\n%.2000s", logged)
			}
			for _, said := range append(s.notes(), response.Warnings...) {
				if strings.Contains(said, secret) {
					t.Errorf("it was said aloud: %s", said)
				}
			}
			for name, said := range response.AuditAnnotations {
				if strings.Contains(said, secret) {
					t.Errorf("the audit log has it: %s: %s", name, said)
				}
			}
		})
	}
}

func (s *server) notes() []string {
	notes := make([]string, len(s.events))
	for i, e := range s.events {
		notes[i] = e.Note
	}
	return notes
}
