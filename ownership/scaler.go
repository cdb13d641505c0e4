package ownership

import "slices"

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

// ScalerThatOwns returns the name of the scaler that owns the scale field of live, "" if none does. base is the field's value in the base
// as JSON, nil if it has none. If 0 replicas switch the scaler off, and an applier manages them or the base sets them, the manifest owns
// them, and can switch it on again. A write of 0 through /scale, as of kubectl scale, removes the field from the entries of appliers.
func (w Write) ScalerThatOwns(base []byte) string {
	isApplied := func(e Entry) bool { return w.Managers.IsApplier(e) && e.Contains(w.ScaleIn(e, w.Scale)) }
	if w.isOff(w.Scale, w.Live.Value(w.Scale)) && (string(base) == "0" || slices.ContainsFunc(w.LiveEntries, isApplied)) {
		return ""
	}
	return w.Scaler.Name
}
