package clients_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ownership-handoff/handoff/internal/expect"
)

// scenario is a column of the tables: what happens to Deployment/web, whose manifest says 3 and whose scaler says 7.
type scenario struct {
	name string // docs/clients.md explains it
	// promise is the result with handoff. If it is empty, it is the count of the scaler.
	promise string
	play    func(s *stage) string
}

// stage is where a scenario is played: a namespace, a client that applies, and a scaler.
type stage struct {
	*namespace
	client *applier
	scaler *scaler
}

var (
	first  = manifest{"3", "app:1"}
	second = manifest{"4", "app:2"}
)

// scenarios returns the columns of the tables.
func scenarios() []scenario {
	return []scenario{
		{"unchanged", "", func(s *stage) string {
			return s.scaled(first).then(first)
		}},
		{"other field", "", func(s *stage) string {
			return s.scaled(first).then(manifest{"3", "app:2"})
		}},
		{"new value", "", func(s *stage) string {
			return s.scaled(first).then(manifest{"4", "app:1"})
		}},
		{"removal", "", func(s *stage) string {
			return s.scaled(first).then(manifest{"", "app:1"})
		}},
		{"removal, not scaled", "3", func(s *stage) string {
			expect.NoError(s, s.client.create(s.namespace, first))
			return s.then(manifest{"", "app:1"})
		}},
		{"adoption", "", (*stage).adoption},
		{"rollback", "", (*stage).rollback},
		{"hand-back", "3", func(s *stage) string {
			s.scaled(first)
			_ = s.client.apply(s.namespace, first) // what it does is the first column
			s.scaler.remove(s.namespace)
			return s.then(first)
		}},
		{"five times", "0 writes", (*stage).five},
	}
}

// scaled applies a manifest and lets the scaler scale.
func (s *stage) scaled(m manifest) *stage {
	s.Helper()
	expect.NoError(s, s.client.create(s.namespace, m))
	s.scaler.scale(s.namespace)
	return s
}

// then applies a manifest and returns the result: the replicas that are stored, and what else happened.
func (s *stage) then(m manifest) string {
	s.Helper()
	return s.result(s.client.apply(s.namespace, m), m)
}

func (s *stage) result(err error, m manifest) string {
	s.Helper()
	switch replicas := strconv.Itoa(int(s.replicas())); {
	case err != nil && isConflict(err):
		return "conflict"
	case err != nil:
		s.Logf("the apply failed: %v", err)
		return "error"
	case s.image() != m.image:
		return replicas + ", not applied"
	default:
		return replicas
	}
}

// isConflict reports whether a client failed with a conflict of server-side apply, in whose message the API server names the
// manager of the field.
func isConflict(err error) bool {
	return strings.Contains(err.Error(), "conflict with") && strings.Contains(err.Error(), ".spec.replicas")
}

// adoption plays the first apply of an object that kubectl has created.
func (s *stage) adoption() string {
	s.Helper()
	s.kubectl(first.String(), "apply", "-f", "-")
	s.scaler.scale(s.namespace)
	return s.result(s.client.adopt(s.namespace, first), first)
}

func (s *stage) rollback() string {
	s.Helper()
	expect.NoError(s, s.client.create(s.namespace, first))
	expect.NoError(s, s.client.apply(s.namespace, second))
	s.scaler.scale(s.namespace)
	return s.result(s.client.rollback(s.namespace, first), first)
}

// five applies the same manifest five times, and counts the applies that write.
func (s *stage) five() string {
	s.Helper()
	s.scaled(first)
	if err := s.client.apply(s.namespace, first); err != nil {
		return s.result(err, first)
	}
	writes := 0
	for range 5 {
		s.settled()
		before := s.deployment()
		expect.NoError(s, s.client.apply(s.namespace, first))
		if after := s.deployment(); after.ResourceVersion != before.ResourceVersion && !cmp.Equal(applied(before), applied(after)) {
			writes++
		}
	}
	return fmt.Sprintf("%d writes", writes)
}

// applied returns the Deployment without what its controller reports, which may take its time.
func applied(d *appsv1.Deployment) *appsv1.Deployment {
	d = d.DeepCopy()
	d.ResourceVersion, d.Status = "", appsv1.DeploymentStatus{}
	d.ManagedFields = slices.DeleteFunc(d.ManagedFields, func(e metav1.ManagedFieldsEntry) bool { return e.Subresource == "status" })
	return d
}
