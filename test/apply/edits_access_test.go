package apply_test

// accessEdits returns edits of RBAC kinds and ServiceAccounts, and of metadata: finalizers and owners.
func accessEdits() map[string]edit {
	const get, list = "{apiGroups: [''], resources: [pods], verbs: [get]}", "{apiGroups: [''], resources: [pods, services], verbs: [list, watch]}"
	role := "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, "
	return map[string]edit{
		"rules of a role are atomic":                                  {kind: "Role", first: "rules: [" + get + "]", second: "rules: [" + list + ", " + get + "]"},
		"rules of a role: another manager's go":                       {kind: "Role", first: "rules: [" + get + "]", others: []string{`patch OBJECT -p {"rules":[{"apiGroups":[""],"resources":["theirs"],"verbs":["get"]}]}`}, second: "rules: [" + get + "]"},
		"rules of a role become empty":                                {kind: "Role", first: "rules: [" + get + "]", second: "rules: []", defaulted: true},
		"rules of a cluster's role: their order":                      {kind: "ClusterRole", first: "rules: [" + get + ", " + list + "]", second: "rules: [" + list + ", " + get + "]"},
		"a cluster's role becomes an aggregated one":                  {kind: "ClusterRole", first: "{metadata: {labels: {a: one}}, rules: [" + get + "]}", second: "{aggregationRule: {clusterRoleSelectors: [{matchLabels: {b: one}}]}, rules: [" + get + "]}"},
		"an aggregated role selects others":                           {kind: "ClusterRole", first: "aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: one}}]}", second: "aggregationRule: {clusterRoleSelectors: [{matchLabels: {b: one}}, {matchLabels: {a: one}}]}"},
		"subjects of a binding are atomic":                            {kind: "RoleBinding", first: "{" + role + "subjects: [{kind: User, name: a}]}", others: []string{`patch OBJECT -p {"subjects":[{"kind":"User","name":"theirs"}]}`}, second: "{" + role + "subjects: [{kind: Group, name: b}, {kind: User, name: a}]}", defaulted: true},
		"subjects of a binding are removed":                           {kind: "RoleBinding", first: "{" + role + "subjects: [{kind: User, name: a}]}", second: "{" + role + "}"},
		"secrets of an account: another manager's stays":              {kind: "ServiceAccount", first: "secrets: [{name: a}, {name: b}]", others: []string{`patch OBJECT -p {"secrets":[{"name":"theirs"}]}`}, second: "secrets: [{name: c}, {name: b}]"},
		"pull secrets of an account are atomic":                       {kind: "ServiceAccount", first: "imagePullSecrets: [{name: a}]", others: []string{`patch OBJECT -p {"imagePullSecrets":[{"name":"theirs"}]}`}, second: "imagePullSecrets: [{name: b}]"},
		"finalizers: added and removed":                               {kind: "ConfigMap", first: "metadata: {finalizers: [e.org/a, e.org/b]}", second: "metadata: {finalizers: [e.org/c, e.org/b]}"},
		"finalizers: another manager's stays":                         {kind: "ConfigMap", first: "metadata: {finalizers: [e.org/a]}", others: []string{`patch OBJECT -p {"metadata":{"finalizers":["e.org/theirs"]}}`}, second: "metadata: {finalizers: [e.org/b, e.org/a]}"},
		"finalizers: one goes, another manager's stays":               {kind: "ConfigMap", first: "metadata: {finalizers: [e.org/a, e.org/b]}", others: []string{`patch OBJECT -p {"metadata":{"finalizers":["e.org/theirs"]}}`}, second: "metadata: {finalizers: [e.org/b]}"},
		"finalizers: all go, and another manager's with them":         {kind: "ConfigMap", first: "metadata: {finalizers: [e.org/a]}", others: []string{`patch OBJECT -p {"metadata":{"finalizers":["e.org/theirs"]}}`}, second: "metadata: {}"},
		"finalizers: the list becomes empty, another manager's stays": {kind: "ConfigMap", first: "metadata: {finalizers: [e.org/a]}", others: []string{`patch OBJECT -p {"metadata":{"finalizers":["e.org/theirs"]}}`}, second: "metadata: {finalizers: []}"},
		"finalizers: all become null":                                 {kind: "ConfigMap", first: "metadata: {finalizers: [e.org/a]}", others: []string{`patch OBJECT -p {"metadata":{"finalizers":["e.org/theirs"]}}`}, second: "metadata: {finalizers: null}"},
		"finalizers: one goes, one comes, another manager's stays":    {kind: "ConfigMap", first: "metadata: {finalizers: [e.org/a, e.org/b]}", others: []string{`patch OBJECT -p {"metadata":{"finalizers":["e.org/theirs"]}}`}, second: "metadata: {finalizers: [e.org/b, e.org/c]}"},
		"finalizers: their order against the letters":                 {kind: "ConfigMap", first: "metadata: {finalizers: [e.org/a, e.org/b]}", second: "metadata: {finalizers: [e.org/b, e.org/a]}"},
		"finalizers: their order with the letters, nothing changes": {
			// The set is sorted before it is compared: docs/merge-differences.md.
			kind: "ConfigMap", first: "metadata: {finalizers: [e.org/b, e.org/a]}", second: "metadata: {finalizers: [e.org/a, e.org/b]}",
		},
		"owners: added, changed and removed": {
			kind:   "ConfigMap",
			first:  "metadata: {ownerReferences: [{apiVersion: v1, kind: Pod, name: a, uid: one}, {apiVersion: v1, kind: Pod, name: b, uid: two}]}",
			second: "metadata: {ownerReferences: [{apiVersion: v1, kind: Pod, name: c, uid: three}, {apiVersion: v1, kind: Pod, name: a, uid: one, controller: true}]}",
		},
	}
}
