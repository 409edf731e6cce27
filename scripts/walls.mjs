/**
 * The rooms and what each may import: the one table behind `npm run check`'s wall test and the picture in
 * docs/architecture.md. A room imports only rooms listed in its row.
 */
const floor2 = ['base', 'apimachinery', 'api', 'cel', 'component-base']
const component = [...floor2, 'component-helpers', 'client']
const server = [...floor2, 'component-helpers', 'storage', 'client', 'apiserver']

export const rooms = {
  base: [],
  apimachinery: ['base'],
  api: ['base', 'apimachinery'],
  cel: ['base', 'apimachinery'],
  'component-base': ['base', 'apimachinery'],
  'component-helpers': ['base', 'apimachinery', 'api'],
  storage: ['base', 'apimachinery', 'component-base'],
  client: ['base', 'apimachinery', 'api', 'component-base'],
  apiserver: [...floor2, 'component-helpers', 'storage', 'client'],
  'controller-runtime': [...floor2, 'component-helpers', 'client'],
  registry: server,
  plugin: server,
  apiextensions: server,
  aggregator: server,
  controllers: [...component, 'controller-runtime'],
  scheduler: component,
  kubelet: component,
  proxy: component,
  dns: component,
  kubectl: component,
  cluster: '*',
  cmd: '*',
  testing: '*',
}

/** Rooms without `node:` modules. */
export const pure = ['base', 'apimachinery', 'api', 'cel', 'component-helpers']

/** Rooms nobody imports but those named. */
export const importedOnlyBy = { cmd: [], cluster: ['cmd', 'testing'], testing: [] }
