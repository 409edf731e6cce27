import type { KeyPair } from '../../component-base/x509/index.ts'

export interface KubeconfigOptions {
  /** `https://host:port` */
  readonly server: string
  /** PEM */
  readonly certificateAuthority: string
  /** Name of the user entry, such as `kubernetes-admin`. */
  readonly user: string
  readonly credentials: KeyPair | { readonly token: string }
  /** @default 'kubernetes' */
  readonly cluster?: string
  readonly namespace?: string
}

/** A kubeconfig file with one context, everything inside it, as kubeadm writes them. */
export function kubeconfigFor(options: KubeconfigOptions): string {
  const cluster = options.cluster ?? 'kubernetes'
  const { credentials } = options
  const data = (pem: string) => Buffer.from(pem).toString('base64')
  const lines = [
    'apiVersion: v1',
    'clusters:',
    '- cluster:',
    `    certificate-authority-data: ${data(options.certificateAuthority)}`,
    `    server: ${options.server}`,
    `  name: ${cluster}`,
    'contexts:',
    '- context:',
    `    cluster: ${cluster}`,
    ...(options.namespace ? [`    namespace: ${options.namespace}`] : []),
    `    user: ${options.user}`,
    `  name: ${options.user}@${cluster}`,
    `current-context: ${options.user}@${cluster}`,
    'kind: Config',
    'users:',
    `- name: ${options.user}`,
    '  user:',
    ...('token' in credentials
      ? [`    token: ${credentials.token}`]
      : [`    client-certificate-data: ${data(credentials.certificate)}`, `    client-key-data: ${data(credentials.key)}`]),
  ]
  return `${lines.join('\n')}\n`
}
