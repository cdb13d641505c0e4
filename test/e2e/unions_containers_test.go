package e2e_test

import "strings"

func handlers() map[string]union {
	http, tcp, exec, grpc := "httpGet: {port: 80}", "tcpSocket: {port: 80}", "exec: {command: [a]}", "grpc: {port: 80}"
	sleep := "sleep: {seconds: 1}"
	table := map[string]union{}
	for name, c := range map[string]struct{ in, before, after string }{
		"httpGet to tcpSocket":               {"livenessProbe: {%}", http, tcp},
		"httpGet to exec":                    {"livenessProbe: {%}", http, exec},
		"httpGet to grpc":                    {"livenessProbe: {%}", http, grpc},
		"grpc to httpGet":                    {"livenessProbe: {%}", grpc, http},
		"tcpSocket to httpGet":               {"livenessProbe: {%}", tcp, http},
		"exec to httpGet":                    {"livenessProbe: {%}", exec, http},
		"readinessProbe, httpGet to exec":    {"readinessProbe: {%}", http, exec},
		"startupProbe, httpGet to tcpSocket": {"startupProbe: {%}", http, tcp},
		"postStart, httpGet to exec":         {"lifecycle: {postStart: {%}}", http, exec},
		"postStart, exec to httpGet":         {"lifecycle: {postStart: {%}}", exec, http},
		"preStop, httpGet to sleep":          {"lifecycle: {preStop: {%}}", http, sleep},
		"preStop, sleep to httpGet":          {"lifecycle: {preStop: {%}}", sleep, http},
	} {
		of := func(handler string) string { return pods("", "", strings.Replace(c.in, "%", handler, 1)) }
		table["handler, "+name] = union{kind: "Deployment", before: of(c.before), after: of(c.after)}
	}
	return table
}

func containers() map[string]union {
	table := map[string]union{}
	for name, change := range map[string][2]string{
		"env, nothing to valueFrom":             {"env: [{name: X}]", "env: [{name: X, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]"},
		"env, fieldRef to value":                {"env: [{name: X, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]", "env: [{name: X, value: v}]"},
		"env, fieldRef to secretKeyRef":         {"env: [{name: X, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]", "env: [{name: X, valueFrom: {secretKeyRef: {name: s, key: k}}}]"},
		"env, resourceFieldRef to value":        {"env: [{name: X, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}]", "env: [{name: X, value: v}]"},
		"env, value to fieldRef":                {"env: [{name: X, value: v}]", "env: [{name: X, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]"},
		"envFrom, configMapRef to secretRef":    {"envFrom: [{configMapRef: {name: c}}]", "envFrom: [{secretRef: {name: s}}]"},
		"seccomp, Localhost to RuntimeDefault":  {"securityContext: {seccompProfile: {type: Localhost, localhostProfile: p}}", "securityContext: {seccompProfile: {type: RuntimeDefault}}"},
		"AppArmor, Localhost to RuntimeDefault": {"securityContext: {appArmorProfile: {type: Localhost, localhostProfile: p}}", "securityContext: {appArmorProfile: {type: RuntimeDefault}}"},
		"privileged to unprivileged":            {"securityContext: {privileged: true}", "securityContext: {allowPrivilegeEscalation: false}"},
		"termination message":                   {"", "terminationMessagePolicy: FallbackToLogsOnError"},
		"resources, limits to requests":         {"resources: {limits: {cpu: 1}}", "resources: {requests: {cpu: 2}}"},
	} {
		table[name] = union{kind: "Deployment", before: pods("", "", change[0]), after: pods("", "", change[1])}
	}
	latest := func(image string) string {
		return strings.Replace(pods("", "", ""), "app:1", image, 1)
	}
	table["imagePullPolicy of a latest image"] = union{
		kind: "Deployment", before: latest("app:latest"), after: latest("app:2"),
		client: keeps + ".template.spec.containers[0].imagePullPolicy",
		server: keeps + ".template.spec.containers[0].imagePullPolicy",
	}
	table["Linux to Windows"] = union{kind: "Deployment", before: pods("", "", ""), after: pods("", "os: {name: windows}", "")}
	port := "ports: [{containerPort: 80}]"
	table["hostNetwork to the pod's own"] = union{kind: "Deployment", before: pods("", "hostNetwork: true", port), after: pods("", "", port)}
	table["DNS policy to None"] = union{
		kind: "Deployment", before: pods("", "", ""), after: pods("", "dnsPolicy: None, dnsConfig: {nameservers: ['1.2.3.4']}", ""),
	}
	table["hostUsers"] = union{kind: "Deployment", before: pods("", "hostNetwork: true", ""), after: pods("", "hostUsers: false", "")}
	const account = keeps + ".template.spec.serviceAccount .template.spec.serviceAccountName"
	table["service account to none"] = union{
		kind: "Deployment", before: pods("", "serviceAccountName: a", ""), after: pods("", "", ""),
		client: account, server: account,
	}
	table["service account to another"] = union{
		kind: "Deployment", before: pods("", "serviceAccountName: a", ""), after: pods("", "serviceAccountName: b", ""),
	}
	return table
}
