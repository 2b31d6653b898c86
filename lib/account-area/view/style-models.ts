const css = String.raw

/** Models with their prices, and snippets of code. */
export const modelsStyle = css`
  table.models th[scope='row'] {
    color: inherit;
    font-size: 0.95rem;
    font-weight: 400;
    min-width: 11rem;
  }
  .model-name {
    display: block;
    font-weight: 600;
    overflow-wrap: anywhere;
  }
  .notes {
    padding-left: 1rem;
    font-size: 0.88rem;
    color: var(--quiet);
  }
  .notes ul {
    list-style: none;
    padding: 0;
    display: grid;
    gap: 0.15rem;
  }
  .search {
    display: flex;
    flex-wrap: wrap;
    gap: 0.75rem;
    align-items: flex-start;
  }
  .search .field {
    flex: 0 1 26rem;
  }
  .search-actions {
    padding-top: 1.85rem;
  }
  .snippet {
    display: grid;
    gap: 0.5rem;
    justify-items: start;
  }
  .snippet pre {
    width: 100%;
    margin: 0;
    padding: 0.9rem 1rem;
    background: var(--raised);
    border: 1px solid var(--line);
    border-radius: 8px;
    overflow-x: auto;
    line-height: 1.5;
    overflow-wrap: normal;
  }
  .snippet button {
    min-height: 2.25rem;
    padding: 0.25rem 0.75rem;
    font-size: 0.9rem;
  }
  .contents ul {
    display: flex;
    flex-wrap: wrap;
    gap: 0.4rem 1.1rem;
    list-style: none;
    padding: 0;
  }
  .choice a {
    display: block;
    padding: 0.35rem 0;
  }
  .choice a[aria-current] {
    color: var(--text);
    font-weight: 600;
    text-decoration: none;
  }
  @media (max-width: 48rem) {
    table.models,
    table.models tbody {
      display: block;
    }
    table.models thead {
      position: absolute;
      width: 1px;
      height: 1px;
      overflow: hidden;
      clip-path: inset(50%);
    }
    table.models tr {
      display: grid;
      gap: 0.15rem;
      padding: 0.75rem 0;
      border-bottom: 1px solid var(--line);
    }
    table.models tr:last-child {
      border-bottom: 0;
    }
    table.models td,
    table.models th[scope='row'] {
      display: flex;
      flex-wrap: wrap;
      justify-content: space-between;
      gap: 0 1rem;
      padding: 0;
      border: 0;
    }
    table.models .model-name {
      flex-basis: 100%;
    }
    table.models td.absent {
      display: none;
    }
    .search .field {
      flex-basis: 100%;
    }
    .search-actions {
      padding-top: 0;
    }
  }
`
