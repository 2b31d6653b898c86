import { exchangeEnds } from '../fixtures/exchange-ends.ts'
import { until, type TestGateway } from '../fixtures/test-gateway.ts'

/** Tells how exchanges ended, one after another: `refused upstream_failed; 0.000000 provider ambiguous`. */
export class EndReader {
  readonly #counts = new Map<TestGateway, number>()

  async next(gateway: TestGateway): Promise<string> {
    const count = this.#counts.get(gateway) ?? 0
    await this.skip(1, gateway)
    const end = exchangeEnds(gateway)[count]
    if (end === undefined) throw new Error('The end that was waited for is not in the log.')
    const kind = end.outcome === 'refused' ? `refused ${end.code ?? ''}` : end.outcome
    return `${kind}; ${await paidFor(gateway, end.requestId)}`
  }

  async skip(count: number, gateway: TestGateway): Promise<void> {
    const total = (this.#counts.get(gateway) ?? 0) + count
    await until(() => exchangeEnds(gateway).length >= total)
    this.#counts.set(gateway, total)
  }
}

/** The charge of an exchange: `0.046000 provider`, `estimated`, `nothing owed`; flags behind it. */
export async function paidFor(gateway: TestGateway, requestId: string): Promise<string> {
  const charge = await gateway.chargeOf(requestId)
  if (charge === undefined) return 'nothing owed'
  const { usageSource, amount, flags } = charge
  // How good an estimate is stands elsewhere; here it counts that there is one, and that it costs something.
  const isEstimate = usageSource === 'estimated' && Number(amount) > 0
  return [isEstimate ? 'estimated' : `${amount} ${usageSource}`, ...flags].join(' ')
}
