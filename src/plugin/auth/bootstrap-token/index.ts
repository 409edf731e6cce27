export { type BootstrapTokenOptions, bootstrapTokenAuthenticator } from './authenticator.ts'
