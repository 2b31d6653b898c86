const css = String.raw

/** What pages are put together from: cards, fields, buttons, notices, tables, numbers. */
export const partsStyle = css`
  .card {
    background: var(--surface);
    border: 1px solid var(--line);
    border-radius: var(--radius);
    box-shadow: var(--shadow);
    padding: 1.25rem;
    display: grid;
    gap: var(--gap);
    grid-template-columns: minmax(0, 1fr);
  }
  .quiet {
    color: var(--quiet);
  }
  .small {
    font-size: 0.9rem;
  }
  .stack {
    display: grid;
    gap: var(--gap);
    grid-template-columns: minmax(0, 1fr);
  }
  .row {
    display: flex;
    flex-wrap: wrap;
    gap: 0.5rem 1rem;
    align-items: center;
  }
  .between {
    justify-content: space-between;
  }

  form.stack {
    max-width: 28rem;
  }
  .field {
    display: grid;
    grid-template-columns: minmax(0, 1fr);
    gap: 0.3rem;
  }
  label,
  legend {
    font-weight: 550;
  }
  fieldset {
    border: 0;
    margin: 0;
    padding: 0;
    display: grid;
    gap: 0.75rem;
  }
  legend {
    padding: 0;
    margin-bottom: 0.5rem;
  }
  .hint {
    color: var(--quiet);
    font-size: 0.9rem;
  }
  input,
  select,
  textarea {
    font: inherit;
    color: inherit;
    background: var(--surface);
    border: 1px solid var(--control-line);
    border-radius: 8px;
    padding: 0.55rem 0.7rem;
    min-height: 2.75rem;
    width: 100%;
  }
  select,
  .appearance select {
    width: auto;
  }
  input[type='checkbox'] {
    width: 1.25rem;
    height: 1.25rem;
    min-height: 0;
    margin: 0.15rem 0 0;
    flex: none;
    accent-color: var(--accent);
  }
  input[type='radio'] {
    width: 1.2rem;
    height: 1.2rem;
    min-height: 0;
    margin: 0;
    flex: none;
    accent-color: var(--accent);
  }
  .radios {
    gap: 0.5rem;
  }
  .radio {
    display: flex;
    gap: 0.6rem;
    align-items: center;
    padding: 0.6rem 0.75rem;
    border: 1px solid var(--control-line);
    border-radius: 8px;
    font-weight: 400;
    cursor: pointer;
  }
  .radio:has(:checked) {
    border-color: var(--accent);
    background: var(--accent-ground);
  }
  .check {
    display: flex;
    gap: 0.6rem;
    align-items: flex-start;
  }
  .check label {
    font-weight: 400;
  }
  [aria-invalid='true'] {
    border-color: var(--bad);
  }
  .problem {
    color: var(--bad);
    font-size: 0.9rem;
  }

  button,
  .button {
    font: inherit;
    font-weight: 600;
    cursor: pointer;
    display: inline-flex;
    align-items: center;
    justify-content: center;
    min-height: 2.75rem;
    padding: 0.5rem 1rem;
    border-radius: 8px;
    border: 1px solid transparent;
    background: var(--accent);
    color: var(--on-accent);
    text-decoration: none;
  }
  button:hover,
  .button:hover {
    background: color-mix(in srgb, var(--accent) 88%, var(--text));
  }
  button.plain,
  .button.plain {
    background: var(--surface);
    border-color: var(--control-line);
    color: var(--text);
  }
  button.plain:hover,
  .button.plain:hover {
    background: var(--raised);
  }
  button.danger,
  .button.danger {
    background: var(--surface);
    border-color: var(--bad);
    color: var(--bad);
  }
  button.danger:hover,
  .button.danger:hover {
    background: var(--bad-ground);
  }
  button.link {
    background: none;
    border: 0;
    padding: 0.25rem;
    min-height: 2rem;
    color: var(--accent);
    font-weight: 400;
    text-decoration: underline;
    text-underline-offset: 0.2em;
  }

  .notice {
    border-radius: var(--radius);
    padding: 0.75rem 1rem;
    background: var(--good-ground);
    color: var(--good);
  }
  .notice.bad {
    background: var(--bad-ground);
    color: var(--bad);
  }
  .notice a {
    color: inherit;
  }

  .table {
    overflow-x: auto;
  }
  table {
    border-collapse: collapse;
    width: 100%;
    font-size: 0.95rem;
  }
  th,
  td {
    text-align: left;
    vertical-align: baseline;
    padding: 0.6rem 0.75rem 0.6rem 0;
    border-bottom: 1px solid var(--line);
    overflow-wrap: normal;
  }
  th {
    color: var(--quiet);
    font-weight: 550;
    font-size: 0.85rem;
  }
  tbody tr:last-child > * {
    border-bottom: 0;
  }
  .number {
    text-align: right;
    font-variant-numeric: tabular-nums;
    white-space: nowrap;
  }

  .figures {
    display: grid;
    gap: var(--gap);
    grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr));
  }
  .figure {
    display: grid;
    gap: 0.15rem;
    align-content: start;
  }
  .figure dt {
    color: var(--quiet);
    font-size: 0.9rem;
  }
  .figure dd {
    margin: 0;
    font-size: 1.6rem;
    font-weight: 650;
    letter-spacing: -0.01em;
    font-variant-numeric: tabular-nums;
  }
  .figure.main dd {
    font-size: 2.1rem;
  }
  .badge {
    display: inline-block;
    padding: 0.1rem 0.5rem;
    border-radius: 999px;
    background: var(--raised);
    color: var(--quiet);
    font-size: 0.82rem;
    white-space: nowrap;
  }
  .badge.good {
    background: var(--good-ground);
    color: var(--good);
  }
  .badge.bad {
    background: var(--bad-ground);
    color: var(--bad);
  }
  .qr-code {
    width: 13rem;
    max-width: 100%;
  }
  .qr-code svg {
    display: block;
    border-radius: 8px;
  }
  .secret {
    background: var(--raised);
    border: 1px solid var(--line);
    border-radius: 8px;
    padding: 0.75rem;
    font-family: var(--mono);
    margin: 0;
    white-space: pre-wrap;
    word-break: break-all;
  }
  .empty {
    text-align: center;
    padding: 2.5rem 1.25rem;
    justify-items: center;
  }
  .prose {
    max-width: 46rem;
  }
`
