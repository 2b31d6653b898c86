const css = String.raw

/** The balance and its payments. */
export const balanceStyle = css`
  .presets {
    display: flex;
    flex-wrap: wrap;
    gap: 0.5rem;
  }
  .receipts {
    display: grid;
    gap: 0.5rem;
  }
  .receipts li {
    display: flex;
    gap: 0.25rem 1rem;
    justify-content: space-between;
    align-items: baseline;
  }
  .receipts .small {
    display: block;
  }
  /* Only cards are saved. */
  form:has([value='sbp']:checked) .field:has(#saveCard) {
    display: none;
  }
  .payment h3 {
    margin-top: 0.5rem;
  }
  .payment-facts {
    grid-template-columns: minmax(0, 1fr);
  }
  .payment-facts dd {
    overflow-wrap: anywhere;
  }
  .receipts .number,
  .receipts button {
    white-space: nowrap;
  }
  .on-phone {
    display: none;
  }
  @media (max-width: 48rem) {
    table.movements .movement-name {
      order: 1;
    }
    table.movements .movement-after {
      grid-column: 1 / -1;
      font-size: 0.9rem;
      text-align: start;
    }
    table.movements .movement-after {
      order: 4;
    }
    .on-phone {
      display: block;
    }
    /* A phone cannot scan its own screen. */
    .on-desktop {
      display: none;
    }
  }
`
