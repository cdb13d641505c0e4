package clients_test

// exception is a result that differs from what its scenario promises.
type exception struct {
	// with is the result with handoff.
	with string
	// note is the number of the note on the page that explains it.
	note int
}

// The notes of the page.
const (
	noteConflict = 1 + iota
	noteConflictAfterDeletion
	noteNoManifest
	noteReplaced
	noteNoApply
	noteTakeover
)

// exceptions returns the results that differ from the promise of their scenario.
func exceptions() map[key]exception {
	all := map[key]exception{}
	for _, column := range []string{"unchanged", "other field", "new value", "adoption", "rollback", "five times"} {
		all[key{"Helm 4, as it comes", column}] = exception{"conflict", noteConflict}
	}
	all[key{"Helm 4, as it comes", "hand-back"}] = exception{"conflict", noteConflictAfterDeletion}
	for _, row := range []string{
		"Helm 3", "Helm 3, `--force`", "Helm 3's library", "Helm 4, `--server-side=false`",
		"Helm 4, `--server-side=false --force-replace`", "Helm 4 after Helm 3", "Argo CD, `Replace=true`",
	} {
		all[key{row, "removal, not scaled"}] = exception{"1", noteNoManifest}
	}
	all[key{"Helm 4 after Helm 3", "adoption"}] = exception{"conflict", noteConflict}
	for _, row := range []string{"Helm 3, `--force`", "Helm 4, `--server-side=false --force-replace`"} {
		all[key{row, "five times"}] = exception{"5 writes", noteReplaced}
	}
	all[key{"Helm 4 after Helm 3, `--server-side=true --force-conflicts`", "five times"}] = exception{"1 writes", noteTakeover}
	for column, count := range map[string]string{"unchanged": "3", "other field": "3", "new value": "4", "adoption": "3", "rollback": "3"} {
		all[key{"Ansible, without `apply`", column}] = exception{count, noteNoApply}
	}
	all[key{"Argo CD, `Replace=true`", "five times"}] = exception{"5 writes", noteReplaced}
	return all
}
