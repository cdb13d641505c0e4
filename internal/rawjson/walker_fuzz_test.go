package rawjson_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ownership-handoff/handoff/internal/rawjson"
)

// FuzzWalker compares a Walker that enters every object and every list with jsontext.
func FuzzWalker(f *testing.F) {
	for _, seed := range []string{
		`{"a":{"b":[1,{}],"c":""},"b":[[],{"x":null}]}`, " [ 1 , { \"a\" : 2 } ] ", `{"a":1,"a":2}`, `{"b":{},"a":{},"b":[]}`, `[1,]`, `{"a":1,}`,
		`{"\u0061":1,"a":2}`, `{"a" 1}`, `{"a":1 "b":2}`, `[1 2]`, `[}`, `{]`, `{"a":[}`, `{"a":`, `{} x`, ``, `{,"a":1}`, `[,1]`, `{"k:{\"name\":\"a\"}":{}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		want := jsontext.Value(text).IsValid()
		for name, w := range map[string]*rawjson.Walker{"walk": rawjson.Walk(text), "walk again": walkedBefore(text)} {
			err := enterAll(w)
			if err == nil {
				err = w.End()
			}
			if (err == nil) != want {
				t.Fatalf("%s: %q: valid is %t to jsontext, got error %v", name, text, want, err)
			}
		}
		if w := rawjson.WalkChecked(text); want {
			if err := enterAll(w); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
		}
	})
}

// walkedBefore returns a Walker that has read another text before, and failed.
func walkedBefore(text []byte) *rawjson.Walker {
	w := rawjson.Walk([]byte(`{"a":{"z":1,"b":[{"a":1,`))
	_ = enterAll(w)
	w.Reset(text, 0)
	return w
}

func enterAll(w *rawjson.Walker) (err error) {
	switch w.Kind() {
	case '{':
		_, err = w.Object(func([]byte) error { return enterAll(w) })
	case '[':
		_, err = w.List(func() error { return enterAll(w) })
	default:
		_, err = w.Value()
	}
	return err
}
