// Package ledger predicts what a write leaves in an object, with and without handoff, from a history of who has set what. It is
// docs/decisions.md in a few lines, for tests, and shares no code with the product.
//
// An Object is a value: its methods return new ones, so that it can be used concurrently. It keeps the books of one object:
//
//	o := ledger.New(ledger.Kind{Name: "Deployment", Scale: ".spec.replicas", Defaults: ledger.Values{".spec.replicas": int64(1)}})
//	o.Mode = "enforce"
//	o, decided, err := o.After(ledger.Write{Verb: ledger.Apply, By: "kubectl-client-side-apply", Sets: ledger.Values{".spec.replicas": int64(3)}})
//	o.Scaler = ledger.Scaler{Name: "HorizontalPodAutoscaler/web"}
//	o, decided, err = o.After(ledger.Write{Verb: ledger.Scale, By: "kube-controller-manager", Sets: ledger.Values{".spec.replicas": int64(7)}})
//
// Fields are leaves, named by their paths as the API server prints them (fieldpath.Path.String). LeavesOf returns those of an object or a
// manifest; identity and last-applied are not among them. Lists without keys and atomic maps are leaves.
//
// Mode, Scaler and Rules are the surroundings of the object, which the caller changes at any time. After is a pure function: if the API server
// refuses a write, keep the old Object. The error is ErrConflict if the API server refuses a server-side apply.
//
// Value, Managers and LastApplied say what is stored. Read returns the same of a real object, and Diff compares both. A field of which
// docs/decisions.md does not say what happens is decided as Unknown: Diff ignores it until Learn has taken it from a stored object. Learn
// also takes over what no write of the ledger has made, such as defaults.
//
// The ledger does not model validation, conversion, and what the API server derives from other fields. Its callers use kinds and values that
// need none of it, or compare with a twin without handoff (Without).
package ledger
