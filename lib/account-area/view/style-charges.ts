const css = String.raw

/** Charges: the filter, the list, and how an amount comes about. Rows of tables are cards on a phone. */
export const chargesStyle = css`
  .filter {
    display: grid;
    gap: 0.75rem 1rem;
    grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr));
    align-items: start;
  }
  .filter select {
    width: 100%;
  }
  .filter .actions {
    align-self: end;
    min-height: 2.75rem;
  }
  .filter > .hint {
    grid-column: 1 / -1;
  }
  .sum {
    display: flex;
    flex-wrap: wrap;
    gap: 0 0.75rem;
    align-items: baseline;
  }
  .sum dt {
    flex-basis: 100%;
    color: var(--quiet);
    font-size: 0.9rem;
  }
  .sum dd {
    margin: 0;
    font-variant-numeric: tabular-nums;
  }
  .sum dd:first-of-type {
    font-size: 1.6rem;
    font-weight: 650;
  }
  .charge-time {
    white-space: nowrap;
  }
  .charge-model {
    overflow-wrap: anywhere;
    min-width: 9rem;
  }
  .charge-usage {
    font-size: 0.9rem;
    color: var(--quiet);
  }
  .in-card {
    display: none;
  }
  .formula th[scope='row'] {
    font-weight: 400;
    font-size: 0.95rem;
    color: inherit;
  }
  .sign {
    color: var(--quiet);
  }
  @media (max-width: 48rem) {
    .filter {
      grid-template-columns: repeat(2, minmax(0, 1fr));
    }
    .filter input,
    .filter select {
      padding: 0.5rem;
    }
    /* Two days side by side, each in whole. */
    .filter input[type='date'] {
      padding: 0.5rem 0.3rem;
      font-size: 0.85rem;
    }
    .filter input[type='date'] {
      padding-inline: 0.35rem;
      font-size: 0.9rem;
    }
    table.charges,
    table.charges tbody,
    table.formula,
    table.formula tbody {
      display: block;
    }
    table.charges thead,
    table.formula thead {
      position: absolute;
      width: 1px;
      height: 1px;
      overflow: hidden;
      clip-path: inset(50%);
    }
    .in-card {
      display: inline;
      color: var(--quiet);
    }
    table.charges tr {
      display: grid;
      grid-template-columns: minmax(0, 1fr) auto;
      gap: 0.15rem 0.75rem;
      padding: 0.75rem 0;
      border-bottom: 1px solid var(--line);
    }
    table.charges td,
    table.formula td,
    table.formula th {
      display: block;
      padding: 0;
      border: 0;
    }
    table.charges .charge-model {
      order: 1;
      min-width: 0;
      font-weight: 600;
    }
    table.charges .charge-amount {
      order: 2;
      font-weight: 600;
    }
    table.charges .charge-time,
    table.charges .charge-outcome {
      order: 3;
      grid-column: 1 / -1;
      font-size: 0.9rem;
    }
    table.charges .charge-outcome {
      order: 6;
    }
    table.charges .charge-key,
    table.charges .charge-usage {
      order: 5;
      grid-column: 1 / -1;
      font-size: 0.9rem;
    }
    table.formula tr {
      display: flex;
      flex-wrap: wrap;
      gap: 0 0.6rem;
      align-items: baseline;
      padding: 0.6rem 0;
      border-bottom: 1px solid var(--line);
    }
    table.formula td:first-child {
      flex-basis: 100%;
      font-weight: 550;
    }
    table.formula th[scope='row'] {
      flex: 1 1 50%;
    }
    table.charges tr:last-child,
    table.formula tr:last-child {
      border-bottom: 0;
    }
  }
`
