package webhook_test

import (
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

	"github.com/ownership-handoff/handoff/test/golden"
)

var (
	answersTo   = flag.String("answers", "", "the file to which TestAnswers writes all answers, a line each, instead of comparing them")
	answersSeed = flag.Uint64("answers-seed", 0, "the seed of its first review")
	answersLast = flag.Uint64("answers-last", 300, "the seed after that of its last review")
)

// TestAnswers compares the answers to recorded and generated reviews with testdata/answers.golden: the patched object, the warnings and
// the audit annotations. The file has the answers to the recorded reviews, and digests of the others, which UPDATE_GOLDEN=1 rewrites. If a
// digest differs, the answers before and after the change, in full, show what is different:
//
//	go test ./webhook -run '^TestAnswers$' -timeout 2h -args -answers=before.txt -answers-last=20000
func TestAnswers(t *testing.T) {
	t.Parallel()
	const group = 10
	recordings, known, all := recorded(t), &strings.Builder{}, &strings.Builder{}
	for _, name := range slices.Sorted(maps.Keys(recordings)) {
		s := newServer(t, enforcedEverywhere())
		fmt.Fprintln(known, name, answerLine(t, "", s.answer(t, string(recordings[name]))))
	}
	all.WriteString(known.String())
	digest := func(of string, answers ...string) {
		text := strings.Join(answers, "")
		all.WriteString(text)
		fmt.Fprintf(known, "%s: %x\n", of, sha256.Sum256([]byte(text)))
	}
	for _, sentence := range slices.Sorted(maps.Keys(dimensions())) {
		d := dimensions()[sentence]
		digest(sentence, fmt.Sprintln(sentence, answerLine(t, "", d.server(t, d.from).answer(t, d.body(d.from)))))
	}
	for first := *answersSeed; first < *answersLast; first += group {
		var answers []string
		for seed := first; seed < min(first+group, *answersLast); seed++ {
			x := newHostile(t, recordings, seed)
			answers = append(answers, fmt.Sprintln(seed, "hostile", answerLine(t, encode(x.is), x.answer(t, string(x.body())))))
			changes := binary.LittleEndian.AppendUint64(nil, x.random.Uint64())
			if body, ok := mutate(recordings[x.review], changes); ok {
				answers = append(answers, fmt.Sprintln(seed, "mutated", answerLine(t, "", newServer(t, enforcedEverywhere()).answer(t, string(body)))))
			}
		}
		digest(fmt.Sprintf("-answers-seed=%d -answers-last=%d", first, first+group), answers...)
	}
	if *answersTo == "" {
		golden.Check(t, "answers", known.String())
	} else if err := os.WriteFile(*answersTo, []byte(all.String()), 0o600); err != nil {
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
