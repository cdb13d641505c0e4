// Command demo shows on a real control plane what an apply does to a Deployment that an autoscaler has scaled: first
// without handoff, then with it. It fails if the result of any step differs from the expected one.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

func main() { handofftest.MainWithCluster("demo", run) }

const (
	prints       = ` -o jsonpath='{.spec.replicas} replicas'`
	apply        = "kubectl -n shop apply -f web.yaml" + prints
	applyWithout = "grep -v replicas: web.yaml | kubectl -n shop apply -f -" + prints
	scaled       = "kubectl -n shop wait --for=jsonpath='{.spec.replicas}'=7 deployment/web"
	recorded     = "kubectl -n shop apply view-last-applied deployment/web | grep replicas: || echo no replicas in last-applied"
	owner        = `kubectl -n shop get deployment/web --show-managed-fields -o jsonpath='{.metadata.managedFields[?(@.subresource=="scale")].manager}'`
	version      = "kubectl -n shop get deployment/web -o jsonpath='{.metadata.resourceVersion}'"
)

// step is a sentence of the transcript and the commands that it describes.
type step struct {
	sentence string
	commands []command
	// unwritten reports that the commands do not change the resourceVersion of the Deployment.
	unwritten bool
}

// command is a line of shell and a part of its output.
type command struct{ line, want string }

var withoutHandoff = []step{{
	sentence: "A team applies its manifest, which sets 3 replicas.",
	commands: []command{{"grep replicas: web.yaml", "3"}, {"kubectl create namespace shop", "created"}, {apply, "3 replicas"}},
}, {
	sentence: "The load requires 7 replicas, and an autoscaler scales to 7.",
	commands: []command{{"kubectl -n shop autoscale deployment web --min=7 --max=20", "autoscaled"}, {scaled, "met"}, {owner, "kube-controller-manager"}},
}, {
	sentence: "The pipeline applies the same manifest again: under full load, 4 of 7 replicas are removed, until the autoscaler scales back.",
	commands: []command{{apply, "3 replicas"}, {scaled, "met"}},
}, {
	sentence: "The team removes replicas from the manifest, as the documentation advises: now 6 of 7 are removed.",
	commands: []command{{applyWithout, "1 replicas"}, {scaled, "met"}},
}, {
	sentence: "The team reverts this change, which causes the next outage.",
	commands: []command{{apply, "3 replicas"}, {scaled, "met"}},
}}

var withHandoff = []step{{
	sentence: "The pipeline applies the same manifest: handoff keeps all 7, and removes replicas from last-applied. The autoscaler owns them.",
	commands: []command{{apply, "\n7 replicas"}, {recorded, "no replicas in last-applied"}, {owner, "kube-controller-manager"}},
}, {
	sentence:  "The pipeline applies it again: nothing is written.",
	commands:  []command{{apply, "kept .spec.replicas=7, owned by HorizontalPodAutoscaler/web; remove it from the manifest\n"}},
	unwritten: true,
}, {
	sentence:  "The team removes replicas from the manifest, as the warning says: handoff keeps all 7, without a warning.",
	commands:  []command{{applyWithout, "$ " + applyWithout + "\n7 replicas"}},
	unwritten: true,
}}

// demo is a run of the demo.
type demo struct {
	dir, bin string // contain web.yaml, and the control plane's kubectl
	number   int    // of the current step
}

// run plays all steps, up to the first one that fails. The transcript goes to standard output, progress and failures to standard error.
func run(ctx context.Context, root string, cluster *handofftest.Cluster) error {
	d := &demo{dir: filepath.Join(root, "test", "demo"), bin: filepath.Dir(cluster.Plane.Kubectl)}
	began := time.Now()
	fmt.Println("What does kubectl apply do to a Deployment that an autoscaler has scaled?")
	fmt.Println("The API server, the autoscaler and kubectl are real. There are no nodes, so --min=7 stands for load.")
	fmt.Println("The autoscaler syncs every 2 seconds here (default: every 15 seconds).")
	fmt.Print("\n=== Without handoff ===\n")
	err := d.play(ctx, withoutHandoff)
	if err == nil {
		fmt.Print("\n=== With handoff ===\n")
		err = d.install(ctx, cluster.Webhook)
	}
	if err == nil {
		err = d.play(ctx, withHandoff)
	}
	if err != nil {
		return fmt.Errorf("step %d: %w\nthe webhook's log:\n%s", d.number, err, cluster.Webhook.Log())
	}
	fmt.Printf("\nAll %d steps ended as expected, in %.0f s.\n", d.number, time.Since(began).Seconds())
	return nil
}

func (d *demo) begin(sentence string) {
	d.number++
	fmt.Printf("\n%d. %s\n", d.number, sentence)
}

func (d *demo) play(ctx context.Context, steps []step) error {
	for _, s := range steps {
		d.begin(s.sentence)
		before := ""
		if s.unwritten {
			var err error
			if before, err = d.settled(ctx); err != nil {
				return err
			}
		}
		for _, c := range s.commands {
			output, err := d.shell(ctx, c.line)
			fmt.Printf("   %s\n", strings.ReplaceAll(output, "\n", "\n   "))
			if err != nil {
				return err
			}
			if !strings.Contains(output, c.want) {
				return fmt.Errorf("want %q in the output", c.want)
			}
		}
		if s.unwritten {
			after, err := d.shell(ctx, version)
			if err == nil && after != before {
				err = fmt.Errorf("the Deployment was written: got %s, want %s", after, before)
			}
			if err != nil {
				return err
			}
			fmt.Println("   the resourceVersion is still the same")
		}
	}
	return nil
}

// install registers the webhook, enables handoff in the namespace, and repeats a dry run until it keeps the replicas: the webhook sees
// a namespace's annotation a moment after it is stored, and nothing signals when.
func (d *demo) install(ctx context.Context, hook *handofftest.Webhook) error {
	d.begin("handoff is installed and enabled in namespace shop.")
	if err := hook.Register(ctx); err != nil {
		return err
	}
	output, err := d.shell(ctx, "kubectl annotate namespace shop ownership-handoff.io/mode=enforce")
	fmt.Printf("   %s\n", strings.ReplaceAll(output, "\n", "\n   "))
	if err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		output, err := d.shell(ctx, apply+" --dry-run=server")
		return strings.HasSuffix(output, "\n7 replicas"), err
	})
}

// settled waits until the controllers have stopped writing the Deployment, and returns the output of version.
func (d *demo) settled(ctx context.Context) (last string, err error) {
	err = wait.PollUntilContextTimeout(ctx, time.Second, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		before := last
		last, err = d.shell(ctx, version)
		return last == before, err
	})
	return last, err
}

// shell runs a command line exactly as the transcript shows it, and returns it with its standard output and standard error, in order.
func (d *demo) shell(ctx context.Context, line string) (string, error) {
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir = d.dir
	cmd.Env = append(os.Environ(), "PATH="+d.bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.WaitDelay = time.Second // the processes of a pipeline may outlive the killed shell and keep its output open
	output, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w", line, err)
	}
	return "$ " + line + "\n" + strings.TrimSuffix(string(output), "\n"), err
}
