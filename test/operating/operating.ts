import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { EmptyRoot, root } from '../fixtures/empty-root.ts'
import { startPostgres } from '../fixtures/postgres-server.ts'
import { until } from '../fixtures/until.ts'
import { freePort } from '../fixtures/free-port.ts'

// docs/operating.md followed literally: its commands in a root that contains only Node and what the commands name, and
// its nginx in front of two nodes that are restarted one after the other. It needs root, nginx and npm 11.

/** A word after the command, `page` or `restarted`, selects a test. */
const isChosen = (title: string): boolean => process.argv.slice(2).every(word => title.includes(word))

const checkout = join(import.meta.dirname, '../..')
const page = readFileSync(join(checkout, 'docs/operating.md'), 'utf8')

/** The code blocks of a language, in the order of the page. */
function blocks(language: string): readonly string[] {
  return [...page.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))].map(
    ([, block = '']) => block,
  )
}

/** `sudo`, for a root where every user is root unless the command names one. */
const sudo = `#!/bin/sh
if [ "$1" = -u ]; then user=$2; shift 2; exec setpriv --reuid="$user" --regid="$user" --clear-groups env "$@"; fi
exec "$@"
`

/** The folder of the npm that runs this; without one, of this Node's. */
function npmFolder(): string {
  const { npm_execpath: cli } = process.env
  if (cli !== undefined) return join(cli, '../../..')
  return spawnSync('npm', ['root', '-g'], { encoding: 'utf8' }).stdout.trim()
}

function machine(): EmptyRoot {
  const box = new EmptyRoot()
  for (const name of ['useradd', 'install', 'setpriv', 'sed', 'grep', 'sleep', 'mv', 'cp', 'chown', 'id'])
    box.program(name)
  box.program(process.execPath, '/usr/bin/node')
  box.copy(join(process.env['NPM_FOLDER'] ?? npmFolder(), 'npm'), '/usr/lib/npm')
  for (const name of ['npm', 'npx']) {
    box.write(`/usr/bin/${name}`, `#!/bin/sh\nexec node /usr/lib/npm/bin/${name}-cli.js "$@"\n`)
    spawnSync('chmod', ['755', join(box.folder, 'usr/bin', name)])
  }
  box.write('/usr/bin/sudo', sudo)
  spawnSync('chmod', ['755', join(box.folder, 'usr/bin/sudo')])
  box.write(
    '/etc/login.defs',
    'SYS_UID_MIN 100\nSYS_UID_MAX 999\nSYS_GID_MIN 100\nSYS_GID_MAX 999\nUSERGROUPS_ENAB yes\n',
  )
  box.write('/etc/shadow', 'root:*:1::::::\n')
  box.write('/etc/gshadow', 'root:*::\n')
  box.copy('/etc/pam.d', '/etc/pam.d')
  const files = spawnSync('git', ['ls-files', '-z'], { cwd: checkout }).stdout
  mkdirSync(join(box.folder, 'root/gateway'))
  spawnSync(
    'sh',
    ['-c', `tar -C "${checkout}" --null -T - -cf - | tar -C "${box.folder}/root/gateway" -xf -`],
    {
      input: files,
    },
  )
  return box
}

/** A unit's value of a key; several lines are joined. */
function ofUnit(unit: string, key: string): string {
  return new RegExp(`^${key}=(.*)$`, 'm').exec(unit)?.[1] ?? ''
}

const followed = 'the page, followed in an empty root, ends in a gateway that serves'
const restarted = 'no request is lost while two nodes behind nginx are restarted in turn'

