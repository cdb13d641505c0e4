package ownership

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Scaler is what is known about the scalers that reference an object. The zero Scaler means that none does.
type Scaler struct {
	// Name names the scaler that owns the scale field, as "HorizontalPodAutoscaler/web" or "ScaledObject/web"; empty if there is
	// none.
	Name string
	// Desired is the number of replicas that it wants, 0 if that is not known.
	Desired int64
	// OffAtZero reports whether 0 replicas switch it off, as a HorizontalPodAutoscaler that has not scaled to 0: someone else has
	// set them. Other scalers set 0 themselves.
	OffAtZero bool
	// Readable are the managers of Managers.Autoscalers whose scalers can be read. As none of those references the object, it is
	// no longer theirs.
	Readable []string
}

// Owner returns the name of the scaler that owns the scale field of a live object, "" if none does. base is the field's value in the base
// as JSON, nil if it has none. If 0 replicas switch the scaler off, and an applier manages them or the base sets them, the manifest owns
// them, and can switch it on again. A write of 0 through /scale, as of kubectl scale, removes the field from the entries of appliers.
func (s Scaler) Owner(scale fieldpath.Path, live Object, base []byte, entries []Entry, managers Managers) string {
	isApplied := func(e Entry) bool {
		path := scale
		if managers.Scale != nil {
			path = managers.Scale(e.APIVersion)
		}
		return managers.IsApplier(e) && e.Contains(path)
	}
	if s.OffAtZero && string(live.Value(scale)) == "0" && (string(base) == "0" || slices.ContainsFunc(entries, isApplied)) {
		return ""
	}
	return s.Name
}
