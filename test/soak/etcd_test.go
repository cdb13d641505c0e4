package soak_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// etcdStatus is the status of a member of etcd.
type etcdStatus struct {
	Header struct {
		Revision string
		MemberID uint64 `json:"member_id,string"`
	}
	Leader uint64 `json:",string"`
}

func (s *server) status(ctx context.Context) (status etcdStatus, err error) {
	err = post(ctx, "http://"+hostOf(s.health)+"/v3/maintenance/status", "{}", &status)
	return status, err
}

// flag returns the value of a flag of the server.
func (s *server) flag(name string) string {
	for _, arg := range s.Command {
		if value, ok := strings.CutPrefix(arg, "--"+name+"="); ok {
			return value
		}
	}
	return ""
}

// member returns the leader of etcd, or another member, with its status.
func (s *stage) member(ctx context.Context, leads bool) (*server, etcdStatus, error) {
	for _, member := range s.etcds {
		status, err := member.status(ctx)
		if err == nil && (status.Leader == status.Header.MemberID) == leads {
			return member, status, nil
		}
	}
	return nil, etcdStatus{}, errors.New("etcd has no leader")
}

// killLeader kills the leader of etcd, and starts it again.
func killLeader(ctx context.Context, s *stage) error {
	leader, _, err := s.member(ctx, true)
	if err != nil {
		return err
	}
	return killed(func(*machine) []*server { return []*server{leader} })(ctx, s)
}

// compact removes all old revisions from etcd, so that watches that lag must list again.
func compact(ctx context.Context, s *stage) error {
	status, err := s.etcds[0].status(ctx)
	if err != nil {
		return err
	}
	return post(ctx, "http://"+hostOf(s.etcds[0].health)+"/v3/kv/compaction", fmt.Sprintf(`{"revision": %q}`, status.Header.Revision), nil)
}

// etcdMetrics returns the metrics of a member, none while it does not run.
func (s *server) etcdMetrics(ctx context.Context) map[string]float64 {
	text, _, _ := ask(ctx, http.MethodGet, "http://"+hostOf(s.health)+"/metrics", "")
	return metricsOf(string(text))
}

// diskDelay is how long a slow disk needs more.
const diskDelay = 300 * time.Millisecond

func (s *stage) slowFile(member *server) string {
	return filepath.Join(s.plane.Dir, "slow-"+member.flag("name"))
}

// syncMembers replaces the members of etcd, one after the other, by those of a build from buildSlow, which sync their files.
func (s *stage) syncMembers(binary string) {
	s.Helper()
	for _, member := range s.etcds {
		args := slices.DeleteFunc(slices.Clone(member.Command[1:]), func(arg string) bool { return strings.HasPrefix(arg, "--unsafe-no-fsync") })
		member.Command = slices.Concat([]string{"/usr/bin/env", "SLOW_DISK=" + s.slowFile(member), binary}, args)
		s.must(member.kill())
		s.must(member.restart(s.Context()))
	}
	if _, ok := awaitRecovery(s.Context(), s.probers); !ok {
		s.Fatal("not recovered from new members of etcd")
	}
}

// slowDisk makes the disk of the leader of etcd slow, or that of another member.
func slowDisk(leads bool) func(context.Context, *stage) error {
	return func(ctx context.Context, s *stage) error {
		member, _, err := s.member(ctx, leads)
		if err != nil {
			return err
		}
		before := member.etcdMetrics(ctx)
		if err := os.WriteFile(s.slowFile(member), nil, 0o600); err != nil {
			return err
		}
		<-ctx.Done()
		ctx, cancel := repairing(ctx)
		defer cancel()
		after := member.etcdMetrics(ctx)
		for _, kind := range []string{"etcd_disk_wal_fsync_duration_seconds", "etcd_disk_backend_commit_duration_seconds"} {
			count := after[kind+"_count"] - before[kind+"_count"]
			mean := (after[kind+"_sum"] - before[kind+"_sum"]) / count
			fmt.Fprintf(os.Stderr, "soak: %s of %s: %.0f times, %.3f s each\n", kind, member.flag("name"), count, mean)
			// The first syncs may be older, and another fault may have restarted the member.
			if count == 0 || count > 0 && mean < diskDelay.Seconds()/2 {
				err = errors.Join(err, fmt.Errorf("the disk was not slow: %s %.3f", kind, mean))
			}
		}
		return errors.Join(err, os.Remove(s.slowFile(member)))
	}
}

// isolate cuts the leader of etcd off from the others, or another member, and lets it join them again.
func isolate(leads bool) func(context.Context, *stage) error {
	return func(ctx context.Context, s *stage) error {
		member, status, err := s.member(ctx, leads)
		if err != nil {
			return err
		}
		s.peers.isolate(strconv.FormatUint(status.Header.MemberID, 16), hostOf(member.flag("initial-advertise-peer-urls")))
		<-ctx.Done()
		ctx, cancel := repairing(ctx)
		defer cancel()
		if member.hasLeader(ctx) {
			err = fmt.Errorf("%s has a leader, although it is cut off", member.flag("name"))
		}
		s.peers.isolate("", "")
		for ctx.Err() == nil && !member.hasLeader(ctx) {
			wait(ctx, 50*time.Millisecond)
		}
		return errors.Join(err, ctx.Err())
	}
}

func (s *server) hasLeader(ctx context.Context) bool {
	return s.etcdMetrics(ctx)["etcd_server_has_leader"] == 1
}

// peers are the ways of etcd's members to each other, through a proxy before each member. A header names the sender of a request.
type peers struct {
	mutex       sync.Mutex
	id, address string // of the member that is cut off
	proxies     []*httptest.Server
}

// join starts a proxy before the member that listens at an address, and returns its address.
func (p *peers) join(t *testing.T, address string) string {
	t.Helper()
	reverse := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address})
	reverse.FlushInterval, reverse.ErrorLog = -1, log.New(io.Discard, "", 0) // streams
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mutex.Lock()
		cut := p.id != "" && (r.Host == p.address || r.Header.Get("X-Server-From") == p.id)
		p.mutex.Unlock()
		if cut {
			panic(http.ErrAbortHandler)
		}
		reverse.ServeHTTP(w, r)
	}))
	p.proxies = append(p.proxies, proxy)
	t.Cleanup(proxy.CloseClientConnections)
	return proxy.Listener.Addr().String()
}

// isolate cuts a member off, or none if the ID is empty. All members must connect again.
func (p *peers) isolate(id, address string) {
	p.mutex.Lock()
	p.id, p.address = id, address
	p.mutex.Unlock()
	for _, proxy := range p.proxies {
		proxy.CloseClientConnections()
	}
}
