package clients_test

// exception is a result that differs from what its scenario promises.
type exception struct {
	// with is the result with handoff.
	with string
	// note is the name of the note that explains it.
	note string
}

// note explains exceptions in the page.
type note struct{ name, text string }

// notes returns the notes of the page, in order.
func notes() []note {
	return []note{
		{"conflict", "Helm 4 applies server-side and without force. The API server then reports a conflict with the autoscaler " +
			"before it calls any webhook, with and without handoff. There are [two remedies](gitops.md#helm)."},
		{"conflict after deletion", "The conflict remains after the autoscaler is deleted, with and without handoff, because the " +
			"entry of the HPA controller remains in managedFields. `--force-conflicts` takes the field over, once."},
		{"no manifest", "A client-side upgrade of Helm and a sync of Argo CD with `Replace=true` record no manifest in the object. While " +
			"no scaler targets the workload, handoff cannot distinguish removing `replicas` from setting it to 1."},
		{"replaced", "The client replaces the whole object, which is a write for each apply, with and without handoff. The kept field " +
			"is not changed."},
		{"no apply", "Without `apply: true`, the module sends a patch that records no manifest, which handoff does not recognize as an " +
			"apply. There is [a remedy](gitops.md#ansible)."},
		{"takeover", "The first server-side upgrade takes over the fields that Helm 3 has set, and handoff changes nothing in such a write. The " +
			"second corrects the record of what [rules that depend on it](rules.md#what-the-manifest-set-last) need."},
	}
}

// exceptions returns the results that differ from the promise of their scenario.
func exceptions() map[key]exception {
	all := map[key]exception{}
	for _, column := range []string{"unchanged", "other field", "new value", "adoption", "rollback", "five times"} {
		all[key{"Helm 4, as it comes", column}] = exception{"conflict", "conflict"}
	}
	all[key{"Helm 4, as it comes", "hand-back"}] = exception{"conflict", "conflict after deletion"}
	for _, row := range []string{
		"Helm 3", "Helm 3, `--force`", "Helm 3's library", "Helm 4, `--server-side=false`",
		"Helm 4, `--server-side=false --force-replace`", "Helm 4 after Helm 3", "Argo CD, `Replace=true`",
	} {
		all[key{row, "removal, not scaled"}] = exception{"1", "no manifest"}
	}
	all[key{"Helm 4 after Helm 3", "adoption"}] = exception{"conflict", "conflict"}
	for _, row := range []string{"Helm 3, `--force`", "Helm 4, `--server-side=false --force-replace`"} {
		all[key{row, "five times"}] = exception{"5 writes", "replaced"}
	}
	all[key{"Helm 4 after Helm 3, `--server-side=true --force-conflicts`", "five times"}] = exception{"1 writes", "takeover"}
	for column, count := range map[string]string{"unchanged": "3", "other field": "3", "new value": "4", "adoption": "3", "rollback": "3"} {
		all[key{"Ansible, without `apply`", column}] = exception{count, "no apply"}
	}
	all[key{"Argo CD, `Replace=true`", "five times"}] = exception{"5 writes", "replaced"}
	return all
}
