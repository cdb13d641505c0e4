// Command record runs the writes of recordings.yaml on a real control plane, with the real kubectl and the real autoscaler, and
// stores the AdmissionReviews that the API server sends. They are the input of the webhook's tests and benchmarks.
//
// Its namespaces have the mode warn, in which the API server sends reviews that handoff does not change. Another run stores the same
// reviews except for times, UIDs and resource versions.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

// recording is a write whose review is stored.
type recording struct {
	// Name describes the write, and is the name of the file and of the namespace.
	Name string `json:"name"`
	// Object is the written object as KIND/NAME, in the syntax of kubectl. The default is deployment/web.
	Object string `json:"object"`
	// Before are the commands before the write. After each, the controllers finish.
	Before []string `json:"before"`
	Write  string   `json:"write"`
}

// patience is the timeout for a command, and for what controllers do because of it.
const patience = 2 * time.Minute

func main() {
	folder := flag.String("dir", "webhook/testdata/reviews", "`directory` to store the reviews in")
	only := flag.String("only", "", "record only reviews whose name contains this `text`")
	flag.Parse()
	handofftest.MainWithCluster("record", func(ctx context.Context, root string, cluster *handofftest.Cluster) error {
		return recordAll(ctx, filepath.Join(root, "test", "record"), cluster, *folder, *only)
	})
}

func recordAll(ctx context.Context, source string, cluster *handofftest.Cluster, folder, only string) error {
	text, err := os.ReadFile(filepath.Join(source, "recordings.yaml"))
	if err != nil {
		return err
	}
	var all []recording
	if err := yaml.UnmarshalStrict(text, &all); err != nil {
		return fmt.Errorf("recordings.yaml: %w", err)
	}
	reviews, err := inFrontOf(cluster.Webhook)
	if err != nil {
		return err
	}
	defer reviews.server.Close()
	if err := cluster.Webhook.Register(ctx); err != nil {
		return err
	}
	for _, r := range all {
		if !strings.Contains(r.Name, only) {
			continue
		}
		review, err := r.review(ctx, reviews, r.environment(source, cluster))
		if err != nil {
			return fmt.Errorf("%s: %w", r.Name, err)
		}
		// Exactly the received bytes, without a final newline.
		if err := os.WriteFile(filepath.Join(folder, r.Name+".json"), review, 0o644); err != nil {
			return err
		}
		fmt.Printf("%-66s %6d bytes\n", r.Name, len(review))
	}
	return nil
}

// environment returns the variables that steps.sh uses.
func (r recording) environment(source string, cluster *handofftest.Cluster) []string {
	return append(os.Environ(), "NAMESPACE="+r.Name, "OBJECT="+cmp.Or(r.Object, "deployment/web"),
		"FOLDER="+filepath.Join(source, "manifests"), "STEPS="+filepath.Join(source, "steps.sh"),
		"PATH="+filepath.Dir(cluster.Plane.Kubectl)+":"+os.Getenv("PATH"))
}

// review runs the commands, and returns the review of the write.
func (r recording) review(ctx context.Context, reviews *recorder, environment []string) ([]byte, error) {
	if err := run(ctx, environment, "enabled"); err != nil {
		return nil, err
	}
	for _, command := range r.Before {
		if err := run(ctx, environment, command+"\nsettled"); err != nil {
			return nil, err
		}
	}
	before := len(reviews.of(r.Name))
	if err := run(ctx, environment, r.Write); err != nil {
		return nil, err
	}
	all := reviews.of(r.Name)[before:]
	// The API server reviews a write again if it conflicts with another one. Such a recording is not reproducible.
	if len(all) != 1 {
		return nil, fmt.Errorf("want one review of the write, got %d", len(all))
	}
	return all[0], nil
}

// run runs a command of the recordings.
func run(ctx context.Context, environment []string, command string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("the controllers did not finish in time"))
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-euc", ". \"$STEPS\"\n"+command)
	cmd.Env = environment
	cmd.WaitDelay = time.Second // the processes of a pipeline may outlive the killed shell and keep its output open
	if output, err := cmd.CombinedOutput(); err != nil {
		return errors.Join(fmt.Errorf("%s: %w\n%s", command, err, output), context.Cause(ctx))
	}
	return nil
}
