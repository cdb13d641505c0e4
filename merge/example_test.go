package merge_test

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// exampleCluster is a cluster in which a HorizontalPodAutoscaler targets every object.
type exampleCluster struct{}

func (exampleCluster) ScalePath(_, _, _ string) fieldpath.Path {
	return fieldpath.MakePathOrDie("spec", "replicas")
}

func (exampleCluster) Scaler(_, _, _, name string) ownership.Scaler {
	return ownership.Scaler{Name: "HorizontalPodAutoscaler/" + name}
}

// exampleDeployment is a Deployment that kubectl apply created with 3 replicas.
func exampleDeployment(replicas int) (ownership.Object, error) {
	return ownership.ParseObject(fmt.Appendf(nil, `{
	  "metadata": {
	    "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{\"spec\":{\"replicas\":3}}"},
	    "managedFields": [{"manager": "kubectl-client-side-apply", "operation": "Update", "apiVersion": "apps/v1", "fieldsV1":
	      {"f:metadata": {"f:annotations": {"f:kubectl.kubernetes.io/last-applied-configuration": {}}}}
	    }]
	  },
	  "spec": {"replicas": %d}
	}`, replicas))
}

// An autoscaler has scaled a Deployment to 10, and kubectl apply sends the unchanged manifest with 3 replicas. Decide returns the
// patch that keeps 10, and the reason.
func ExampleDecider_Decide() {
	live, err := exampleDeployment(10)
	if err != nil {
		fmt.Println(err)
		return
	}
	incoming, err := exampleDeployment(3)
	if err != nil {
		fmt.Println(err)
		return
	}
	decider := merge.Decider{
		Cluster: exampleCluster{}, Managers: ownership.Managers{Appliers: []string{"kubectl-client-side-apply"}},
	}
	outcome, err := decider.Decide(ownership.Write{
		Kind: appsv1.SchemeGroupVersion.WithKind("Deployment"), Namespace: "shop", Name: "web",
		FieldManager: "kubectl-client-side-apply", Live: live, Incoming: incoming,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range outcome.Changes {
		before, name, after := c.Text(fmt.Sprintf("kept %s=%s", c.Field.Path, c.Field.Live), c.Field.Path.String())
		fmt.Printf("%s: %s%s%s\n", c.Decision.Name, before, name, after)
	}
	patch, err := merge.EncodePatch(outcome.Operations)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(patch))
	// Output:
	// keep-autoscaled: kept .spec.replicas=10, owned by HorizontalPodAutoscaler/web; remove it from the manifest
	// [{"op":"add","path":"/spec/replicas","value":10},{"op":"replace","path":"/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration","value":"{}"}]
}

// Lookup returns the decision on a field that a manifest sets although an autoscaler owns it.
func ExampleLookup() {
	decision := merge.Lookup(merge.Change{Writer: ownership.Applier, Field: ownership.ContestedField{
		Owner: ownership.FieldOwner{Kind: ownership.Autoscaler}, Declared: ownership.Declared{Manifest: ownership.Sets}, Scale: true,
	}})
	fmt.Printf("row %d: %s\n", decision.Row, decision.Verdict)
	// Output: row 1: keep
}
