package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"time"

	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

// served returns the fingerprint of each pod's serving certificate, by the pod's name.
func (p *proof) served(ctx context.Context) (map[string]string, error) {
	pods, err := p.webhook.Pods(ctx)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, pod := range pods {
		// kubectl port-forward can hang on a busy machine.
		err := eventually(ctx, "pod "+pod+" serves a certificate", time.Minute, func() (bool, error) {
			found[pod], err = p.servedBy(ctx, pod)
			return err == nil, err
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// servedBy connects to a pod through kubectl port-forward.
func (p *proof) servedBy(ctx context.Context, pod string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	forward := exec.CommandContext(ctx, p.cluster.controlPlane.Kubectl,
		"port-forward", "--namespace", handofftest.Namespace, "pod/"+pod, ":9443")
	output, err := forward.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := forward.Start(); err != nil {
		return "", err
	}
	defer func() { cancel(); _ = forward.Wait() }() // it fails because it is killed
	address := regexp.MustCompile(`127\.0\.0\.1:\d+`)
	for lines := bufio.NewScanner(output); lines.Scan(); {
		if at := address.FindString(lines.Text()); at != "" {
			return fingerprint(ctx, at)
		}
	}
	return "", errors.New("kubectl port-forward ended")
}

func fingerprint(ctx context.Context, address string) (string, error) {
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} // only the fingerprint matters
	connection, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer func() { _ = connection.Close() }()
	secure, ok := connection.(*tls.Conn)
	if !ok {
		return "", fmt.Errorf("no TLS at %s", address)
	}
	return fmt.Sprintf("%x", sha256.Sum256(secure.ConnectionState().PeerCertificates[0].Raw)), nil
}
