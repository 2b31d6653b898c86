const css = String.raw

/** The chart of spending, and a new customer's first steps. */
export const chartStyle = css`
  :root {
    --series-1: light-dark(#2563c9, #6ea8ff);
    --series-2: light-dark(#c2570c, #ffa057);
    --series-3: light-dark(#0c8074, #45c9b8);
    --series-4: light-dark(#a3309b, #ec8fdf);
    --series-5: light-dark(#7d6608, #dcc04a);
    --series-others: light-dark(#7d8694, #808b9d);
  }
  .series-1 {
    fill: var(--series-1);
  }
  .series-2 {
    fill: var(--series-2);
  }
  .series-3 {
    fill: var(--series-3);
  }
  .series-4 {
    fill: var(--series-4);
  }
  .series-5 {
    fill: var(--series-5);
  }
  .series-others {
    fill: var(--series-others);
  }
  .chart {
    display: grid;
    grid-template-columns: auto minmax(0, 1fr);
    gap: 0.5rem 0.75rem;
    padding-top: 0.6rem;
    color: var(--quiet);
    font-size: 0.8rem;
    font-variant-numeric: tabular-nums;
  }
  .chart svg {
    display: block;
    width: 100%;
    height: 12rem;
    overflow: visible;
  }
  .chart line {
    stroke: var(--line);
  }
  .chart-amounts {
    display: flex;
    flex-direction: column;
    justify-content: space-between;
    text-align: right;
    line-height: 1;
    /* The middle of each amount is where its line is. */
    margin: -0.4rem 0;
    white-space: nowrap;
  }
  .chart-days {
    grid-column: 2;
    display: flex;
    justify-content: space-between;
  }
  .chart-slot {
    fill: transparent;
  }
  .chart g:hover .chart-slot {
    fill: var(--raised);
  }
  .legend {
    list-style: none;
    padding: 0;
    display: flex;
    flex-wrap: wrap;
    gap: 0.35rem 1.25rem;
    font-size: 0.9rem;
  }
  .legend li {
    display: flex;
    gap: 0.45rem;
    align-items: center;
  }
  .swatch {
    width: 0.8rem;
    height: 0.8rem;
    flex: none;
  }
  @media (max-width: 40rem) {
    .figures {
      grid-template-columns: repeat(2, minmax(0, 1fr));
    }
    .figure.main {
      grid-column: 1 / -1;
    }
    .figure:not(.main) dd {
      font-size: 1.15rem;
    }
    .wide-only {
      display: none;
    }
  }
  .figure dd.note,
  .figure:not(.main) dd.note {
    font-size: 0.9rem;
    font-weight: 400;
    letter-spacing: 0;
    color: var(--quiet);
  }
  .steps {
    list-style: none;
    padding: 0;
    counter-reset: step;
    display: grid;
    gap: 1.25rem;
  }
  .steps li {
    counter-increment: step;
    display: grid;
    gap: 0.35rem;
    position: relative;
    padding-left: 2.75rem;
  }
  .steps li::before {
    content: counter(step);
    position: absolute;
    left: 0;
    top: -0.2rem;
    width: 1.9rem;
    height: 1.9rem;
    display: grid;
    place-items: center;
    border-radius: 999px;
    background: var(--accent-ground);
    color: var(--accent);
    font-weight: 650;
    font-size: 0.9rem;
  }
  .steps p + p {
    margin-top: 0.25rem;
  }
`
