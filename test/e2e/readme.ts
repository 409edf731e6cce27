import { vary } from '../walkthrough/page.ts'
import { runPage } from '../walkthrough/runner.ts'
import { freePort, TestCluster } from './cluster.ts'

const UP = 'k8ts up --detach --runtime simulated'

/** Plays the README's tour: its own commands start and stop the cluster, here in a folder and on a port of the test. @returns the number of commands */
export async function playReadme(text: string, options: { nodeName: string; cli: string; kubectl: string }): Promise<number> {
  const cluster = new TestCluster({ ...options, runtime: 'simulated' })
  try {
    const words = {
      [UP]: `${UP} --no-merge-kubeconfig --secure-port ${await freePort()}`,
      '/home/you/.k8ts': cluster.dataDir,
    }
    return (await runPage(vary(text, words), { runtime: 'simulated', env: cluster.env })).commands
  } finally {
    // Does nothing when the tour came to its end.
    await cluster.down()
    cluster.remove()
  }
}
