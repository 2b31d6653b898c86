import { verifyJWT } from 'better-auth/crypto'

/** The e-mail that a link to confirm was made for; undefined when it is forged or too old. */
export async function confirmedEmail(token: string, secret: string): Promise<string | undefined> {
  const claims = await verifyJWT<{ readonly email?: unknown }>(token, secret)
  return typeof claims?.email === 'string' ? claims.email : undefined
}
