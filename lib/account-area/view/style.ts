import { balanceStyle } from './style-balance.ts'
import { chargesStyle } from './style-charges.ts'
import { chartStyle } from './style-chart.ts'
import { keysStyle } from './style-keys.ts'
import { modelsStyle } from './style-models.ts'

const css = String.raw

/** What the settings are put together from. */
const settingsStyle = css`
  .tabs {
    border-bottom: 1px solid var(--line);
  }
  .tabs ul {
    display: flex;
    flex-wrap: wrap;
    column-gap: 1.5rem;
    list-style: none;
    padding: 0;
    margin: 0;
  }
  .tabs a {
    display: block;
    white-space: nowrap;
    padding: 0.6rem 0;
    color: var(--quiet);
    text-decoration: none;
    border-bottom: 2px solid transparent;
    margin-bottom: -1px;
  }
  .tabs a:hover {
    color: var(--text);
  }
  .tabs a[aria-current] {
    color: var(--text);
    font-weight: 600;
    border-bottom-color: var(--accent);
  }
  .setting .stack {
    align-content: start;
  }
  @media (min-width: 56rem) {
    .setting {
      grid-template-columns: minmax(0, 5fr) minmax(0, 8fr);
      gap: 2.5rem;
      padding: 1.5rem;
    }
  }
  .row-list {
    list-style: none;
    padding: 0;
  }
  .row-list > li {
    padding: 0.6rem 0;
  }
  .row-list > li + li {
    border-top: 1px solid var(--line);
  }
  .points {
    padding-left: 1.2rem;
    display: grid;
    gap: 0.5rem;
  }
  .notice p + p {
    margin-top: 0.4rem;
  }
`

/** The rules of the account area's own pages. */
export const accountStyle: readonly string[] = [
  keysStyle,
  chartStyle,
  settingsStyle,
  chargesStyle,
  modelsStyle,
  balanceStyle,
]
