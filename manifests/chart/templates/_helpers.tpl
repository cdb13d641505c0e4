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

{{- /* Refuses a null list: the webhook would use its default, and the guard no list. */}}
{{- define "handoff.config" -}}
{{- $config := .Values.config -}}
{{- range list "appliers" "imperative" "autoscalers" "controllers" -}}
{{- if not (kindIs "slice" (get $config .)) -}}
{{- fail (printf "config.%s: must not be null; omit it for the default, or write [] for none" .) -}}
{{- end -}}
{{- end -}}
apiVersion: config.ownership-handoff.io/v1alpha1
kind: HandoffConfiguration
{{ toYaml .Values.config }}
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

{{- /* A CEL expression that reports whether the manager of the managedFields entry e is in a list. The guard only supports patterns that end in *. */}}
{{- define "handoff.listed" -}}
{{- $names := list -}}
{{- $prefixes := list -}}
{{- range . -}}
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
