import { html } from 'hono/html'
import type { Html, Page } from '../page.ts'
import { languages } from '../texts/texts.ts'
import { form, pathWithoutNotice } from './form.ts'
import { sectionsOf } from './sections.ts'

interface LayoutOptions {
  /** In the browser's title, before the site's name. */
  readonly title: string
  /** A page of one form and nothing around it. */
  readonly isNarrow?: boolean
  /** More for the head of the page. */
  readonly head?: Html
}

const themes = ['system', 'light', 'dark'] as const

function navigation(page: Page): Html {
  const { shell } = page.texts
  if (page.session === undefined) {
    return html`<div class="gap"></div>
      <div class="who"><a href="/sign-in">${shell.signIn}</a><a href="/sign-up">${shell.signUp}</a></div>`
  }
  const path = page.path.split('?')[0] ?? ''
  const isCurrent = (own: string): boolean =>
    own === '/' ? path === '/' : path === own || path.startsWith(`${own}/`)
  return html`<nav aria-label="${shell.navigation}">
      <ul>
        ${sectionsOf(page).map(
          section =>
            html`<li>
              <a
                href="${section.path}"
                ${[section.path, ...(section.also ?? [])].some(isCurrent) ? html`aria-current="page"` : ''}
                >${section.label(page.texts)}</a
              >
            </li>`,
        )}
      </ul>
    </nav>
    <div class="who">
      ${page.account?.name === undefined ? '' : html`<a class="account" href="/accounts" title="${shell.accounts}">${page.account.name}</a>`}
      <span class="email" title="${page.session.user.email}">${page.session.user.email}</span>
      ${form(page, '/sign-out', html`<button class="link">${shell.signOut}</button>`, { className: '' })}
    </div>`
}

function appearance(page: Page): Html {
  const { shell } = page.texts
  const option = (value: string, label: string, chosen: string): Html =>
    html`<option value="${value}" ${value === chosen ? html`selected` : ''}>${label}</option>`
  return form(
    page,
    '/appearance',
    html`<input type="hidden" name="next" value="${pathWithoutNotice(page.path)}" />
      <label class="unseen" for="look-language">${shell.language}</label>
      <select id="look-language" name="language">
        ${Object.entries(languages).map(([value, label]) => option(value, label, page.language))}
      </select>
      <label class="unseen" for="look-theme">${shell.theme}</label>
      <select id="look-theme" name="theme">
        ${themes.map(value => option(value, shell.themes[value], page.theme))}
      </select>
      <button class="plain">${shell.apply}</button>`,
    { className: 'appearance' },
  )
}

/** A whole page around its content, which begins with an `h1`. */
export function layout(page: Page, { title, isNarrow = false, head }: LayoutOptions, content: Html): Html {
  const { site, texts, language, theme } = page
  return html`<!doctype html>
    <html lang="${language}" ${theme === 'system' ? '' : html`data-theme="${theme}"`}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} · ${site.name}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="${site.assets.style.path}" />
        <script src="${site.assets.script.path}" defer></script>
        ${head ?? ''}
      </head>
      <body>
        <a class="skip" href="#content">${texts.shell.skip}</a>
        <header class="top">
          <div class="top-row"><a class="brand" href="/">${site.name}</a>${navigation(page)}</div>
        </header>
        <main id="content" tabindex="-1" ${isNarrow ? html`class="narrow"` : ''}>${content}</main>
        <footer class="bottom">
          <div class="bottom-row">
            <ul>
              <li><a href="/documents/offer">${texts.shell.offer}</a></li>
              <li><a href="/documents/personal-data">${texts.shell.personalData}</a></li>
              ${site.support === undefined ? '' : html`<li><a href="mailto:${site.support}">${texts.shell.support(site.support)}</a></li>`}
            </ul>
            ${appearance(page)}
          </div>
        </footer>
      </body>
    </html>`
}
