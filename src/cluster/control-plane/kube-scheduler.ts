import { type FlagSpecs, parseFlags, UsageError } from '../../component-base/flags/index.ts'
import { type ComponentContext, userAgent } from '../../component-base/index.ts'
import { runScheduler } from '../../scheduler/index.ts'
import { componentClient } from './component-client.ts'
import type { ControlPlaneEnvironment, FileReader } from './environment.ts'
import { commonFlags, componentConnectionFlags } from './klog-flags.ts'

export const schedulerFlags: FlagSpecs = {
  'secure-port': { kind: 'int', usage: 'The port on which to serve HTTPS with authentication and authorization.', default: '10259' },
  ...componentConnectionFlags,
  ...commonFlags,
}

/** Schedules Pods until the signal aborts. */
export async function runKubeScheduler(
  context: ComponentContext,
  argv: readonly string[],
  environment: ControlPlaneEnvironment,
  files: FileReader,
): Promise<void> {
  const flags = parseFlags(schedulerFlags, argv, { singleDash: true })
  if (flags.string('kubeconfig') === '') throw new UsageError('--kubeconfig must be specified')
  const connection = componentClient({
    kubeconfig: await files.read(flags.string('kubeconfig')),
    apiServers: environment.apiServers,
    clock: context.clock,
    userAgent: userAgent('kube-scheduler'),
    inProcess: environment.inProcess,
  })
  try {
    await runScheduler(context, { client: connection.client, hostname: environment.hostname, leaderElect: flags.bool('leader-elect') })
  } finally {
    connection.revoke()
  }
}
