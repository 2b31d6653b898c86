import type { Clock } from './clock.ts'
import type { Log } from './log.ts'
import type { PipelineBus } from './pipeline/events.ts'

/** One line for each exchange, and one for whatever an operator should look at. No bodies, no keys. */
export function logEvents(bus: PipelineBus, log: Log, clock: Clock): void {
  bus.on('exchange-end', (exchange, outcome) => {
    const route = exchange.find('route')
    const target = exchange.find('target')
    const facts = {
      requestId: exchange.id,
      outcome: outcome.kind,
      ...('error' in outcome && { code: codeOf(outcome.error), error: outcome.error }),
      status: exchange.response.statusCode,
      dialect: route?.dialect.name,
      operation: route?.match.operation.name,
      key: exchange.find('key')?.id,
      provider: target?.provider.name,
      credentialName: target?.credential.name,
      model: target?.modelName,
      durationMs: clock.now() - exchange.startedAt,
    }
    if (outcome.kind === 'broken') log.warn(facts, 'exchange')
    else log.info(facts, 'exchange')
  })
  bus.on('plugin-error', (plugin, hook, error, exchange) => {
    log.error({ plugin, hook, error, requestId: exchange.id }, 'a plugin failed')
  })
  bus.on('alarm', (code, details) => log.warn({ alarm: code, ...details }, 'alarm'))
}

function codeOf(error: Error): unknown {
  return 'code' in error ? error.code : error.name
}
