package certs

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ownership-handoff/handoff/internal/expect"
)

func TestFilesOfANewCAWaitForTheAPIServers(t *testing.T) {
	now := time.Now()
	first := pair{ca: []byte("ca 1"), crt: []byte("crt 1"), key: []byte("key 1")}
	renewed := pair{ca: first.ca, crt: []byte("crt 2"), key: []byte("key 2")}
	rotated := pair{ca: []byte("ca 2"), crt: []byte("crt 3"), key: []byte("key 3")}
	for sentence, c := range map[string]struct {
		onDisk, next *pair
		trusted      time.Time
		waits        bool
	}{
		"no files on disk":                       {nil, &first, now, false},
		"nothing has changed":                    {&first, &first, now, false},
		"a new certificate of the same CA":       {&first, &renewed, now, false},
		"a CA that was just added to the bundle": {&first, &rotated, now, true},
		"a CA that the API servers have seen":    {&first, &rotated, now.Add(-propagation), false},
		"no MutatingWebhookConfiguration":        {&first, &rotated, time.Time{}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRotator(t.TempDir())
			if c.onDisk != nil {
				_, err := r.write(*c.onDisk, time.Time{})
				expect.NoError(t, err)
			}
			next, err := r.write(*c.next, c.trusted)
			expect.NoError(t, err)
			want := c.next
			if c.waits {
				want = c.onDisk
			}
			if (next < resyncEvery) != c.waits || next <= 0 || c.waits && next > propagation {
				t.Errorf("the next sync is in %s", next)
			}
			wantFiles(t, r.options.Dir, *want)
		})
	}
}

func wantFiles(t *testing.T, dir string, want pair) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("want three files, got %v, %v", entries, err)
	}
	for name, content := range map[string][]byte{"ca.crt": want.ca, "tls.crt": want.crt, "tls.key": want.key} {
		file := filepath.Join(dir, name)
		got, err := os.ReadFile(file) //nolint:gosec // in a temporary directory
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: want %s, got %s, %v", name, content, got, err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s is readable by others: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestWriteErrorsNameTheDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "missing")
	_, err := newRotator(dir).write(pair{}, time.Time{})
	expect.Error(t, "a directory that is missing", dir, err)
}
