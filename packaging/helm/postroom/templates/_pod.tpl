{{/* What the relay and the migration before it have in common: container settings, and where the configuration comes from. */}}
{{- define "postroom.container" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag }}"
envFrom:
  - secretRef: {name: {{ .Values.secretName | quote }}}
env:
  - {name: POSTROOM_CONFIG, value: /etc/postroom/postroom.toml}
volumeMounts:
  - {name: config, mountPath: /etc/postroom, readOnly: true}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  runAsNonRoot: true
  capabilities: {drop: [ALL]}
  seccompProfile: {type: RuntimeDefault}
{{- end }}
{{- define "postroom.volumes" -}}
- name: config
  configMap: {name: {{ .Release.Name }}}
{{- end }}
