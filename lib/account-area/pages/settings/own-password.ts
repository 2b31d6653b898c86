import type { OwnPage } from '../../page.ts'

/** Whether a password that was asked for again is the user's. Too many wrong ones lock it for a while. */
export async function isOwnPassword({ site, session, caller }: OwnPage, password: string): Promise<boolean> {
  const mayTry = await site.passwordAttempts.begin(session.user.id)
  const isRight = mayTry && (await site.sessions.isPassword(caller, password))
  if (isRight) await site.passwordAttempts.forget(session.user.id)
  return isRight
}
