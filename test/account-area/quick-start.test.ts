import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import t from 'tap'
import { parse } from 'yaml'
import { startAccountArea } from '../fixtures/account-area.ts'

const run = promisify(execFile)
const publicUrl = 'https://gateway.example'
const chat = {
  provider: 'sandbox',
  upstreamModel: 'sandbox-chat',
  outputTokensMax: 1000,
  rubPerMillion: { input: '1', output: '1' },
}
const area = await startAccountArea(t, {
  publicUrl,
  models: { 'gpt-5-mini': chat, 'claude-sonnet-4-5': chat, 'gemini-2.5-flash': chat },
})
const { browser } = await area.signUp()
const { text } = await browser.get('/quick-start')
const { key, url } = area.test

/** A snippet as a reader copies it. */
function snippet(id: string): string {
  const escaped = new RegExp(`id="${id}-code"[^>]*>([^<]*)</pre>`).exec(text)?.[1] ?? ''
  return (
    escaped
      // Browsers drop a line end right after the tag.
      .replace(/^\n/, '')
      .replaceAll('&quot;', '"')
      .replaceAll('&#39;', "'")
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&amp;', '&')
  )
}

await t.test('every client has a snippet with the address and without a real key', async t => {
  for (const id of [
    'curl-openai',
    'python-openai',
    'javascript-openai',
    'claude-code',
    'codex',
    'gemini-cli',
    'cursor',
  ]) {
    t.match(snippet(id), publicUrl, id)
    t.match(text, `data-copy="${id}-code"`)
  }
  t.notMatch(text, key)
  t.equal(snippet('key'), 'export GATEWAY_KEY="gw-YOUR-KEY"')
  for (const name of ['gpt-5-mini', 'claude-sonnet-4-5', 'gemini-2.5-flash']) t.match(text, name)
  const { browser: english } = await area.signUp()
  await english.post('/appearance', { language: 'en', theme: 'system', next: '/' }, { from: '/quick-start' })
  t.match((await english.get('/quick-start')).text, 'Put the key of the gateway into OpenAI API Key.')
})

await t.test('the clients are set up as the documentation says', async t => {
  const documentation = readFileSync(new URL('../../docs/clients.md', import.meta.url), 'utf8')
  const lines = ['claude-code', 'codex', 'gemini-cli'].flatMap(id => snippet(id).split('\n'))
  const settings = lines
    .flatMap(line => /^(?:export )?(\w+) ?=|^\[(.+)\]$/.exec(line)?.slice(1, 3) ?? [])
    .filter(name => name !== undefined)
  t.ok(settings.length >= 10)
  for (const name of settings) t.match(documentation, name)
  t.match(documentation, `base_url = "${publicUrl}/v1"`)
  t.match(snippet('codex'), `base_url = "${publicUrl}/v1"`)
  t.match(snippet('claude-code'), `ANTHROPIC_BASE_URL="${publicUrl}"\n`)
})

for (const library of ['openai', 'anthropic', 'gemini']) {
  await t.test(`the JavaScript for ${library} runs unchanged`, async t => {
    const code = snippet(`javascript-${library}`).replaceAll(publicUrl, url)
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', code], {
      env: { PATH: process.env['PATH'], GATEWAY_KEY: key },
    })
    t.ok(stdout.trim().length > 0, 'a response was printed')
    t.not(stdout.trim(), 'undefined')
  })

  await t.test(`the command of curl for ${library} runs unchanged`, async t => {
    const code = snippet(`curl-${library}`).replaceAll(publicUrl, url)
    const result = await run('sh', ['-c', `command -v curl >/dev/null || exit 42; ${code} --fail -s`], {
      env: { PATH: process.env['PATH'], GATEWAY_KEY: key },
    }).catch((error: { code?: number }) => {
      if (error.code === 42) return undefined
      throw error
    })
    if (result === undefined) t.comment('curl is not installed')
    else t.ok(parse(result.stdout), 'a response was printed')
  })
}
