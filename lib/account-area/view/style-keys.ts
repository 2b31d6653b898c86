const css = String.raw

/** What keys are shown and made with. */
export const keysStyle = css`
  .keys {
    list-style: none;
    padding: 0;
    display: grid;
  }
  .key {
    display: grid;
    gap: 0.75rem;
    padding: 1.25rem 0;
    border-bottom: 1px solid var(--line);
  }
  .key:first-child {
    padding-top: 0;
  }
  .key:last-child {
    padding-bottom: 0;
    border-bottom: 0;
  }
  .facts {
    display: grid;
    gap: 0.75rem 1.5rem;
    grid-template-columns: repeat(3, minmax(0, 1fr));
    font-size: 0.95rem;
  }
  .facts dt {
    color: var(--quiet);
    font-size: 0.85rem;
  }
  .facts dd {
    margin: 0;
    display: grid;
    gap: 0.25rem;
    justify-items: start;
  }
  .plain-list {
    list-style: none;
    padding: 0;
  }
  dd > .plain-list {
    max-height: 7.5rem;
    overflow-y: auto;
  }
  progress {
    appearance: none;
    width: 100%;
    max-width: 12rem;
    height: 0.4rem;
    border: 0;
    border-radius: 999px;
    overflow: hidden;
    background: var(--raised);
  }
  progress::-webkit-progress-bar {
    background: var(--raised);
  }
  progress::-webkit-progress-value {
    background: var(--accent);
  }
  progress::-moz-progress-bar {
    background: var(--accent);
  }
  form.stack.wide {
    max-width: none;
  }
  .halves {
    display: grid;
    gap: var(--gap) 2.5rem;
    grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr));
    align-items: start;
  }
  @media (max-width: 40rem) {
    .facts {
      grid-template-columns: repeat(2, minmax(0, 1fr));
    }
  }
  .disclosure > summary {
    cursor: pointer;
    color: var(--accent);
    padding: 0.35rem 0;
    border-radius: 4px;
  }
  .choices {
    display: grid;
    gap: 1rem;
    max-height: 20rem;
    overflow-y: auto;
    padding: 0.75rem;
    border: 1px solid var(--line);
    border-radius: 8px;
  }
  .choices fieldset {
    gap: 0.35rem;
  }
  .choices legend {
    color: var(--quiet);
    font-size: 0.85rem;
    margin-bottom: 0.25rem;
  }
`
