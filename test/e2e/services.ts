import { execFileSync } from 'node:child_process'
import { get } from 'node:http'
import { slowness } from '../walkthrough/runner.ts'
import type { TestCluster } from './cluster.ts'

const NODE_IP = '10.200.0.1'
const NODE_PORT = 30088

const OBJECTS = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: web
        image: docker.io/library/busybox:1.36
        command: [sh, -c, 'mkdir /w; hostname > /w/index.html; exec httpd -f -p 8080 -h /w']
        readinessProbe: {httpGet: {port: 8080, path: /}, periodSeconds: 1}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  type: NodePort
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: 8080, nodePort: ${NODE_PORT}}]
---
apiVersion: v1
kind: Service
metadata: {name: sticky}
spec:
  selector: {app: web}
  sessionAffinity: ClientIP
  ports: [{port: 80, targetPort: 8080}]
---
apiVersion: v1
kind: Service
metadata: {name: nobody}
spec:
  selector: {app: nobody}
  ports: [{port: 80}]
---
apiVersion: v1
kind: Service
metadata: {name: nginx}
spec:
  selector: {app: nginx}
  ports: [{port: 80}]
---
apiVersion: v1
kind: Pod
metadata: {name: nginx, labels: {app: nginx}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: nginx, image: 'docker.io/library/nginx:1.27'}
---
apiVersion: v1
kind: Pod
metadata: {name: client}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: client, image: 'docker.io/library/busybox:1.36', command: [sleep, '3600']}
`

/** What the addresses of Services lead to, with real containers: from Pods, from the machine, and to the Pod that asks. */
export async function services(cluster: TestCluster): Promise<number> {
  let checks = 0
  const check = async (what: string, look: () => Promise<string>, right: (seen: string) => boolean) => {
    checks++
    const end = performance.now() + 15_000 * slowness()
    for (;;) {
      const seen = await look().catch((e) => `failed: ${e.message}`)
      if (right(seen)) return
      if (performance.now() > end) throw new Error(`${what}: ${seen}`)
      await new Promise((r) => setTimeout(r, 200))
    }
  }
  const { code, output } = await cluster.run('kubectl', ['apply', '-f', '-'], OBJECTS)
  if (code !== 0) throw new Error(output)
  await check(
    'kube-proxy runs as a DaemonSet',
    () => cluster.kubectl('get', 'daemonset', 'kube-proxy', '-n', 'kube-system', '-o', 'jsonpath={.status.desiredNumberScheduled} {.status.numberReady}'),
    (s) => s === '1 1',
  )
  await cluster.kubectl('wait', 'pods', '--all', '--for=condition=Ready', `--timeout=${Math.ceil(30 * slowness())}s`)
  const addressOf = (name: string) => cluster.kubectl('get', 'service', name, '-o', 'jsonpath={.spec.clusterIP}')
  const [web, sticky, nobody, nginx] = await Promise.all(['web', 'sticky', 'nobody', 'nginx'].map(addressOf))
  const pods = (await cluster.kubectl('get', 'pods', '-l', 'app=web', '-o', 'jsonpath={.items[*].metadata.name}')).split(' ').sort()
  const inside = async (pod: string, command: string) => (await cluster.run('kubectl', ['exec', pod, '--', 'sh', '-c', command])).output
  const distinct = (text: string) => [...new Set(text.trim().split('\n'))].sort().join(' ')
  const loop = (address: string, times: number) => `for i in $(seq ${times}); do timeout 5 wget -qO- http://${address}/; done`

  await check(
    'a Pod reaches both endpoints of a ClusterIP',
    () => inside('client', loop(web as string, 24)),
    (s) => distinct(s) === pods.join(' '),
  )
  await check(
    'a Pod reaches nginx by its ClusterIP',
    () => inside('client', `timeout 5 wget -qO- http://${nginx}/`),
    (s) => s.includes('<title>Welcome to nginx'),
  )
  await check(
    'the machine reaches the NodePort',
    () => fetchText(`http://${NODE_IP}:${NODE_PORT}/`),
    (s) => pods.includes(s.trim()),
  )
  await check(
    'the machine reaches the ClusterIP',
    () => fetchText(`http://${web}/`),
    (s) => pods.includes(s.trim()),
  )
  await check(
    'a client with affinity stays',
    () => inside('client', loop(sticky as string, 12)),
    (s) => pods.includes(distinct(s)),
  )
  await check(
    'a Service without endpoints refuses',
    () => inside('client', `timeout 5 wget -qO- http://${nobody}/`),
    (s) => s.includes('Connection refused'),
  )
  await check(
    'a port that the Service has not refuses',
    () => inside('client', `timeout 5 wget -qO- http://${web}:81/`),
    (s) => s.includes('Connection refused'),
  )
  await check(
    'a Pod reaches itself',
    () => inside(pods[0] as string, loop(web as string, 24)),
    (s) => distinct(s) === pods.join(' '),
  )
  await check(
    'a Pod reaches a Service by its name',
    () => inside('client', loop('web.default', 4)),
    (s) =>
      s.trim() !== '' &&
      s
        .trim()
        .split('\n')
        .every((l) => pods.includes(l)),
  )
  // The Pod's nginx as a client that speaks today's TLS: what is asked of it, it asks the API server with the Pod's own token.
  const forward = `cat > /tmp/n.conf <<EOF
pid /tmp/n.pid; error_log /dev/null; events {}
http { access_log off; server { listen 127.0.0.1:9999; location / {
  proxy_pass https://10.96.0.1; proxy_set_header Authorization "Bearer $(cat /var/run/secrets/kubernetes.io/serviceaccount/token)"; } } }
EOF
[ -e /tmp/n.pid ] || nginx -c /tmp/n.conf; timeout 5 wget -SqO- http://127.0.0.1:9999`
  await check(
    'a Pod reaches the API server by its ClusterIP, and is known there',
    () => inside('nginx', `${forward}/api 2>&1`),
    (s) => s.includes('"APIVersions"'),
  )
  await check(
    "a Pod's account may not read secrets",
    () => inside('nginx', `${forward}/api/v1/namespaces/default/secrets 2>&1`),
    (s) => s.includes('HTTP/1.1 403 Forbidden'),
  )
  await check(
    'a Service that is deleted leads nowhere',
    async () => {
      await cluster.run('kubectl', ['delete', 'service', 'web', '--ignore-not-found'])
      return `${execFileSync('nft', ['list', 'table', 'ip', 'kube-proxy'], { encoding: 'utf8' }).includes('default/web')}`
    },
    (s) => s === 'false',
  )
  return checks
}

function fetchText(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const req = get(url, { agent: false, timeout: 3000 }, (res) => {
      let text = ''
      res.setEncoding('utf8')
      res.on('data', (d) => (text += d))
      res.once('end', () => resolve(text))
      res.once('error', reject)
    })
    req.once('timeout', () => req.destroy(new Error('no answer')))
    req.once('error', reject)
  })
}
