package controlplane

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/ownership-handoff/handoff/test/controlplane/process"
)

// joinMembers makes etcd, which the caller starts, the first member of a cluster, and starts the other members. They are healthy
// once the first has started.
func (p *ControlPlane) joinMembers(first *envtest.Etcd, count int) error {
	ports, err := process.FreePorts(2 * count)
	if err != nil {
		return err
	}
	name := func(i int) string { return fmt.Sprintf("member-%d", i) }
	client := func(i int) string { return fmt.Sprintf("http://127.0.0.1:%d", ports[i]) }
	peer := func(i int) string { return fmt.Sprintf("http://127.0.0.1:%d", ports[count+i]) }
	all := make([]string, count)
	for i := range all {
		all[i] = name(i) + "=" + peer(i)
		p.etcdURLs = append(p.etcdURLs, client(i))
	}
	if first.URL, err = url.Parse(client(0)); err != nil {
		return fmt.Errorf("configuring etcd: %w", err)
	}
	first.Configure().Set("name", name(0)).Set("listen-peer-urls", peer(0)).Set("initial-advertise-peer-urls", peer(0)).
		Set("initial-cluster", strings.Join(all, ","))
	for i := 1; i < count; i++ {
		member, err := process.Start(
			filepath.Join(p.Dir, "etcd.log"), first.Path,
			"--name="+name(i),
			"--data-dir="+filepath.Join(p.Dir, "etcd-"+name(i)),
			"--listen-client-urls="+client(i), "--advertise-client-urls="+client(i),
			"--listen-peer-urls="+peer(i), "--initial-advertise-peer-urls="+peer(i),
			"--initial-cluster="+strings.Join(all, ","),
			"--unsafe-no-fsync=true",
		)
		if err != nil {
			return err
		}
		p.etcdMembers = append(p.etcdMembers, member)
	}
	return nil
}
