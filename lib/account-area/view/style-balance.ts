const css = String.raw

/** The balance and its payments. */
export const balanceStyle = css`
  .presets {
    display: flex;
    flex-wrap: wrap;
    gap: 0.5rem;
  }
  .payment-facts {
    grid-template-columns: minmax(0, 1fr);
  }
  .payment-facts dd {
    overflow-wrap: anywhere;
  }
  @media (max-width: 48rem) {
    /* A phone cannot scan its own screen. */
    .on-desktop {
      display: none;
    }
  }
`
