import { baseStyle } from './style-base.ts'
import { balanceStyle } from './style-balance.ts'
import { chartStyle } from './style-chart.ts'
import { keysStyle } from './style-keys.ts'
import { chargesStyle } from './style-charges.ts'
import { modelsStyle } from './style-models.ts'
import { partsStyle } from './style-parts.ts'
import { settingsStyle } from './style-settings.ts'

/** The stylesheet of all pages: one request, kept by browsers until it changes. */
export const style = [
  baseStyle,
  partsStyle,
  keysStyle,
  chartStyle,
  settingsStyle,
  chargesStyle,
  modelsStyle,
  balanceStyle,
].join('\n')
