{{- /* The rules of the webhooks that review objects: all resources, or those of the values. */}}
{{- define "handoff.rules" -}}
{{- range .Values.webhook.rules | default (list (dict "apiGroups" (list "*") "apiVersions" (list "*") "resources" (list "*"))) }}
- apiGroups: {{ toJson .apiGroups }}
  apiVersions: {{ toJson .apiVersions }}
  operations: [CREATE, UPDATE]
  resources: {{ toJson .resources }}
  scope: Namespaced
{{- end }}
{{- end }}
