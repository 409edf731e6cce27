import type { FlagSpecs } from '../../component-base/flags/index.ts'

/** Flags every component takes. */
export const commonFlags: FlagSpecs = {
  v: { kind: 'int', short: 'v', usage: 'number for the log level verbosity', default: '0', value: 'Level' },
  'logging-format': { kind: 'string', usage: 'Sets the log format. Permitted formats: "json", "text"', default: 'text' },
  'feature-gates': { kind: 'list', usage: 'A set of key=value pairs that describe feature gates for alpha/experimental features', value: 'mapStringBool' },
  help: { kind: 'bool', short: 'h', usage: 'help for this command' },
  version: { kind: 'bool', usage: 'Print version information and quit' },
}

/** Flags that kube-controller-manager and kube-scheduler share. */
export const componentConnectionFlags: FlagSpecs = {
  kubeconfig: { kind: 'string', usage: 'Path to kubeconfig file with authorization and master location information' },
  master: { kind: 'string', usage: 'The address of the Kubernetes API server (overrides any value in kubeconfig)' },
  'authentication-kubeconfig': {
    kind: 'string',
    usage: "kubeconfig file pointing at the 'core' kubernetes server with enough rights to create tokenreviews.authentication.k8s.io",
  },
  'authorization-kubeconfig': {
    kind: 'string',
    usage: "kubeconfig file pointing at the 'core' kubernetes server with enough rights to create subjectaccessreviews.authorization.k8s.io",
  },
  'bind-address': { kind: 'string', usage: 'The IP address on which to listen for the --secure-port port', default: '0.0.0.0', value: 'ip' },
  'client-ca-file': {
    kind: 'string',
    usage: 'If set, any request presenting a client certificate signed by one of the authorities in the client-ca-file is authenticated',
  },
  'requestheader-client-ca-file': {
    kind: 'string',
    usage: 'Root certificate bundle to use to verify client certificates on incoming requests before trusting usernames in headers',
  },
  'leader-elect': { kind: 'bool', usage: 'Start a leader election client and gain leadership before executing the main loop', default: 'true' },
  'leader-elect-lease-duration': {
    kind: 'duration',
    usage: 'The duration that non-leader candidates will wait after observing a leadership renewal',
    default: '15s',
  },
  'leader-elect-renew-deadline': { kind: 'duration', usage: 'The interval between attempts by the acting master to renew a leadership slot', default: '10s' },
  'leader-elect-retry-period': {
    kind: 'duration',
    usage: 'The duration the clients should wait between attempting acquisition and renewal of a leadership',
    default: '2s',
  },
}
