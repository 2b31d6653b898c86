/** How an exchange ended. Every exchange ends exactly once, in exactly one of these ways. */
export type Outcome =
  /** The last byte, or the dialect's last event, reached the client. */
  | { readonly kind: 'completed' }
  /** The gateway said no before a byte of an answer was sent. */
  | { readonly kind: 'refused'; readonly error: Error }
  /** The client left. */
  | { readonly kind: 'aborted' }
  /** The upstream died after its head was relayed. */
  | { readonly kind: 'broken'; readonly error: Error }
