package ownership_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

// read is all that is read of an object.
type read struct {
	Present                                                     bool
	UID, Mode, Annotation, ControllerFields, LastApplied        string
	HasMode, HasAnnotation, HasControllerFields, HasLastApplied bool
	ManagedFields, Replicas, WholeSpec, ThroughReplica          string
}

func readOf(o ownership.Object) read {
	r := read{
		Present: o.Present(), UID: o.UID(), ManagedFields: string(o.ManagedFields()),
		Replicas: string(o.Value(replicas)), WholeSpec: string(o.Value(fieldpath.MakePathOrDie("spec"))),
		ThroughReplica: string(o.Value(fieldpath.MakePathOrDie("spec", "replicas", "under"))),
	}
	r.Mode, r.HasMode = o.ModeLabel()
	r.Annotation, r.HasAnnotation = o.ModeAnnotation()
	r.ControllerFields, r.HasControllerFields = o.ControllerFields()
	r.LastApplied, r.HasLastApplied = o.LastApplied()
	return r
}

func TestParseObject(t *testing.T) {
	for sentence, c := range map[string]struct {
		text string
		want read
	}{
		"null is no object":                   {"null", read{}},
		"an empty object":                     {"{}", read{Present: true}},
		"metadata that is null":               {`{"metadata":null,"spec":{}}`, read{Present: true, WholeSpec: "{}"}},
		"metadata that is a list":             {`{"metadata":[{"uid":"a"}]}`, read{Present: true}},
		"metadata that is a string":           {`{"metadata":"uid"}`, read{Present: true}},
		"annotations that are null":           {`{"metadata":{"annotations":null,"uid":"a"}}`, read{Present: true, UID: "a"}},
		"annotations that are a list":         {`{"metadata":{"annotations":["ownership-handoff.io/mode"]}}`, read{Present: true}},
		"an annotation that is a number":      {`{"metadata":{"annotations":{"ownership-handoff.io/mode":1}}}`, read{Present: true}},
		"an annotation that is an object":     {`{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":{}}}}`, read{Present: true}},
		"an annotation that is null":          {`{"metadata":{"annotations":{"ownership-handoff.io/controller-fields":null}}}`, read{Present: true}},
		"a uid that is a number":              {`{"metadata":{"uid":1}}`, read{Present: true}},
		"an empty annotation is there":        {`{"metadata":{"annotations":{"ownership-handoff.io/mode":""}}}`, read{Present: true, HasAnnotation: true}},
		"labels that are null":                {`{"metadata":{"labels":null,"uid":"a"}}`, read{Present: true, UID: "a"}},
		"labels that are a list":              {`{"metadata":{"labels":["ownership-handoff.io/mode"]}}`, read{Present: true}},
		"a label that is a number":            {`{"metadata":{"labels":{"ownership-handoff.io/mode":1}}}`, read{Present: true}},
		"an empty label is there":             {`{"metadata":{"labels":{"a":"b","ownership-handoff.io/mode":""}}}`, read{Present: true, HasMode: true}},
		"labels elsewhere are not read":       {`{"labels":{"ownership-handoff.io/mode":"off"},"metadata":{"labels":{"a":{"ownership-handoff.io/mode":"off"}}}}`, read{Present: true}},
		"annotations elsewhere are not read":  {`{"annotations":{"ownership-handoff.io/mode":"enforce"},"spec":{"metadata":{"uid":"a"}}}`, read{Present: true, WholeSpec: `{"metadata":{"uid":"a"}}`}},
		"managedFields are text, whatever":    {`{"metadata":{"managedFields":"no list"}}`, read{Present: true, ManagedFields: `"no list"`}},
		"a field that is null has a value":    {`{"spec":{"replicas":null}}`, read{Present: true, Replicas: "null", WholeSpec: `{"replicas":null}`}},
		"a spec that is a list has no fields": {`{"spec":["replicas"]}`, read{Present: true, WholeSpec: `["replicas"]`}},
		"everything, with white space and escapes": {
			"\n{ \"metadata\" : { \"uid\":\"u\", \"managedFields\" : [ {} ] ,\"annotations\":{" +
				`"kubectl.kubernetes.io/last-\u0061pplied-configuration" : "{\"a\":1}","ownership-handoff.io/mode":"warn",` +
				`"ownership-handoff.io/controller-fields":".spec.replicas","other":"x"},` +
				`"labels" : {"a":"b", "ownership-handoff.io/m\u006fde" : "off" ,"c":"d"}},"spec":{"replicas": 3 }}` + "\n",
			read{
				Present: true, UID: "u", Mode: "off", HasMode: true, Annotation: "warn", HasAnnotation: true, ControllerFields: ".spec.replicas", HasControllerFields: true,
				LastApplied: `{"a":1}`, HasLastApplied: true, ManagedFields: "[ {} ]", Replicas: "3", WholeSpec: `{"replicas": 3 }`,
			},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, readOf(object(t, c.text))); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
		})
	}
}
