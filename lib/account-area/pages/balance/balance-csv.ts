import { byteOrderMark, csvCell } from '../../../documents/csv-table.ts'
import { formatRoubles } from '../../../money/amount.ts'
import { isoDay, isoTime } from '../../../web/format.ts'
import type { OwnPage, PageContext } from '../../page.ts'
import { automaticAmong } from './history.ts'
import { movementName, movementReason, paymentIdOf } from './movement-name.ts'

/** More movements than this nobody has made by hand. */
const rowsMax = 10_000

function decimal(micros: number): string {
  return formatRoubles(micros).replace('.', ',')
}

/** All that moved the balance but charges, as a table for spreadsheets. */
export async function downloadBalance(context: PageContext, page: OwnPage): Promise<Response> {
  const { site, account, texts } = page
  const { balance } = texts
  const movements = await site.movements.page(account.accountId, { limit: rowsMax })
  const head = [balance.time, balance.what, 'ID', balance.change, balance.after]
  const automatic = await automaticAmong(page, movements)
  const rows = movements.map(movement => {
    const reason = movementReason(movement)
    return [
      isoTime(movement.at),
      csvCell(
        `${movementName(texts, movement, automatic.has(paymentIdOf(movement) ?? ''))}${reason === undefined ? '' : `: ${reason}`}`,
      ),
      csvCell(movement.id),
      decimal(movement.amountMicros),
      decimal(movement.balanceMicros),
    ].join(';')
  })
  const name = `${balance.fileName}-${isoDay(site.clock.now())}.csv`
  return context.body(`${byteOrderMark}${[head.map(csvCell).join(';'), ...rows].join('\r\n')}\r\n`, 200, {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${name}"`,
  })
}
