#!/usr/bin/env node
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

if (major < 24 || (major === 24 && minor < 12)) {
  console.error(
    `gateway: Node.js ${process.versions.node} is too old, 24.12 or newer is needed: https://nodejs.org`,
  )
  process.exitCode = 1
} else {
  // Imported late, so that an old Node gets to say the line above.
  const { runCli } = await import('../lib/cli/program.ts')
  const { default: manifest } = await import('../package.json', { with: { type: 'json' } })
  // A reader such as `head` may leave before everything is written; that is no error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
  process.exitCode = await runCli(process.argv.slice(2), {
    version: manifest.version,
    stdout: process.stdout,
    stderr: process.stderr,
    async startGateway(options) {
      const [{ startGateway }, { plugins }] = await Promise.all([
        import('../lib/gateway.ts'),
        import('../plugins/index.ts'),
      ])
      return startGateway({ ...options, plugins })
    },
  })
}
