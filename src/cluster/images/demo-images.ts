import { execFile } from 'node:child_process'
import { access, readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { type OciImage, ociImage } from './oci-image.ts'
import { pauseProgram } from './pause.ts'
import { TarWriter } from './tar.ts'

const run = promisify(execFile)
const PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

export const SANDBOX_IMAGE = 'registry.k8s.io/pause:3.10.1'

/** Images made from this machine's packages, by `repository:tag` of the registry that has them. */
export type ImageSet = ReadonlyMap<string, OciImage>

/** The sandbox's image: always there, whatever the network. */
export async function sandboxImages(): Promise<ImageSet> {
  const tar = new TarWriter()
  const { executable, entrypoint } = pauseProgram()
  if (executable) tar.file('pause', executable, 0o755)
  else await addBusybox(tar)
  const image = ociImage([tar.finish()], { User: '65535:65535', Entrypoint: entrypoint, Env: [PATH] })
  return new Map(['pause:3.10.1', 'pause:3.10', 'pause:3.9'].map((name) => [name, image]))
}

/**
 * nginx and busybox for clusters without a registry. A missing package leaves its image out and is named in `missing`.
 */
export async function demoImages(): Promise<{ images: ImageSet; missing: string[] }> {
  const images = new Map<string, OciImage>()
  const missing: string[] = []
  const busybox = new TarWriter()
  if (!(await exists('/bin/busybox'))) return { images, missing: ['busybox-static', 'nginx-light'] }
  await addBusybox(busybox)
  const layer = busybox.finish()
  const busyboxImage = ociImage([layer], { Env: [PATH], Cmd: ['sh'] })
  for (const tag of ['1.36', 'latest']) images.set(`library/busybox:${tag}`, busyboxImage)
  if (await exists('/usr/sbin/nginx')) {
    const nginxImage = ociImage([layer, await nginxLayer()], {
      Env: [PATH, 'NGINX_VERSION=1.27'],
      Cmd: ['nginx', '-g', 'daemon off;'],
      ExposedPorts: { '80/tcp': {} },
      StopSignal: 'SIGQUIT',
    })
    for (const tag of ['1.27', 'latest']) images.set(`library/nginx:${tag}`, nginxImage)
  } else missing.push('nginx-light')
  return { images, missing }
}

async function addBusybox(tar: TarWriter): Promise<void> {
  tar.file('bin/busybox', await readFile('/bin/busybox'), 0o755)
  const { stdout } = await run('/bin/busybox', ['--list'])
  for (const applet of stdout.trim().split('\n')) if (applet !== 'busybox') tar.symlink(`bin/${applet}`, 'busybox')
  tar.file('etc/passwd', 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n')
  tar.file('etc/group', 'root:x:0:\nnogroup:x:65534:\n')
  tar.directory('tmp', 0o1777)
  tar.directory('root', 0o700)
  for (const d of ['var', 'run', 'home']) tar.directory(d)
  tar.symlink('usr/bin', '/bin')
}

const NGINX_CONF = `user nginx;
worker_processes 1;
error_log /var/log/nginx/error.log notice;
pid /var/run/nginx.pid;
events { worker_connections 1024; }
http {
  include /etc/nginx/mime.types;
  default_type application/octet-stream;
  access_log /var/log/nginx/access.log;
  sendfile on;
  keepalive_timeout 65;
  include /etc/nginx/conf.d/*.conf;
}
`
const NGINX_SITE = `server {
  listen 80;
  server_name localhost;
  location / { root /usr/share/nginx/html; index index.html; }
}
`

async function nginxLayer(): Promise<Buffer> {
  const tar = new TarWriter()
  const binary = '/usr/sbin/nginx'
  tar.file(binary, await readFile(binary), 0o755)
  const { stdout } = await run('ldd', [binary])
  for (const line of stdout.split('\n')) {
    const path = /(\/\S+)/.exec(line)?.[1]
    if (path) tar.file(path, await readFile(path), 0o755)
  }
  tar.file('etc/nginx/mime.types', await readFile('/etc/nginx/mime.types'))
  tar.file('etc/nginx/nginx.conf', NGINX_CONF)
  tar.file('etc/nginx/conf.d/default.conf', NGINX_SITE)
  tar.file('usr/share/nginx/html/index.html', await readFile('/usr/share/nginx/html/index.html'))
  tar.file('etc/passwd', 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\nnginx:x:101:101:nginx:/nonexistent:/bin/false\n')
  tar.file('etc/group', 'root:x:0:\nnginx:x:101:\nnogroup:x:65534:\n')
  tar.symlink('var/log/nginx/access.log', '/dev/stdout')
  tar.symlink('var/log/nginx/error.log', '/dev/stderr')
  for (const d of ['body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']) tar.directory(`var/lib/nginx/${d}`, 0o777)
  tar.directory('var/run')
  return tar.finish()
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
