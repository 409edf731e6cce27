/** What a server would find wrong with a certificate it is to serve; undefined: nothing that can be told from the text. */
export function certificateWarning(certificate: string): string | undefined {
  return /-----BEGIN [A-Z ]*CERTIFICATE-----/.test(certificate) ? undefined : 'tls: failed to find any PEM data in certificate input'
}
