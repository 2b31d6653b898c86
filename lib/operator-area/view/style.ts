const css = String.raw

/** What only the operators' pages have. */
export const deskStyle = css`
  /* Eleven sections have a row of their own, in which all of them fit from 1280 pixels on. */
  .top nav {
    order: 3;
    flex-basis: 100%;
  }
  .top nav ul {
    flex-wrap: wrap;
    gap: 0 0.15rem;
  }
  .top nav a {
    padding: 0.4rem 0.5rem;
    font-size: 0.95rem;
  }
  .search {
    display: flex;
    flex-wrap: wrap;
    gap: 0.75rem;
    align-items: end;
  }
  /* Six of them in one row of a phone would be a letter wide. */
  .search .field {
    flex: 1 1 9rem;
  }
  .facts {
    display: grid;
    gap: 0.75rem 1.5rem;
    grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr));
  }
  .facts dt {
    color: var(--quiet);
    font-size: 0.85rem;
  }
  .facts dd {
    margin: 0;
    font-variant-numeric: tabular-nums;
    overflow-wrap: anywhere;
  }
  .day {
    white-space: nowrap;
  }
  .cards {
    display: grid;
    gap: 1rem;
    grid-template-columns: repeat(auto-fit, minmax(17rem, 1fr));
    align-items: start;
  }
`
