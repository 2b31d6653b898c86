interface Context {
  error(code: string, message: string): Error
}

/** A plugin that refuses requests whose text says that they should be refused. */
export const refuseWords = {
  name: 'refuse-words',
  errors: {
    rate_limit_exceeded: { status: 429, retry: 'after' },
    not_supported: { status: 501 },
  },
  create(context: Context) {
    return {
      onRequestText: () => ({
        onText(piece: string): void {
          if (piece.includes('Ask too fast.'))
            throw context.error('rate_limit_exceeded', 'This key may send 60 requests a minute. Wait.')
          if (piece.includes('Ask for what is not there.'))
            throw context.error('not_supported', 'This is not in this release.')
        },
      }),
    }
  },
}
