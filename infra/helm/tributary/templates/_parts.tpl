{{/* What the services declare; npm run dump writes it. */}}
{{- define "tributary.declared" -}}
{{ .Files.Get "files/declared.yaml" }}
{{- end }}

{{- define "tributary.labels" -}}
app.kubernetes.io/name: tributary
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .name }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end }}

{{- define "tributary.selector" -}}
app.kubernetes.io/name: tributary
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .name }}
{{- end }}

{{- define "tributary.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* Refuses settings that no service declares, and those whose place is a Secret. root, declared */}}
{{- define "tributary.checkSettings" -}}
{{- $known := list }}
{{- $secret := list }}
{{- range $name, $service := .declared.services }}
{{- $known = concat $known $service.settings }}
{{- $secret = concat $secret (keys $service.secrets) }}
{{- end }}
{{- $known = concat $known .declared.migrate.settings }}
{{- range $setting, $value := .given }}
{{- if has $setting $secret }}
{{- fail (printf "%s is secret: put it into a Secret (docs/kubernetes.md#secrets)" $setting) }}
{{- end }}
{{- if not (has $setting $known) }}
{{- fail (printf "%s is no setting of any service (docs/settings.md)" $setting) }}
{{- end }}
{{- end }}
{{- end }}

{{/* The environment of one service: what it declares and no more. root, name, declared, settings, extraEnv */}}
{{- define "tributary.env" -}}
{{- $root := .root }}
{{- $name := .name }}
{{- $shared := $root.Values.secrets.shared }}
{{- $settings := .settings }}
{{- range $setting := .declared.settings }}
{{- if hasKey $settings $setting }}
- name: {{ $setting }}
  value: {{ get $settings $setting | quote }}
{{- else if has $setting $.declared.required }}
{{- fail (printf "%s needs %s: set it in settings" $name $setting) }}
{{- end }}
{{- end }}
{{- range $setting, $need := .declared.secrets }}
- name: {{ $setting }}
  valueFrom:
    secretKeyRef:
      name: {{ if has $setting $shared.settings }}{{ $shared.name }}{{ else }}{{ $root.Values.secrets.ownPrefix }}{{ $name }}{{ end }}
      key: {{ $setting }}
      optional: {{ eq $need "optional" }}
{{- end }}
{{- if $root.Values.certificates.configMap }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/tributary/certificates/{{ $root.Values.certificates.key }}
{{- end }}
{{- range $variable, $value := .extraEnv }}
- name: {{ $variable }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{- define "tributary.podSecurity" -}}
runAsNonRoot: true
runAsUser: {{ . }}
runAsGroup: {{ . }}
fsGroup: {{ . }}
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "tributary.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* Pods of a service on different nodes and in different zones. root, name */}}
{{- define "tributary.spread" -}}
- maxSkew: 1
  topologyKey: topology.kubernetes.io/zone
  whenUnsatisfiable: {{ .root.Values.spread.zones }}
  labelSelector:
    matchLabels: {{- include "tributary.selector" . | nindent 6 }}
- maxSkew: 1
  topologyKey: kubernetes.io/hostname
  whenUnsatisfiable: {{ .root.Values.spread.nodes }}
  labelSelector:
    matchLabels: {{- include "tributary.selector" . | nindent 6 }}
{{- end }}