t.setTimeout(0)
await t.test(followed, { timeout: 900_000, skip: !isChosen(followed) && 'another was chosen' }, async t => {
  const box = machine()
  t.teardown(() => box.remove())
  const [install = ''] = blocks('sh')
  const [settings = ''] = blocks('yaml')
  const unit = blocks('ini')[0] ?? ''

  const installed = await box.run(`cd ~/gateway && set -e\n${install}`, root, { network: true })
  t.equal(installed.code, 0, 'the commands succeed')
  if (installed.code !== 0) t.comment(`${installed.stdout}${installed.stderr}`.slice(-4000))
  const config = join(box.folder, 'etc/gateway/gateway.yaml')
  const own = readFileSync(config, 'utf8')
  t.match(
    own,
    /^store: sqlite:\/var\/lib\/gateway\/gateway\.db$/m,
    'the store is in a folder that no installation replaces',
  )
  t.equal(statSync(join(box.folder, 'etc/gateway/secrets.env')).mode & 0o777, 0o600)
  t.equal(statSync(join(box.folder, 'var/lib/gateway')).mode & 0o777, 0o700)

  const environment = ofUnit(unit, 'Environment')
  const asUnit = (command: string): string =>
    `set -a; . ${ofUnit(unit, 'EnvironmentFile')}; set +a; exec setpriv --reuid=${ofUnit(unit, 'User')} ` +
    `--regid=${ofUnit(unit, 'User')} --clear-groups --no-new-privs env ${environment} ${command}`
  const tried = `${asUnit(ofUnit(unit, 'ExecStart').replace('/usr/bin/env ', ''))} 2> /tmp/screen &
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do grep -q '^Read on' /tmp/screen && break; sleep 1; done
    eval "$(grep -m 1 '^ *curl' /tmp/screen) -sS --fail"; echo
    sudo -u gateway GATEWAY_CONFIG=/etc/gateway/gateway.yaml gateway account list
    sudo -u gateway GATEWAY_CONFIG=/etc/gateway/gateway.yaml gateway backup /var/lib/gateway/copy.db
    sudo -u gateway gateway verify --config /etc/gateway/gateway.yaml
    cat /tmp/screen >&2`
  const served = await box.run(tried, root)
  t.match(served.stdout, /"choices"/, 'the line of the first screen gets a response')
  t.match(served.stdout, /demo@sandbox\.invalid/, 'the command line asks the running gateway')
  t.match(served.stdout, /the ledger is in order/)
  if (!t.passing()) t.comment(`${served.stdout}${served.stderr}`.slice(-4000))
  t.equal(statSync(join(box.folder, 'var/lib/gateway/gateway.db')).mode & 0o777, 0o600)

  writeFileSync(config, `${own}\n${settings}`)
  box.write(
    '/etc/gateway/secrets.env',
    'OPENAI_API_KEY=sk-a\nANTHROPIC_API_KEY=sk-b\nEGRESS_PASSWORD=p%40ss\n',
  )
  const checked = await box.run(asUnit('gateway check'), root)
  t.equal(checked.code, 0, 'its settings are in order')
  if (checked.code !== 0) t.comment(`${checked.stdout}${checked.stderr}`)

  if (spawnSync('systemd-analyze', ['--version']).status !== 0) return
  const file = join(mkdtempSync(join(tmpdir(), 'unit-')), 'gateway.service')
  writeFileSync(file, unit.replace('/usr/bin/env gateway', process.execPath))
  const { stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], {
    encoding: 'utf8',
  })
  t.notMatch(`${stdout}${stderr}`, /gateway\.service:\d+|Unknown|Failed to parse/, 'systemd accepts the unit')
  rmSync(dirname(file), { recursive: true })
})

interface Node {
  start(): Promise<void>
  stop(): Promise<void>
}

