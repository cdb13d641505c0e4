package sequences_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ownership-handoff/handoff/test/controlplane/process"
)

// command is a command of kubectl. The field manager is the one that kubectl chooses, unless args has another.
type command struct {
	name  string // with the subcommand
	args  []string
	input any // what kubectl or its editor reads, as JSON
}

// setters are the commands of kubectl that make one change at a place, each with the field manager, and with its arguments made of the
// change. A change is written as kubectl label writes it: PLACE=VALUE, or PLACE- for a removal.
var setters = []struct {
	by     string
	change *regexp.Regexp
	name   string
	args   []string
}{
	{"kubectl-label", regexp.MustCompile(`^metadata/labels/([^/=]+(?:=.*|-))$`), "label", []string{"--overwrite", "$1"}},
	{"kubectl-annotate", regexp.MustCompile(`^metadata/annotations/([^/=]+(?:=.*|-))$`), "annotate", []string{"--overwrite", "$1"}},
	{"kubectl-set", regexp.MustCompile(ofContainer + `image(=.*)$`), "set image", []string{"$1$2"}},
	{"kubectl-set", regexp.MustCompile(ofContainer + `env/name=(\w+)/value(=.*|-)$`), "set env", []string{"--containers=$1", "$2$3"}},
	{"kubectl-set", regexp.MustCompile(ofContainer + `resources/(limits|requests)/([^/]+=.*)$`), "set resources", []string{"--containers=$1", "--$2=$3"}},
	{"kubectl-set", regexp.MustCompile(`^spec/.*/serviceAccountName=(.*)$`), "set serviceaccount", []string{"$1"}},
	{"kubectl-rollout", regexp.MustCompile(`^` + restartedAt + `=`), "rollout restart", nil},
	{"kubectl-rollout", regexp.MustCompile(`^spec/paused=true$`), "rollout pause", nil},
	{"kubectl-rollout", regexp.MustCompile(`^spec/paused-$`), "rollout resume", nil},
}

const (
	ofContainer = `^spec/.*ontainers/name=([^/]+)/`
	restartedAt = "spec/template/metadata/annotations/kubectl.kubernetes.io~restartedAt"
)

// setter returns the command that makes a change to an object, and its field manager, which is empty if there is none.
func (set setting) setter(object string) (by string, c *command) {
	change := fmt.Sprintf("%s=%v", set.at, set.value)
	if set.gone {
		change = set.at + "-"
	}
	for _, s := range setters {
		if match := s.change.FindStringSubmatchIndex(change); match != nil {
			by, c = s.by, &command{name: s.name, args: []string{object}}
			for _, arg := range s.args {
				c.args = append(c.args, strings.ReplaceAll(string(s.change.ExpandString(nil, arg, change, match)), "~", "/"))
			}
		}
	}
	return by, c
}

// command returns the kubectl command for a write, or nil if no command of kubectl makes it, or kubectl patch.
func (s *side) command(w step) *command {
	declared, save := s.kind.object(w, s.name, s.namespace), fmt.Sprintf("--save-config=%t", w.saved)
	switch w.verb + " by " + w.by {
	case create + " by " + clientSide, apply + " by " + clientSide:
		return &command{"apply", []string{"-f", "-"}, declared}
	case create + " by kubectl-create":
		return &command{"create", []string{save, "-f", "-"}, declared}
	case serverApply + " by " + w.by:
		return &command{serverApply, []string{fmt.Sprintf("--force-conflicts=%t", w.force), "--field-manager=" + w.by, "-f", "-"}, declared}
	case replace + " by kubectl-replace":
		return &command{"replace", []string{save, "-f", "-"}, declared}
	case put + " by kubectl-replace": // it records the whole object if the object has last-applied
		o := s.changed(w).Object
		removeGenerated(o)
		allocated(o, func(parent map[string]any, name string) { delete(parent, name) })
		return &command{"replace", []string{"-f", "-"}, o}
	case scale + " by " + kubectl:
		return &command{"scale", []string{s.arg(w), fmt.Sprintf("--replicas=%d", w.replicas)}, nil}
	case remove + " by " + kubectl: // as by default, but without a wait for finalizers
		return &command{"delete", []string{s.arg(w), "--cascade=background", "--wait=false"}, nil}
	case edit + " by kubectl-edit":
		return &command{"edit", []string{s.arg(w)}, s.changed(w).Object}
	case edit + " by " + w.by:
		if len(w.sets) != 1 {
			return nil
		}
		if by, c := w.sets[0].setter(s.arg(w)); by == w.by {
			return c
		}
	}
	return nil
}

// arg returns the object as an argument of kubectl, in the version of a write.
func (s *side) arg(w step) string {
	gvk := s.empty(w.version).GroupVersionKind()
	return strings.ToLower(gvk.Kind) + "." + gvk.Version + "." + gvk.Group + "/" + s.name
}

func (s *side) run(ctx context.Context, a *answer, c *command) error {
	input, err := json.Marshal(c.input)
	if err != nil {
		return err
	}
	if c.name == "rollout restart" {
		time.Sleep(time.Second) // kubectl refuses to write the same time again
	}
	args := slices.Concat([]string{"--namespace", s.namespace}, strings.Fields(c.name), c.args)
	environment := []string{"KUBE_EDITOR=tee", "TMPDIR=" + cluster.controlPlane.Dir} // where kubectl edit leaves what is refused
	r := process.Run(ctx, environment, string(input), cluster.controlPlane.Kubectl, args...)
	for _, warning := range r.Warnings() {
		a.warnings = append(a.warnings, "handoff: "+warning)
	}
	a.command, a.unsent = c.name, strings.HasSuffix(r.Stdout, " unchanged\n")
	return r.Err
}
