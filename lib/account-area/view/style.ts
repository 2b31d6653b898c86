import { balanceStyle } from './style-balance.ts'
import { chargesStyle } from './style-charges.ts'
import { chartStyle } from './style-chart.ts'
import { keysStyle } from './style-keys.ts'
import { modelsStyle } from './style-models.ts'
import { settingsStyle } from './style-settings.ts'

/** The rules of the account area's own pages. */
export const accountStyle: readonly string[] = [
  keysStyle,
  chartStyle,
  settingsStyle,
  chargesStyle,
  modelsStyle,
  balanceStyle,
]
