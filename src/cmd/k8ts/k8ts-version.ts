/** Version of this package; set when it is built. */
export const k8tsVersion: string = process.env.K8TS_VERSION ?? '0.0.0-dev'
