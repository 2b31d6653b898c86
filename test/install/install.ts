import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { EmptyRoot, root, somebody, type RootUser } from '../fixtures/empty-root.ts'

// The README's two commands with the npm of each Node, as root and as a user, in a root without Python, make, compiler
// and headers, and the lines of the first screen. INSTALL_FOLDER keeps the Nodes and npm's cache; words after the call
// (`node22`, `root`) select the runs that have them in their names.
const folder = process.env['INSTALL_FOLDER'] ?? mkdtempSync(join(tmpdir(), 'install-'))
const only = process.argv.slice(2)
const checkout = join(import.meta.dirname, '../..')

const nodes = [
  { name: 'node20', node: '20.20.2', npm: '10.9.9' },
  { name: 'node22', node: '22.23.3', npm: '10.9.9' },
  { name: 'node24', node: '24.21.0', npm: '11.21.2' },
  { name: 'node26', node: '26.10.0', npm: '11.21.2' },
]

/** The most lines of warnings: those of npm and of other packages' deprecations may not fill a screen. */
const noiseLinesMax = 12

/** Installs a Node and its npm outside, as a machine has them beforehand. */
function toolsOf({ name, node, npm }: (typeof nodes)[number]): string {
  const home = join(folder, name)
  if (existsSync(join(home, 'node_modules/npm'))) return join(home, 'node_modules')
  mkdirSync(home, { recursive: true })
  writeFileSync(join(home, 'package.json'), '{ "private": true, "allowScripts": { "node": true } }')
  const packages = [`node@${node}`, `npm@${npm}`]
  const done = spawnSync('npm', ['install', '--no-audit', '--no-fund', ...packages], {
    cwd: home,
    encoding: 'utf8',
  })
  if (done.status !== 0) throw new Error(`npm install ${packages.join(' ')}: ${done.stderr}`)
  return join(home, 'node_modules')
}

/** The files that are in git, as a clone has them. */
function clone(to: string): void {
  const files = spawnSync('git', ['ls-files', '-z'], { cwd: checkout, encoding: 'utf8' }).stdout
  const done = spawnSync('sh', ['-c', `tar -C "${checkout}" --null -T - -cf - | tar -C "${to}" -xf -`], {
    input: files,
  })
  if (done.status !== 0) throw new Error(String(done.stderr))
}

function emptyRootWith(tools: string, user: RootUser): { readonly box: EmptyRoot; readonly path: string } {
  const box = new EmptyRoot()
  box.copy(join(tools, 'node/bin/node'), '/opt/node/bin/node')
  box.libraries(join(tools, 'node/bin/node'))
  // libatomic, which Node 26 loads and earlier ones do not: the README says so.
  box.libraries(process.execPath)
  box.copy(join(tools, 'npm'), '/opt/node/lib/npm')
  for (const name of ['npm', 'npx']) {
    box.write(
      `/opt/node/bin/${name}`,
      `#!/bin/sh\nexec /opt/node/bin/node /opt/node/lib/npm/bin/${name}-cli.js "$@"\n`,
    )
    spawnSync('chmod', ['755', join(box.folder, 'opt/node/bin', name)])
  }
  const gateway = join(box.folder, user.home, 'gateway')
  mkdirSync(gateway, { recursive: true })
  clone(gateway)
  box.own(user.home, user)
  return { box, path: '/opt/node/bin:/usr/bin:/bin' }
}

/** A newcomer's first screen: starts the gateway, pastes each line, reads the pages, ends it. */
const firstScreen = `cd ~/gateway && npm start > ~/out 2> ~/screen & 
for _ in $(seq 1 600); do grep -q '^Read on' ~/screen && break; sleep 0.1; done
grep '^ *curl' ~/screen > ~/lines
while read -r line; do eval "$line -sS --fail"; echo; done < ~/lines
page=$(sed -n 's/^ *Account area *\\([^ ]*\\) .*/\\1/p' ~/screen)
metrics=$(sed -n 's/^ *Metrics *//p' ~/screen)
curl -sS --fail -o /dev/null -w 'account area %{http_code}\\n' "$page/sign-in"
curl -sS --fail "$metrics" | grep -c '^gateway_' | sed 's/^/metrics /'
cat ~/screen >&2`

async function tryInstall(t: Test, tools: string, user: RootUser): Promise<void> {
  const { box, path } = emptyRootWith(tools, user)
  t.teardown(() => box.remove())
  for (const name of ['grep', 'sed', 'seq', 'sleep']) box.program(name)
  const missing = await box.run('command -v sh python3 python make cc gcc g++; ls /usr/include', user, {
    path,
  })
  t.equal(missing.stdout, '/bin/sh\n', 'there is no compiler')

  const began = performance.now()
  const installed = await box.run('cd ~/gateway && npm ci', user, { path, network: true })
  t.equal(installed.code, 0, `npm ci succeeds, in ${Math.round((performance.now() - began) / 1000)} s`)
  const lines = `${installed.stdout}${installed.stderr}`.split('\n').filter(line => line.trim() !== '')
  t.ok(lines.length <= noiseLinesMax, `${lines.length} lines are printed`)
  if (!t.passing()) t.comment(lines.slice(-40).join('\n'))

  const { stdout, stderr } = await box.run(firstScreen, user, { path })
  const answers = stdout.split('\n').filter(line => line.startsWith('{'))
  t.same(
    answers.map(text =>
      Object.keys(JSON.parse(text) as object).find(key => /choices|content|candidates/.test(key)),
    ),
    ['choices', 'content', 'candidates'],
    'each line of the screen gets a response',
  )
  t.match(stdout, /account area 200\nmetrics [1-9]/, 'so do the account area and the metrics')
  t.match(stderr, /sign in as \S+ with the password \S+/)
  if (!t.passing()) t.comment(`${stdout}\n${stderr}`)
}

t.setTimeout(0)
const all = nodes.flatMap(node =>
  Object.entries({ root, user: somebody }).map(([name, user]) => {
    return { title: `npm ${node.npm} of ${node.name}, ${name}`, node, user }
  }),
)
const chosen = all.filter(({ title }) => only.every(word => title.includes(word)))
if (chosen.length === 0)
  throw new Error(`No run has ${only.join(' and ')} in it: ${all.map(one => one.title).join('; ')}.`)
for (const { title, node, user } of chosen)
  await t.test(title, { timeout: 900_000 }, t => tryInstall(t, toolsOf(node), user))
