const css = String.raw

/** Tokens, the ground of every page, and what stands around its content. */
export const baseStyle = css`
  :root {
    color-scheme: light dark;
    --ground: light-dark(#f6f7f9, #0f1115);
    --surface: light-dark(#ffffff, #171a21);
    --raised: light-dark(#f0f2f5, #20242d);
    --line: light-dark(#d9dde4, #2e3440);
    --control-line: light-dark(#7d8694, #6f7a8c);
    --text: light-dark(#171b24, #e8ebf1);
    --quiet: light-dark(#566071, #a3adbd);
    --accent: light-dark(#1f5fd0, #7fb0ff);
    --on-accent: light-dark(#ffffff, #0b1526);
    --accent-ground: light-dark(#e8f0fe, #1a2a45);
    --bad: light-dark(#b3261e, #ff9b93);
    --bad-ground: light-dark(#fdecea, #3a1a19);
    --good: light-dark(#1b6e3c, #79d69b);
    --good-ground: light-dark(#e6f5ec, #14301f);
    --radius: 10px;
    --gap: 1rem;
    --shadow: 0 1px 2px light-dark(rgb(16 24 40 / 6%), rgb(0 0 0 / 40%));
    --font: system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', sans-serif;
    --mono: ui-monospace, 'SF Mono', 'Cascadia Code', 'Roboto Mono', 'Liberation Mono', monospace;
  }
  :root[data-theme='light'] {
    color-scheme: light;
  }
  :root[data-theme='dark'] {
    color-scheme: dark;
  }

  *,
  *::before,
  *::after {
    box-sizing: border-box;
  }
  [hidden] {
    display: none !important;
  }
  html {
    -webkit-text-size-adjust: 100%;
  }
  body {
    margin: 0;
    min-height: 100vh;
    display: flex;
    flex-direction: column;
    background: var(--ground);
    color: var(--text);
    font: 1rem/1.55 var(--font);
    overflow-wrap: anywhere;
  }
  h1,
  h2,
  h3 {
    line-height: 1.25;
    margin: 0;
    text-wrap: balance;
  }
  h1 {
    font-size: 1.6rem;
    letter-spacing: -0.01em;
  }
  h2 {
    font-size: 1.15rem;
  }
  h3 {
    font-size: 1rem;
  }
  p,
  ul,
  ol,
  dl {
    margin: 0;
  }
  a {
    color: var(--accent);
    text-underline-offset: 0.2em;
  }
  code,
  pre,
  .mono {
    font-family: var(--mono);
    font-size: 0.92em;
  }
  /* The ending of a key is not broken at its hyphen. */
  .whole {
    white-space: nowrap;
  }
  :focus-visible {
    outline: 3px solid var(--accent);
    outline-offset: 2px;
    border-radius: 4px;
  }

  .skip {
    position: absolute;
    left: 1rem;
    top: -4rem;
    z-index: 2;
    padding: 0.6rem 1rem;
    background: var(--surface);
    border: 1px solid var(--line);
    border-radius: var(--radius);
  }
  .skip:focus {
    top: 0.5rem;
  }
  .unseen {
    position: absolute;
    width: 1px;
    height: 1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }

  .top {
    background: var(--surface);
    border-bottom: 1px solid var(--line);
  }
  .top-row {
    max-width: 72rem;
    margin: 0 auto;
    padding: 0.6rem 1rem;
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 0.25rem 1.25rem;
  }
  .brand {
    font-weight: 650;
    color: var(--text);
    text-decoration: none;
    padding: 0.4rem 0;
  }
  .top nav,
  .gap {
    flex: 1 1 auto;
    min-width: 0;
  }
  .top nav ul {
    display: flex;
    gap: 0.25rem;
    list-style: none;
    padding: 0.2rem;
    margin: 0 -0.2rem;
    overflow-x: auto;
    scrollbar-width: thin;
  }
  .top nav a {
    display: block;
    padding: 0.45rem 0.7rem;
    border-radius: 8px;
    color: var(--quiet);
    text-decoration: none;
    white-space: nowrap;
  }
  .top nav a:hover {
    background: var(--raised);
    color: var(--text);
  }
  .top nav a[aria-current] {
    background: var(--accent-ground);
    color: var(--accent);
    font-weight: 600;
  }
  .who {
    display: flex;
    align-items: center;
    gap: 0.75rem;
    color: var(--quiet);
    font-size: 0.9rem;
    min-width: 0;
    margin-inline-start: auto;
  }
  .who .email,
  .who .account {
    max-width: 12rem;
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
  }

  main {
    flex: 1;
    width: 100%;
    max-width: 72rem;
    margin: 0 auto;
    padding: 1.5rem 1rem 3rem;
    display: grid;
    gap: 1.25rem;
    grid-template-columns: minmax(0, 1fr);
    align-content: start;
  }
  main:focus {
    outline: none;
  }
  main.narrow {
    max-width: 28rem;
    padding-top: 2.5rem;
  }
  .bottom {
    border-top: 1px solid var(--line);
    color: var(--quiet);
    font-size: 0.9rem;
  }
  .bottom-row {
    max-width: 72rem;
    margin: 0 auto;
    padding: 1rem;
    display: flex;
    flex-wrap: wrap;
    gap: 0.75rem 1.5rem;
    align-items: center;
    justify-content: space-between;
  }
  .bottom ul {
    display: flex;
    flex-wrap: wrap;
    gap: 0.25rem 1.25rem;
    list-style: none;
    padding: 0;
  }
  .appearance {
    display: flex;
    flex-wrap: wrap;
    gap: 0.5rem;
    align-items: center;
  }
  .appearance select,
  .appearance button {
    padding: 0.3rem 0.5rem;
    min-height: 2rem;
    font-size: 0.9rem;
  }
  @media (max-width: 40rem) {
    .who .email {
      display: none;
    }
    .who .account {
      max-width: 9rem;
    }
    .top nav {
      order: 3;
      flex-basis: 100%;
    }
    /* All sections at once: who cannot see a section does not look for it. */
    .top nav ul {
      flex-wrap: wrap;
      gap: 0;
    }
    .top nav a {
      padding: 0.4rem;
      font-size: 0.95rem;
    }
    .brand {
      flex: 1;
    }
    .gap {
      display: none;
    }
  }
  @media (prefers-reduced-motion: no-preference) {
    a,
    button {
      transition: background-color 0.12s;
    }
  }
`
