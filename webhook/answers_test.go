package webhook_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
)

var (
	answersTo   = flag.String("answers", "", "the file to which TestAnswers writes one line for each review, to compare two builds")
	answersSeed = flag.Uint64("answers-seed", 0, "the seed of its first history")
	answersLast = flag.Uint64("answers-last", 100, "the seed of its last history")
)

// TestAnswers records the answers to generated and recorded reviews: the patched object, the warnings and the audit annotations. A
// change that must not change answers is verified by recording them before and after it, with the same seeds:
//
//	go test ./webhook -run '^TestAnswers$' -timeout 2h -args -answers=before.txt -answers-last=20000
func TestAnswers(t *testing.T) {
	if *answersTo == "" {
		t.Skip("records answers only with -answers")
	}
	to := &bytes.Buffer{}
	recordings := recorded(t)
	for _, name := range slices.Sorted(maps.Keys(recordings)) {
		s := newServer(t, enforcedEverywhere())
		fmt.Fprintln(to, name, answerLine(t, "", s.answer(t, string(recordings[name]))))
	}
	kinds := []objectKind{deploymentKind(t), configMapKind(t), widgetKind(t)}
	for seed := *answersSeed; seed < *answersLast; seed++ {
		for _, k := range kinds {
			writeAnswers(t, to, k, seed)
		}
	}
	if err := os.WriteFile(*answersTo, to.Bytes(), 0o600); err != nil {
		t.Error(err)
	}
}

// writeAnswers writes the answers to the reviews of one seed: a history of all fields, its dry run, and hostile ones.
func writeAnswers(t *testing.T, to *bytes.Buffer, k objectKind, seed uint64) {
	t.Helper()
	h := generateHistory(t, k, seeded(seed), true)
	s := h.asSent(t).server
	for _, dryRun := range []bool{false, true} {
		response := s.answer(t, h.body(h.live, h.incoming, h.writer.manager, dryRun))
		fmt.Fprintf(to, "%s %d all %t %s\n", k.gvk.Kind, seed, dryRun, answerLine(t, h.incoming, response))
	}
	if k.scale == nil {
		return
	}
	for i, want := range []outcome{kept, through} {
		x := generateHistory(t, k, seeded(seed<<1+uint64(i)), false).hostile(t, want)
		response, lost := x.send(t)
		if lost != "" {
			fmt.Fprintf(to, "%s %d hostile %d %s\n", k.gvk.Kind, seed, i, lost)
			continue
		}
		fmt.Fprintf(to, "%s %d hostile %d %s\n", k.gvk.Kind, seed, i, answerLine(t, x.incoming, response))
	}
}

// answerLine is an answer in one line: a digest of the patched object, the warnings and the audit annotations.
func answerLine(t *testing.T, incoming string, response *admissionv1.AdmissionResponse) string {
	t.Helper()
	patched := string(response.Patch)
	if incoming != "" && response.Patch != nil {
		if text, err := applyPatch(incoming, response.Patch); err == nil {
			patched = encode(unmarshal(t, text))
		}
	}
	digest := sha256.Sum256([]byte(patched))
	line := hex.EncodeToString(digest[:8]) + " " + fmt.Sprintf("%q", response.Warnings) + " " + encode(response.AuditAnnotations)
	return strings.ReplaceAll(line, "\n", " ")
}
