import { formatRoubles, type Micros } from '../money/amount.ts'
import { tryWrite, type RecordReader, type RecordStep, type Records } from '../stores/records/records.ts'
import { AccountError } from '../accounts/accounts.ts'
import { actionStep } from './operator-log.ts'

/** A charge, and the amount to which an operator corrects it. */
interface ChargeCorrection {
  readonly accountId: string
  /** The exchange's id, as in `x-gateway-request-id`. */
  readonly requestId: string
  /** The turn of a session, from 0 on. */
  readonly sequence: number
  readonly costMicros: Micros
  /** The account sees it. */
  readonly reason: string
  readonly operator: string
}

/** The result of a correction. */
interface CorrectedCharge {
  /** 1 for the first correction of the charge. */
  readonly revision: number
  /** The amount before. */
  readonly beforeMicros: Micros
  /** The money that the account got; negative: that it paid. */
  readonly returnedMicros: Micros
}

/**
 * Returns what a charge took too much, or charges again what an earlier correction returned. The charge and its entries
 * stay as they are; the correction is an entry of its own, in the month in which it was made.
 * @throws AccountError charge_not_found, correction_refused when nothing changes or the amount exceeds the charge,
 * correction_conflict when another operator was first, balance_insufficient when what is charged again is not available
 */
export async function correctCharge(
  records: Records,
  correction: ChargeCorrection,
  now: number,
): Promise<CorrectedCharge> {
  const { accountId, requestId, sequence, costMicros, reason, operator } = correction
  const { chargedMicros, beforeMicros, revision } = await readCharge(records, correction)
  const returnedMicros = beforeMicros - costMicros
  requireCorrectable(costMicros, chargedMicros, returnedMicros)
  const row = {
    exchange_id: requestId,
    sequence,
    revision,
    account_id: accountId,
    amount_micros: returnedMicros,
    at: now,
    operator,
    reason,
  }
  const movement = {
    id: `correction:${requestId}/${sequence}/${revision}`,
    accountId,
    amountMicros: Math.abs(returnedMicros),
    reason,
    at: now,
    source: 'correction',
  } as const
  const steps: RecordStep[] = [
    // Of two concurrent operators one is refused here, before any money moves.
    { write: records.build.insertInto('charge_corrections').values(row) },
    actionStep(records, {
      operator,
      action: 'correct',
      accountId,
      reason: `${correctedText(correction, beforeMicros)}: ${reason}`,
      at: now,
    }),
    returnedMicros > 0 ? { credit: movement } : { debit: movement },
  ]
  if (!(await tryWrite(records, steps))) {
    throw new AccountError(
      'correction_conflict',
      'somebody else has just corrected this charge: look at it again',
    )
  }
  return { revision, beforeMicros, returnedMicros }
}

/** @throws AccountError correction_refused */
function requireCorrectable(costMicros: Micros, chargedMicros: Micros, returnedMicros: Micros): void {
  const amounts = { charged: chargedMicros, current: costMicros + returnedMicros }
  if (costMicros > chargedMicros) {
    throw new AccountError(
      'correction_refused',
      `the request was charged ${formatRoubles(chargedMicros)} roubles, and a correction makes that no more: ` +
        'gateway account debit takes more from an account',
      amounts,
    )
  }
  if (returnedMicros === 0) {
    throw new AccountError(
      'correction_refused',
      `the request comes to ${formatRoubles(costMicros)} roubles already`,
      amounts,
    )
  }
}

/** `0190…, turn 2: from 1.500000 to 0.250000 ₽`. */
function correctedText({ requestId, sequence, costMicros }: ChargeCorrection, beforeMicros: Micros): string {
  const turn = sequence === 0 ? '' : `, turn ${sequence}`
  return `${requestId}${turn}: from ${formatRoubles(beforeMicros)} to ${formatRoubles(costMicros)} ₽`
}

async function readCharge(
  records: RecordReader,
  { accountId, requestId, sequence }: Pick<ChargeCorrection, 'accountId' | 'requestId' | 'sequence'>,
): Promise<{ readonly chargedMicros: Micros; readonly beforeMicros: Micros; readonly revision: number }> {
  const { build } = records
  const [charge] = await records.all(
    build
      .selectFrom('charges')
      .select(['account_id', 'amount_micros', 'overrun_micros'])
      .where('exchange_id', '=', requestId)
      .where('sequence', '=', sequence)
      .where('revision', '=', 0),
  )
  if (charge?.account_id !== accountId) {
    const turn = sequence === 0 ? '' : ` with a turn ${sequence}`
    throw new AccountError(
      'charge_not_found',
      `the account ${accountId} was charged for no request ${requestId}${turn}`,
    )
  }
  const earlier = await records.all(
    build
      .selectFrom('charge_corrections')
      .select(['revision', 'amount_micros'])
      .where('exchange_id', '=', requestId)
      .where('sequence', '=', sequence),
  )
  const chargedMicros = charge.amount_micros + charge.overrun_micros
  const returnedMicros = earlier.reduce((sum, one) => sum + one.amount_micros, 0)
  return { chargedMicros, beforeMicros: chargedMicros - returnedMicros, revision: earlier.length + 1 }
}
