package webhook_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
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
	answersSeed = flag.Uint64("answers-seed", 0, "the seed of its first review")
	answersLast = flag.Uint64("answers-last", 100, "the seed after that of its last review")
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
	for _, sentence := range slices.Sorted(maps.Keys(dimensions())) {
		d := dimensions()[sentence]
		fmt.Fprintln(to, sentence, answerLine(t, "", d.server(t, d.from).answer(t, d.body(d.from))))
	}
	for seed := *answersSeed; seed < *answersLast; seed++ {
		x := newHostile(t, recordings, seed)
		fmt.Fprintln(to, seed, "hostile", answerLine(t, encode(x.is), x.answer(t, string(x.body()))))
		changes := binary.LittleEndian.AppendUint64(nil, x.random.Uint64())
		if body, ok := mutate(recordings[x.review], changes); ok {
			fmt.Fprintln(to, seed, "mutated", answerLine(t, "", newServer(t, enforcedEverywhere()).answer(t, string(body))))
		}
	}
	if err := os.WriteFile(*answersTo, to.Bytes(), 0o600); err != nil {
		t.Error(err)
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