async function node(t: Test, store: string, port: number): Promise<Node> {
  const folder = t.testdir({})
  const adminPort = await freePort()
  const file = join(folder, '..', `node-${port}.yaml`)
  writeFileSync(
    file,
    stringify({
      include: [join(checkout, 'config/gateway.yaml')],
      store,
      listen: { host: '127.0.0.1', port },
      admin: { listen: { host: '127.0.0.1', port: adminPort } },
      accountArea: null,
      limits: { loopDelayMsMax: 600_000 },
    }),
  )
  let child: ChildProcess | undefined
  t.teardown(() => child?.kill('SIGKILL'))
  return {
    async start() {
      const words = [join(checkout, 'bin/gateway'), 'serve', '--config', file]
      child = spawn(process.execPath, words, { stdio: ['ignore', 'ignore', 'ignore'] })
      const isReady = (): Promise<boolean> =>
        fetch(`http://127.0.0.1:${adminPort}/readyz`).then(
          ({ status }) => status === 200,
          () => false,
        )
      await until(isReady, 60_000)
    },
    async stop() {
      child?.kill('SIGTERM')
      if (child?.exitCode === null) await once(child, 'exit')
    },
  }
}

/** The page's nginx in front of two nodes, without its certificate. */
async function nginx(t: Test, ports: readonly number[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'gw-nginx-'))
  const port = await freePort()
  const [block = ''] = blocks('nginx')
  const documented = block
    .replace('127.0.0.1:8080', `127.0.0.1:${ports[0]}`)
    .replace('# server 10.0.0.2:8080', `server 127.0.0.1:${ports[1]}`)
    .replace('listen 443 ssl;', `listen 127.0.0.1:${port};`)
    .replaceAll(/^ *ssl_certificate.*$/gm, '')
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map(name => `${name}_temp_path ${folder}/${name};`)
    .join('\n')
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/error.log;
events { worker_connections 1024; }
http { access_log off; ${places}\n${documented} }`,
  )
  const child = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: 'ignore' })
  t.teardown(async () => {
    child.kill('SIGKILL')
    if (child.exitCode === null) await once(child, 'exit')
    if (!t.passing()) t.comment(readFileSync(join(folder, 'error.log'), 'utf8').slice(-3000))
    rmSync(folder, { recursive: true, force: true })
  })
  const url = `http://127.0.0.1:${port}`
  const isListening = (): Promise<boolean> =>
    fetch(url).then(
      () => true,
      () => false,
    )
  await until(isListening)
  return url
}

await t.test(restarted, { timeout: 600_000, skip: !isChosen(restarted) && 'another was chosen' }, async t => {
  const server = await startPostgres(t)
  const store = await server.createDatabase()
  const ports = [await freePort(), await freePort()]
  const nodes = [await node(t, store, ports[0] as number), await node(t, store, ports[1] as number)]
  for (const one of nodes) await one.start()
  const command = (...words: readonly string[]): string =>
    spawnSync(
      process.execPath,
      [
        join(checkout, 'bin/gateway'),
        ...words,
        '--config',
        join(t.testdirName, '..', `node-${ports[0]}.yaml`),
        '--json',
      ],
      { encoding: 'utf8' },
    ).stdout
  const { id } = JSON.parse(command('account', 'create', '--email', 'load@example.org')) as { id: string }
  command('account', 'credit', id, '--rub', '1000', '--reason', 'test')
  const { key } = JSON.parse(command('key', 'create', '--account', id)) as { key: string }
  const url = await nginx(t, ports)

  const lost: string[] = []
  let sent = 0
  let isRestarting = true
  const ask = async (): Promise<void> => {
    while (isRestarting || sent < 200) {
      sent += 1
      const response = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: '{"model":"sandbox-chat","messages":[{"role":"user","content":"Hello"}]}',
      }).catch((error: unknown) => new Response(String(error), { status: 599 }))
      const body = await response.text()
      if (response.status !== 200) lost.push(`${response.status} ${body.slice(0, 200)}`)
      await new Promise(resolve => setTimeout(resolve, 100))
    }
  }
  const clients = [1, 2, 3, 4].map(ask)
  for (const one of nodes) {
    await one.stop()
    await one.start()
  }
  isRestarting = false
  await Promise.all(clients)

  t.ok(sent >= 200, `${sent} requests were sent`)
  t.same(lost, [], 'all of them got their responses')
  t.match(command('verify'), '"ok":true')
})
