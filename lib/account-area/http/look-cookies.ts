/** Cookies of how pages look; nothing secret is in them. */
export const lookCookies = { language: 'account.language', theme: 'account.theme' }
