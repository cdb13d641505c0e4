{{- /* The labels of an object. The argument is a list of the root and the component. */}}
{{- define "handoff.labels" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: handoff
app.kubernetes.io/component: {{ index . 1 }}
app.kubernetes.io/part-of: handoff
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "handoff.selector" -}}
app.kubernetes.io/name: handoff
app.kubernetes.io/component: webhook
{{- end }}

{{- /* The configured pod labels. They cannot replace the labels that the Deployment and the Service select. */}}
{{- define "handoff.podLabels" -}}
{{- range $name, $value := .Values.podLabels -}}
{{- if has $name (list "app.kubernetes.io/name" "app.kubernetes.io/component" "app.kubernetes.io/part-of") -}}
{{- fail (printf "podLabels: %s is a label of handoff itself, which selects its pods; use another one" $name) -}}
{{- end -}}
{{- end -}}
{{ toYaml .Values.podLabels }}
{{- end }}

{{- define "handoff.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}

{{- define "handoff.config" -}}
apiVersion: config.ownership-handoff.io/v1alpha1
kind: HandoffConfiguration
{{- with .Values.config }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* The field managers of a list of the configuration, as JSON. The arguments are the root and the list's name. */}}
{{- define "handoff.managers" -}}
{{- $root := index . 0 -}}
{{- $managers := get ($root.Files.Get "files/managers.yaml" | fromYaml) (index . 1) -}}
{{- $configured := get $root.Values.config (index . 1) -}}
{{- if kindIs "slice" $configured -}}
{{- $managers = $configured -}}
{{- else if $configured -}}
{{- range $configured.remove -}}
{{- $managers = without $managers . -}}
{{- end -}}
{{- $managers = concat $managers ($configured.add | default list) | uniq -}}
{{- end -}}
{{ toJson $managers }}
{{- end }}

{{- /* The kinds of scalers as JSON: config.scalers applied to the defaults, as the webhook does. */}}
{{- define "handoff.scalers" -}}
{{- $scalers := list (dict "group" "keda.sh" "kind" "ScaledObject") (dict "group" "argoproj.io" "kind" "Rollout") (dict "group" "flagger.app" "kind" "Canary") -}}
{{- $changes := .Values.config.scalers -}}
{{- if kindIs "invalid" $changes -}}{{- $changes = dict -}}{{- end -}}
{{- if kindIs "slice" $changes -}}
{{- $scalers = $changes -}}
{{- else -}}
{{- range $removed := $changes.remove | default list -}}
{{- $kept := list -}}
{{- range $scalers -}}
{{- if not (and (eq .group $removed.group) (eq .kind $removed.kind)) -}}
{{- $kept = append $kept . -}}
{{- end -}}
{{- end -}}
{{- $scalers = $kept -}}
{{- end -}}
{{- $scalers = concat $scalers ($changes.add | default list) -}}
{{- end -}}
{{ toJson $scalers }}
{{- end }}

{{- /* The usual plural name of a kind. */}}
{{- define "handoff.plural" -}}
{{- $name := lower . -}}
{{- if hasSuffix "s" $name -}}{{ $name }}es
{{- else if hasSuffix "y" $name -}}{{ trimSuffix "y" $name }}ies
{{- else -}}{{ $name }}s
{{- end -}}
{{- end }}

{{- define "handoff.serviceAccount" -}}
kind: ServiceAccount
name: handoff-webhook
namespace: {{ .Release.Namespace }}
{{- end }}

{{- /* The version of MutatingAdmissionPolicy: it is beta in Kubernetes 1.34 and 1.35. */}}
{{- define "handoff.policiesVersion" -}}
admissionregistration.k8s.io/{{ semverCompare "<1.36.0-0" .Capabilities.KubeVersion.Version | ternary "v1beta1" "v1" }}
{{- end }}

{{- /* The namespace selector of the webhook and of the guard. */}}
{{- define "handoff.namespaceSelector" -}}
matchExpressions:
- key: kubernetes.io/metadata.name
  operator: NotIn
  values: {{ concat (list "kube-system" .Release.Namespace) .Values.webhook.excludedNamespaces | toJson }}
- key: ownership-handoff.io/system
  operator: DoesNotExist
{{- with .Values.webhook.namespaceSelector }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* A CEL expression that reports whether the manager of the managedFields entry e is in a list, given as for handoff.managers. The guard only supports patterns that end in *. */}}
{{- define "handoff.listed" -}}
{{- $names := list -}}
{{- $prefixes := list -}}
{{- range include "handoff.managers" . | fromJsonArray -}}
{{- if not (regexMatch "[*?\\[\\\\]" .) -}}
{{- $names = append $names (printf "'%s'" .) -}}
{{- else if regexMatch "^[^*?\\[\\\\]*\\*$" . -}}
{{- $prefixes = append $prefixes (printf " || e.manager.startsWith('%s')" (trimSuffix "*" .)) -}}
{{- else -}}
{{- fail (printf "guard: %s is not supported: the guard only matches patterns with a single * at the end; list the managers, or disable the guard" .) -}}
{{- end -}}
{{- end -}}
e.manager in [{{ join ", " $names }}]{{ join "" $prefixes }}
{{- end }}

{{- /* The match conditions of a webhook for objects. */}}
{{- define "handoff.matchConditions" -}}
# Excludes kinds that change frequently and are never applied.
- name: kind-can-be-applied
  expression: >-
    !(request.resource.group in ['coordination.k8s.io', 'events.k8s.io', 'discovery.k8s.io', 'authorization.k8s.io',
    'metrics.k8s.io'] || (request.resource.group == '' && request.resource.resource in ['events', 'endpoints']) ||
    (request.resource.group == 'apps' && request.resource.resource == 'controllerrevisions'))
# Excludes the controllers of Kubernetes itself, which are neither appliers nor people.
- name: writer-can-be-an-applier
  expression: >-
    !(request.userInfo.username in ['system:kube-controller-manager', 'system:kube-scheduler', 'system:apiserver'] ||
    request.userInfo.username.startsWith('system:node:') ||
    (request.userInfo.username.startsWith('system:serviceaccount:kube-system:') &&
    request.userInfo.username.substring(34) in ['deployment-controller', 'replicaset-controller',
    'replication-controller', 'statefulset-controller', 'daemon-set-controller', 'job-controller', 'cronjob-controller',
    'endpoint-controller', 'horizontal-pod-autoscaler', 'disruption-controller', 'service-account-controller',
    'root-ca-cert-publisher', 'persistent-volume-binder', 'pvc-protection-controller', 'ttl-after-finished-controller',
    'generic-garbage-collector', 'namespace-controller', 'pod-garbage-collector',
    'clusterrole-aggregation-controller']))
# A creation matters if an autoscaler can already target the object, or if its manifest is likely to be recorded for a rule with
# edit: apply. For these kinds it does not.
- name: creation-can-matter
  expression: >-
    request.operation != 'CREATE' || (object.?spec.hasValue() &&
    !(request.resource.group in ['networking.k8s.io', 'policy', 'rbac.authorization.k8s.io', 'storage.k8s.io',
    'resource.k8s.io'] || (request.resource.group == 'batch' && request.resource.resource == 'jobs') ||
    (request.resource.group == '' && request.resource.resource != 'replicationcontrollers')))
# Excludes writes that change neither content, labels, annotations nor managedFields entries. The times in managedFields
# change with every write, and entries for the status do not concern any manifest. A write that the guard has changed can
# look unchanged.
- name: content-or-managed-fields-change
  expression: >-
    request.operation == 'CREATE' ||
    (request.resource.group in ['', 'apps'] && object.?status.?conditions.orValue([]).exists(c,
    c.?type.orValue('') == 'ownership-handoff.io/guarded')) ||
    object.exists(k, !(k in ['metadata', 'status']) && object[?k] != oldObject[?k]) ||
    oldObject.exists(k, !(k in object)) ||
    object.metadata.?labels != oldObject.metadata.?labels ||
    object.metadata.?annotations != oldObject.metadata.?annotations ||
    object.metadata.?managedFields.orValue([]).filter(e, e.?subresource.orValue('') != 'status').map(e, e.?fieldsV1) !=
    oldObject.metadata.?managedFields.orValue([]).filter(e, e.?subresource.orValue('') != 'status').map(e, e.?fieldsV1)
{{- with .Values.webhook.matchConditions }}
{{ toYaml . }}
{{- end }}
{{- end }}
