package soak_test

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	handofftest "github.com/ownership-handoff/handoff/test/handoff"
	"github.com/ownership-handoff/handoff/test/proxy"
)

// pod is a pod of the webhook: at most one process at a time, with its own way to the API servers.
type pod struct {
	machine    *machine
	api        *proxy.HTTP
	kubeconfig string

	starting  sync.Mutex
	replacing sync.Mutex // a second SIGTERM ends a process at once

	mutex       sync.Mutex
	other       string               // what the next process runs instead of the machine's binary
	environment []string             // of the next process
	hook        *handofftest.Webhook // the running process, or the last one
	address     string               // of the process
	gone        bool                 // it ends, or has ended
}

func isRunning(pid int) bool { return syscall.Kill(pid, 0) == nil }

// newPod starts a pod.
func (m *machine) newPod() *pod {
	m.Helper()
	p := &pod{machine: m, api: proxy.StartHTTP(m.T, m.config)}
	p.kubeconfig = filepath.Join(m.dir(), "kubeconfig")
	m.must(os.WriteFile(p.kubeconfig, fmt.Appendf(nil, `
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q}}]
contexts: [{name: c, context: {cluster: c, user: ""}}]
current-context: c
`, p.api.URL), 0o600))
	m.must(p.start(m.Context()))
	m.Cleanup(func() {
		if err := p.signal(syscall.SIGKILL); err != nil {
			m.Log(err)
		}
	})
	return p
}

// start starts the pod's process, unless it runs, and waits until it is ready.
func (p *pod) start(ctx context.Context) error {
	p.starting.Lock()
	defer p.starting.Unlock()
	if last := p.running(); last != nil && isRunning(last.PID()) {
		return nil // another fault has started it
	}
	p.mutex.Lock()
	binary, environment := cmp.Or(p.other, p.machine.binary), p.environment
	p.mutex.Unlock()
	hook, err := handofftest.Start(ctx, p.machine.plane, handofftest.Options{
		Binary: binary, Config: p.machine.configuration, CertDir: p.machine.certificates, Kubeconfig: p.kubeconfig,
		Args: []string{"--shutdown-delay=2s"}, Environment: environment,
	})
	if err != nil {
		return err
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.hook, p.address, p.gone = hook, hostOf(hook.URL), false
	return nil
}

// running returns the running process, or the last one.
func (p *pod) running() *handofftest.Webhook {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.hook
}

// signal sends a signal to the process, if there is one.
func (p *pod) signal(signal syscall.Signal) error {
	if err := syscall.Kill(p.running().PID(), signal); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// kill kills the process, and waits until it is gone.
func (p *pod) kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	for pid := p.running().PID(); isRunning(pid); time.Sleep(10 * time.Millisecond) {
	}
	return nil
}

// replace ends the pod as a rolling update does, starts the next one, and waits until the Service has noticed.
func (p *pod) replace(ctx context.Context) error {
	p.replacing.Lock()
	defer p.replacing.Unlock()
	p.mutex.Lock()
	hook := p.hook
	p.gone = true // a pod that is deleted leaves the endpoints before its process receives SIGTERM
	p.mutex.Unlock()
	err := hook.Stop()
	if outOfMemory(hook) {
		err = nil
	}
	err = errors.Join(err, p.start(ctx))
	wait(ctx, 2*time.Second)
	return err
}

// become replaces the pod by one of another build.
func (p *pod) become(ctx context.Context, other string, environment ...string) error {
	p.mutex.Lock()
	p.other, p.environment = other, environment
	p.mutex.Unlock()
	return p.replace(ctx)
}

// checkClock returns an error unless the clock of the process, which dates its answers, differs from the machine's by an offset.
func (p *pod) checkClock(ctx context.Context, offset time.Duration) error {
	_, header, err := ask(ctx, http.MethodGet, p.running().Ready, "")
	if err != nil {
		return err
	}
	date, err := http.ParseTime(header.Get("Date"))
	if off := time.Until(date) - offset; err == nil && off.Abs() > time.Minute {
		err = fmt.Errorf("the clock of a pod says %v, not %v more than the machine's", date, offset)
	}
	return err
}

// podCandidates returns the pods that the Service probes.
func (m *machine) podCandidates() (all []candidate) {
	for _, p := range m.pods {
		p.mutex.Lock()
		if !p.gone {
			all = append(all, candidate{address: p.address, health: p.hook.Ready})
		}
		p.mutex.Unlock()
	}
	return all
}

// candidate is a server that receives connections while its health is good.
type candidate struct{ address, health string }

// endpoints are the ready servers among candidates. They are probed every second instead of every five, and a server leaves after
// three failures, as with a kubelet, or at once if nothing listens.
type endpoints struct {
	probe func() []candidate

	mutex sync.Mutex
	ready []string
	next  int
}

// pick returns the next ready server, or an empty text.
func (e *endpoints) pick() string {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if len(e.ready) == 0 {
		return ""
	}
	e.next++
	return e.ready[e.next%len(e.ready)]
}

func (e *endpoints) follow(ctx context.Context) {
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	failures := map[string]int{}
	go func() {
		for tick := time.NewTicker(time.Second); ctx.Err() == nil; <-tick.C {
			var ready []string
			for _, c := range e.probe() {
				ok, refused := healthy(ctx, client, c.health)
				before, known := failures[c.address]
				switch {
				case ok:
					failures[c.address] = 0
				case refused || !known:
					failures[c.address] = 3
				default:
					failures[c.address] = before + 1
				}
				if failures[c.address] < 3 {
					ready = append(ready, c.address)
				}
			}
			e.mutex.Lock()
			e.ready = ready
			e.mutex.Unlock()
		}
	}()
}
