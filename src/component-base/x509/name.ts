import { type DerReader, encode, oid, readOid, readText, sequence, set, TAG, text } from './der.ts'

/** A distinguished name, as much of it as Kubernetes identities use. */
export interface DistinguishedName {
  readonly commonName: string
  readonly organizations: readonly string[]
  /** Attribute 1.3.6.1.4.1.57683.2: the uid of the user. */
  readonly uid?: string
}

const COMMON_NAME = '2.5.4.3'
const ORGANIZATION = '2.5.4.10'
const USER_UID = '1.3.6.1.4.1.57683.2'

const attribute = (type: string, value: string) =>
  sequence(oid(type), /^[A-Za-z0-9 '()+,\-./:=?]*$/.test(value) ? text(TAG.printableString, value) : text(TAG.utf8String, value))

export function encodeName(name: DistinguishedName): Uint8Array {
  const parts: Uint8Array[] = []
  if (name.organizations.length) parts.push(set(...name.organizations.map((o) => attribute(ORGANIZATION, o))))
  if (name.commonName !== '') parts.push(set(attribute(COMMON_NAME, name.commonName)))
  if (name.uid !== undefined) parts.push(set(attribute(USER_UID, name.uid)))
  return encode(TAG.sequence, ...parts)
}

/** @throws DerError */
export function readName(reader: DerReader): DistinguishedName {
  let commonName = ''
  let uid: string | undefined
  const organizations: string[] = []
  const name = reader.into(TAG.sequence)
  while (!name.done) {
    const relative = name.into(TAG.set)
    while (!relative.done) {
      const pair = relative.into(TAG.sequence)
      const type = readOid(pair.next(TAG.oid).content)
      const value = pair.next()
      if (type === COMMON_NAME) commonName = readText(value)
      else if (type === ORGANIZATION) organizations.push(readText(value))
      else if (type === USER_UID) uid = readText(value)
    }
  }
  return { commonName, organizations, ...(uid === undefined ? {} : { uid }) }
}
