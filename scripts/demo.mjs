/** The nginx Deployment, its Pods, the five events of one of them and the page served: each command shown as it is typed. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MANIFEST = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: nginx
spec:
  replicas: 3
  selector:
    matchLabels:
      app: nginx
  template:
    metadata:
      labels:
        app: nginx
    spec:
      containers:
      - name: nginx
        image: docker.io/library/nginx:1.27
        resources:
          requests:
            cpu: 100m
            memory: 128Mi
`

export async function runDemo(cli, dataDirFlags) {
  const kubectl = (args, { quiet = false } = {}) => {
    const r = spawnSync(process.execPath, [cli, 'kubectl', ...dataDirFlags, ...args], { encoding: 'utf8' })
    if (!quiet) process.stdout.write(`\n$ kubectl ${args.join(' ')}\n${r.stdout}${r.stderr}`)
    return r
  }
  const manifest = join(tmpdir(), `k8ts-demo-${process.pid}.yaml`)
  writeFileSync(manifest, MANIFEST)
  kubectl(['get', 'nodes', '-o', 'wide'])
  if (kubectl(['apply', '-f', manifest]).status !== 0) return 1
  if (kubectl(['rollout', 'status', 'deployment/nginx', '--timeout=120s']).status !== 0) return 1
  kubectl(['get', 'deployments,replicasets,pods', '-o', 'wide'])
  const pod = kubectl(['get', 'pods', '-l', 'app=nginx', '-o', 'jsonpath={.items[0].metadata.name}'], { quiet: true }).stdout
  kubectl(['get', 'events', '--field-selector', `involvedObject.name=${pod}`])
  const ip = kubectl(['get', 'pod', pod, '-o', 'jsonpath={.status.podIP}'], { quiet: true }).stdout
  const runtime = kubectl(['get', 'nodes', '-o', 'jsonpath={.items[0].status.nodeInfo.containerRuntimeVersion}'], { quiet: true }).stdout
  if (runtime.startsWith('simulated')) console.log('\nthe Pods are simulated: there is no page to fetch')
  else {
    console.log(`\n$ curl http://${ip}`)
    try {
      const page = await (await fetch(`http://${ip}`, { signal: AbortSignal.timeout(5000) })).text()
      console.log(page.split('\n').slice(0, 6).join('\n'))
    } catch (e) {
      console.error(`the page could not be fetched: ${e.message}`)
      return 1
    }
  }
  console.log('\nthe cluster goes on: "k8ts status" shows it, "k8ts down" stops it (in a clone: node dist/cli.js …)')
  return 0
}
