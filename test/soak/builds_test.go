package soak_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ownership-handoff/handoff/test/bench/procs"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

// prepare builds what some of the faults need.
func (s *stage) prepare(chosen faults) {
	s.Helper()
	s.buildWebhooks(chosen)
	if chosen.has("slow disk") {
		s.syncMembers(s.buildSlow())
	}
}

// buildWebhooks builds the webhooks that some of the faults need.
func (s *stage) buildWebhooks(chosen faults) {
	s.Helper()
	if s.other = *otherFlag; s.other == "" && chosen.has("webhook upgraded") {
		s.other = s.build(map[string][]string{}, "-ldflags=-X main.version=v999.0.0-other")
	}
	if chosen.has("clock") {
		s.skewed = s.buildSkewed()
	}
}

// build builds the webhook with pairs of texts replaced in source files, and with the stage's mistake, and returns the binary's path.
func (s *stage) build(replaced map[string][]string, flags ...string) string {
	s.Helper()
	if s.mistake.file != "" {
		replaced = maps.Clone(replaced)
		replaced[filepath.Join(s.root(), s.mistake.file)] = []string{s.mistake.from, s.mistake.to}
	}
	return s.buildProgram("", "./cmd/handoff-webhook", replaced, flags...)
}

// buildSkewed builds the webhook with a clock that is $CLOCK_SKEW seconds ahead. Timers measure time without it.
func (s *stage) buildSkewed() string {
	s.Helper()
	const now = "func Now() Time {\n	sec, nsec, mono := runtimeNow()\n"
	return s.build(map[string][]string{s.standard("time", "time.go"): {
		"import (\n", "import (\n	\"syscall\"\n",
		now, now + "	sec += int64(skew)\n",
		"// Now returns the current local time.\n", `var skew = func() int {
	text, _ := syscall.Getenv("CLOCK_SKEW")
	seconds, _ := atoi(text)
	return seconds
}()

// Now returns the current local time.
`,
	}})
}

// buildSlow builds an etcd whose disk is slow while there is a file $SLOW_DISK.
func (s *stage) buildSlow() string {
	s.Helper()
	const fdatasync = "func Fdatasync(fd int) (err error) {\n"
	file := s.standard("syscall", "zsyscall_linux_"+runtime.GOARCH+".go")
	return s.buildProgram("test/controlplane/parts", "go.etcd.io/etcd/server/v3", map[string][]string{file: {
		fdatasync, fdatasync + fmt.Sprintf(`	if file, _ := Getenv("SLOW_DISK"); file != "" && Access(file, 0) == nil {
		for left := (Timespec{Nsec: %d}); Nanosleep(&left, &left) == EINTR; {
		}
	}
`, diskDelay),
	}})
}

// standard returns a source file of Go's standard library.
func (s *stage) standard(folder, file string) string {
	s.Helper()
	output, err := exec.CommandContext(s.Context(), "go", "list", "-f", "{{.Dir}}", folder).Output()
	s.must(err)
	return filepath.Join(strings.TrimSpace(string(output)), file)
}

// buildProgram builds a program of a module with pairs of texts replaced in source files, which contain each of them once, and
// returns the binary's path. The sources stay as they are.
func (s *stage) buildProgram(module, program string, replaced map[string][]string, flags ...string) string {
	s.Helper()
	dir, overlaid := s.TempDir(), map[string]string{}
	for file, pairs := range replaced {
		source, err := os.ReadFile(file)
		s.must(err)
		for i := 0; i < len(pairs); i += 2 {
			if strings.Count(string(source), pairs[i]) != 1 {
				s.Fatalf("%s does not contain %q once", file, pairs[i])
			}
		}
		overlaid[file] = filepath.Join(dir, fmt.Sprintf("source%d.go", len(overlaid)))
		s.must(os.WriteFile(overlaid[file], []byte(strings.NewReplacer(pairs...).Replace(string(source))), 0o600))
	}
	overlay, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, filepath.Base(program))
	content, err := json.Marshal(map[string]map[string]string{"Replace": overlaid})
	s.must(err)
	s.must(os.WriteFile(overlay, content, 0o600))
	args := slices.Concat([]string{"build", "-C", filepath.Join(s.root(), module), "-overlay", overlay, "-o", binary}, flags, []string{program})
	output, err := exec.CommandContext(s.Context(), "go", args...).CombinedOutput()
	if err != nil {
		s.Fatalf("go build: %v\n%s", err, output)
	}
	return binary
}

// becomes returns a step that replaces pods by those of another build.
func becomes(which []int, other func(*stage) string) func(context.Context, *stage) error {
	return func(ctx context.Context, s *stage) error {
		return pods(which, func(ctx context.Context, p *pod) error { return p.become(ctx, other(s)) })(ctx, s)
	}
}

// own is the build that the soak tests.
func own(*stage) string { return "" }

// skewClocks replaces the first pods by those whose clocks differ from the machine's, and back.
func skewClocks(offsets ...time.Duration) func(context.Context, *stage) error {
	skew := func(ctx context.Context, s *stage) (err error) {
		ctx, cancel := repairing(ctx)
		defer cancel()
		for i, offset := range offsets {
			environment := fmt.Sprintf("CLOCK_SKEW=%.0f", offset.Seconds())
			err = errors.Join(err, s.pods[i].become(ctx, s.skewed, environment), s.pods[i].checkClock(ctx, offset))
		}
		return err
	}
	return func(ctx context.Context, s *stage) error {
		s.skewing.Lock()
		defer s.skewing.Unlock()
		return during(skew, becomes([]int{0, 1, 2}[:len(offsets)], own))(ctx, s)
	}
}

// upgradePods replaces all pods by those of another version, one by one, and back.
func upgradePods(ctx context.Context, s *stage) error {
	all := []int{0, 1, 2}
	return errors.Join(becomes(all, func(s *stage) string { return s.other })(ctx, s), becomes(all, own)(ctx, s))
}

// runAPIServer replaces an API server by one of another version; "" for the one that the soak has started.
func runAPIServer(binary string) func(context.Context, *stage) error {
	return func(ctx context.Context, s *stage) error {
		server := *s.apis[1]
		if binary != "" {
			server.Command = append([]string{binary}, server.Command[1:]...)
		}
		if err := s.apis[1].kill(); err != nil {
			return err
		}
		err := server.restart(ctx)
		s.apis[1].PID = server.PID
		return err
	}
}

// exhaustMemory lets the first pod have no more memory, and sends it large reviews until it has died of that.
func exhaustMemory(ctx context.Context, s *stage) error {
	first := s.pods[0]
	first.mutex.Lock()
	hook, url := first.hook, "https://"+first.address+"/mutate"
	first.mutex.Unlock()
	if err := procs.LimitMemory(hook.PID(), 1<<20); err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	large := bytes.Repeat([]byte(" "), 6<<20)
	for ctx.Err() == nil {
		var senders sync.WaitGroup
		for range 8 {
			senders.Go(func() {
				request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(large))
				if err == nil {
					if response, err := client.Do(request); err == nil {
						_ = response.Body.Close()
					}
				}
			})
		}
		senders.Wait()
		if outOfMemory(hook) {
			return nil
		}
		wait(ctx, 100*time.Millisecond)
	}
	return fmt.Errorf("process %d has not run out of memory", hook.PID())
}

// outOfMemory reports whether a process has died of a lack of memory.
func outOfMemory(hook *handofftest.Webhook) bool {
	log := hook.Log()
	return strings.Contains(log, "out of memory") || strings.Contains(log, "cannot allocate memory")
}
