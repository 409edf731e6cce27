import type { corev1 } from '../../../api/index.ts'
import { type ErrorList, FieldPath, invalid, required, tooLong } from '../../../apimachinery/field.ts'
import { JSONBody, JSONSyntaxError } from '../../../apimachinery/json/index.ts'
import { IMMUTABLE, isConfigMapKey, sortedKeys } from '../../../apimachinery/validation/index.ts'
import type { KindRegistration } from '../../../apiserver/registry/strategy.ts'
import { setOwn } from '../../../base/deep-freeze.ts'
import { ageOf } from '../../../component-helpers/age.ts'
import { column } from '../../columns.ts'
import { base64Size, MAX_CONTENT_BYTES, validateImmutable } from '../config-map/kind.ts'
import { certificateWarning } from './tls.ts'

type Secret = corev1.Secret

const data = FieldPath.root('data')

/** Plain text given in `stringData` becomes data; it is never stored or shown. */
function defaults(secret: Secret): void {
  if (secret.stringData) {
    secret.data ??= {}
    for (const key of Object.keys(secret.stringData)) setOwn(secret.data, key, toBase64(secret.stringData[key] as string))
    delete secret.stringData
    if (Object.keys(secret.data).length === 0) delete secret.data
  }
  secret.type ||= 'Opaque'
}

function toBase64(text: string): string {
  let binary = ''
  for (const byte of new TextEncoder().encode(text)) binary += String.fromCharCode(byte)
  return btoa(binary)
}

function fromBase64(text: string): string {
  return new TextDecoder().decode(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)))
}

function validate(secret: Secret): ErrorList {
  const errors: ErrorList = []
  let size = 0
  for (const key of sortedKeys(secret.data)) {
    for (const text of isConfigMapKey(key)) errors.push(invalid(data.key(key), key, text))
    size += base64Size(secret.data?.[key] ?? '')
  }
  if (size > MAX_CONTENT_BYTES) errors.push(tooLong(data, MAX_CONTENT_BYTES))
  return [...errors, ...validateType(secret)]
}

function validateType(secret: Secret): ErrorList {
  const has = (key: string) => Object.hasOwn(secret.data ?? {}, key)
  const missing = (...keys: string[]) => keys.filter((k) => !has(k)).map((k) => required(data.key(k)))
  switch (secret.type as string) {
    case 'kubernetes.io/service-account-token': {
      const name = secret.metadata.annotations?.['kubernetes.io/service-account.name'] ?? ''
      return name === '' ? [required(FieldPath.root('metadata', 'annotations').key('kubernetes.io/service-account.name'))] : []
    }
    case 'kubernetes.io/dockercfg':
      return has('.dockercfg') ? validateJson(secret, '.dockercfg') : missing('.dockercfg')
    case 'kubernetes.io/dockerconfigjson':
      return has('.dockerconfigjson') ? validateJson(secret, '.dockerconfigjson') : missing('.dockerconfigjson')
    case 'kubernetes.io/basic-auth':
      return has('username') || has('password') ? [] : missing('username', 'password')
    case 'kubernetes.io/ssh-auth':
      return has('ssh-privatekey') && secret.data?.['ssh-privatekey'] !== '' ? [] : [required(data.key('ssh-privatekey'))]
    case 'kubernetes.io/tls':
      return missing('tls.crt', 'tls.key')
    default:
      return []
  }
}

function validateJson(secret: Secret, key: string): ErrorList {
  try {
    JSONBody.parse(Buffer.from(secret.data?.[key] ?? '', 'base64'))
    return []
  } catch (error) {
    if (!(error instanceof JSONSyntaxError)) throw error
    return [invalid(data.key(key), '<secret contents redacted>', error.message)]
  }
}

function warnings(secret: Secret): string[] {
  if (secret.type !== 'kubernetes.io/tls' || !secret.data?.['tls.crt'] || !secret.data['tls.key']) return []
  const warning = certificateWarning(fromBase64(secret.data['tls.crt']))
  return warning ? [warning] : []
}

export const secretKind: KindRegistration<Secret> = {
  group: '',
  resource: 'secrets',
  storage: { group: '', version: 'v1', kind: 'Secret' },
  strategy: {
    defaults,
    prepareForUpdate(secret, old) {
      // The type stays as it was when the update does not name one: an update from a client that left it out.
      if (secret.type === 'Opaque' && old.type === undefined) delete secret.type
    },
    validate,
    validateUpdate: (secret, old) => [
      ...(secret.type === old.type ? [] : [invalid(FieldPath.root('type'), secret.type, IMMUTABLE)]),
      ...validateImmutable(secret, old, ['data']),
      ...validate(secret),
    ],
    warningsOnCreate: warnings,
    warningsOnUpdate: warnings,
    selectableFieldLabels: ['type'],
    selectableFields: (secret) => ({ type: secret.type ?? '' }),
  },
  columns: {
    columns: [column('Name', { format: 'name' }), column('Type'), column('Data'), column('Age')],
    cells: ({ metadata, type, data: content }, now) => [metadata.name, type ?? '', Object.keys(content ?? {}).length, ageOf(metadata.creationTimestamp, now)],
  },
}
