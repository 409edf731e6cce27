import { expect, test } from 'vitest'
import { resources } from '../../api/index.ts'
import { controllerHarness } from '../../testing/controller-harness.ts'
import { ResourceQuotaController } from './controller.ts'

const { pods, resourcequotas, services, configmaps } = resources.corev1
const pod = (name: string, cpu: string) => ({ metadata: { name }, spec: { containers: [{ name: 'c', image: 'x', resources: { requests: { cpu } } }] } })

test('counts what is there, recounts when objects go or end, and follows the quota', async () => {
  const h = controllerHarness()
  await h.create(pods, pod('a', '300m'), 'ns')
  await h.create(pods, pod('b', '1'), 'ns')
  await h.create(pods, pod('elsewhere', '9'), 'other')
  await h.create(services, { metadata: { name: 's' }, spec: { type: 'NodePort', ports: [{ port: 80 }, { port: 81 }] } }, 'ns')
  await h.create(configmaps, { metadata: { name: 'c' } }, 'ns')
  const hard = { pods: '5', 'requests.cpu': '4', 'services.nodeports': '3', 'count/configmaps': '9', 'count/deployments.apps': '1' }
  await h.create(resourcequotas, { metadata: { name: 'q' }, spec: { hard } }, 'ns')
  await h.start(new ResourceQuotaController(h.context))
  const status = async () => {
    await h.clock.settle()
    return (await h.client.resource(resourcequotas).namespace('ns').get('q')).status
  }
  expect(await status()).toEqual({
    hard,
    used: { pods: '2', 'requests.cpu': '1300m', 'services.nodeports': '2', 'count/configmaps': '1', 'count/deployments.apps': '0' },
  })
  const b = await h.client.resource(pods).namespace('ns').get('b')
  await h.client
    .resource(pods)
    .namespace('ns')
    .updateStatus({ ...b, status: { phase: 'Succeeded' } } as never)
  expect((await status())?.used).toMatchObject({ pods: '1', 'requests.cpu': '300m' })
  await h.client.resource(pods).namespace('ns').delete('a', { gracePeriodSeconds: 0 })
  expect((await status())?.used).toMatchObject({ pods: '0', 'requests.cpu': '0' })
  const quota = await h.client.resource(resourcequotas).namespace('ns').get('q')
  await h.client
    .resource(resourcequotas)
    .namespace('ns')
    .update({ ...quota, spec: { hard: { pods: '1' } } } as never)
  expect(await status()).toEqual({ hard: { pods: '1' }, used: { pods: '0' } })
  expect(await h.stop()).toEqual({ timers: 0, watches: 0 })
})
