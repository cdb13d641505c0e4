package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	handofftest "github.com/ownership-handoff/handoff/test/handoff"
	"github.com/ownership-handoff/handoff/test/objects"
)

// changed returns a step that changes to another version during the stream.
func (p *proof) changed(what string, by way, version string) step {
	return step{what, p.under(what+", "+by.name, func(ctx context.Context) ([]string, error) {
		began := time.Now()
		if err := by.install(ctx, version); err != nil {
			return nil, err
		}
		if err := p.available(ctx); err != nil {
			return nil, err
		}
		took := time.Since(began)
		image, err := p.cluster.handoff(ctx, "get", "deployment", handofftest.Deployment,
			"-o", "jsonpath={.spec.template.spec.containers[*].image}")
		return []string{fmt.Sprintf("in %.0f s", took.Seconds()), "to " + image}, err
	})}
}

// rotated returns a step that replaces the serving certificate during the stream, and waits until every pod serves a new one.
func (p *proof) rotated(what string, replace func(context.Context) error) step {
	return step{what, p.under(what, func(ctx context.Context) ([]string, error) {
		before, err := p.expirations(ctx)
		if err != nil {
			return nil, err
		}
		began := time.Now()
		if err := replace(ctx); err != nil {
			return nil, err
		}
		err = eventually(ctx, "every pod serves a new certificate", 5*time.Minute, func() (bool, error) {
			now, err := p.expirations(ctx)
			isOld := func(expiration string) bool { return slices.Contains(before, expiration) }
			return len(now) == len(before) && !slices.ContainsFunc(now, isOld), err
		})
		return []string{fmt.Sprintf("all %d pods serve the new one after %.0f s", len(before), time.Since(began).Seconds())}, err
	})}
}

// expirations returns a line for each pod's serving certificate, with the second when it expires.
func (p *proof) expirations(ctx context.Context) ([]string, error) {
	metrics, err := p.webhook.Metrics(ctx)
	return regexp.MustCompile(`(?m)^handoff_certificate_expiration_timestamp_seconds .*$`).FindAllString(metrics, -1), err
}

// renew triggers a renewal as `cmctl renew` does.
func (p *proof) renew(ctx context.Context) error {
	now := time.Now().UTC().Format(time.RFC3339)
	condition := fmt.Sprintf(`[{"op":"add","path":"/status/conditions/-","value":{"type":"Issuing","status":"True",
		"reason":"ManuallyTriggered","message":"renewal requested","lastTransitionTime":%q}}]`, now)
	_, err := p.cluster.handoff(ctx, "patch", "certificate", "handoff-webhook",
		"--subresource=status", "--type=json", "-p", condition)
	return err
}

// rotate empties the certificate, which the webhook treats as an expired one.
func (p *proof) rotate(ctx context.Context) error {
	_, err := p.cluster.handoff(ctx, "patch", "secret", "handoff-webhook-tls", "--type=merge",
		"-p", `{"data":{"tls.crt":"","tls.key":""}}`)
	return err
}

// deletePods deletes all pods of the webhook at once, without grace, three times.
func (p *proof) deletePods(ctx context.Context) ([]string, error) {
	const times = 3
	for range times {
		_, err := p.cluster.handoff(ctx, "delete", "pods", "--selector="+handofftest.Selector, "--force", "--grace-period=0")
		if err != nil {
			return nil, err
		}
		if err := p.available(ctx); err != nil {
			return nil, err
		}
	}
	return []string{fmt.Sprintf("all webhook pods deleted at once, %d times", times)}, nil
}

// outage scales the webhook to zero pods for a while.
func (p *proof) outage(ctx context.Context) ([]string, error) {
	const length = 20 * time.Second
	scale := func(replicas string) error {
		_, err := p.cluster.handoff(ctx, "scale", "deployment", handofftest.Deployment, "--replicas="+replicas)
		return err
	}
	if err := scale("0"); err != nil {
		return nil, err
	}
	time.Sleep(length)
	if err := scale("2"); err != nil {
		return nil, err
	}
	return []string{fmt.Sprintf("no webhook pod for %.0f s", length.Seconds())}, p.available(ctx)
}

// guardFolder is the folder of the guard's manifests for the cluster.
func (p *proof) guardFolder() string {
	return objects.GuardFolder(p.cluster.controlPlane.PoliciesVersion())
}

// guarded returns a step that enables the guard, and then makes the webhook unavailable during the stream. The guard stays
// installed until the uninstallation.
func (p *proof) guarded(disturb func(context.Context) ([]string, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		if plane := p.cluster.controlPlane; !plane.HasMutatingPolicies() {
			result("with the guard", "not run: Kubernetes "+plane.Version()+" serves no MutatingAdmissionPolicy")
			return nil
		}
		if _, err := p.cluster.kubectl(ctx, "apply", "-k", p.guardFolder()); err != nil {
			return err
		}
		time.Sleep(5 * time.Second) // the API server compiles policies in the background, and the webhook checks for them
		return p.under("with the guard", disturb)(ctx)
	}
}

// removeGuard removes the guard, which the end-to-end suite installs as well.
func (p *proof) removeGuard(ctx context.Context) error {
	if !p.cluster.controlPlane.HasMutatingPolicies() {
		return nil
	}
	_, err := p.cluster.kubectl(ctx, "delete", "-k", p.guardFolder(), "--ignore-not-found")
	return err
}

// uninstalled returns a step that uninstalls handoff and the guard. It verifies that nothing is left behind, and that applies
// behave as they do without handoff.
func (p *proof) uninstalled(by way) step {
	return step{name: "uninstall", do: func(ctx context.Context) error {
		if err := by.uninstall(ctx, p.options.version); err != nil {
			return err
		}
		if err := p.removeGuard(ctx); err != nil {
			return err
		}
		if err := p.nothingLeft(ctx, "app.kubernetes.io/part-of=handoff"); err != nil {
			return err
		}
		s := &stream{c: p.cluster, cancel: func() {}}
		if err := s.workload(ctx, s.namespace(0)); err != nil {
			return err
		}
		stored, err := command(ctx, manifest(1), p.cluster.controlPlane.Kubectl, "apply", "-f", "-", "--namespace", s.namespace(0),
			"-o", "jsonpath={.spec.replicas}")
		if err != nil {
			return err
		}
		if stored != "3" {
			return fmt.Errorf("without handoff an apply should set the manifest's 3 replicas, got %s", stored)
		}
		result("uninstall, "+by.name, "nothing left behind", "applies set the manifest's replicas again")
		_, err = p.cluster.kubectl(ctx, "delete", "namespace", s.namespace(0), "--wait=true")
		return err
	}}
}
