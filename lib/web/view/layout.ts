import { html } from 'hono/html'
import type { Html, WebPage } from '../web-page.ts'
import { languages } from '../texts/language.ts'
import { form, formProblems, pathWithoutNotice, type FormState } from './form.ts'

interface LayoutOptions {
  /** In the browser's title, before the site's name. */
  readonly title: string
  /** A page with one form only. */
  readonly isNarrow?: boolean
  /** Additional elements for the head of the page. */
  readonly head?: Html
}

/** A section of the navigation. */
export interface Section {
  readonly path: string
  readonly label: string
  /** Other pages that belong to it. */
  readonly also?: readonly string[]
}

/** The frame around the content of an area's page. */
export interface Frame {
  /** The navigation, in order. */
  readonly sections: readonly Section[]
  /** Shown beside the user's email. */
  readonly who?: Html
  /** Links for visitors who are not signed in, beside signing in. */
  readonly visitors?: Html
  /** Items of the list in the footer. */
  readonly foot?: Html
  /** Shown below the sign-in form. */
  readonly signInHelp?: Html
  /** Links from the security page to the other settings. */
  readonly settingsTabs?: Html
}

const themes = ['system', 'light', 'dark'] as const

function navigation(page: WebPage, { sections, who, visitors }: Frame): Html {
  const { shell } = page.texts
  if (page.session === undefined) {
    return html`<div class="gap"></div>
      <div class="who"><a href="/sign-in">${shell.signIn}</a>${visitors ?? ''}</div>`
  }
  const path = page.path.split('?')[0] ?? ''
  const isCurrent = (own: string): boolean =>
    own === '/' ? path === '/' : path === own || path.startsWith(`${own}/`)
  return html`<nav aria-label="${shell.navigation}">
      <ul>
        ${sections.map(
          section =>
            html`<li>
              <a
                href="${section.path}"
                ${[section.path, ...(section.also ?? [])].some(isCurrent) ? html`aria-current="page"` : ''}
                >${section.label}</a
              >
            </li>`,
        )}
      </ul>
    </nav>
    <div class="who">
      ${who ?? ''}
      <span class="email" title="${page.session.user.email}">${page.session.user.email}</span>
      ${form(page, '/sign-out', html`<button class="link">${shell.signOut}</button>`, { className: '' })}
    </div>`
}

function appearance(page: WebPage): Html {
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

/** A whole page around its content, which begins with an `h1` or elements above it. */
export function layout(page: WebPage, { title, isNarrow = false, head }: LayoutOptions, content: Html): Html {
  const { site, texts, language, theme } = page
  const frame = site.frame(page)
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
          <div class="top-row"><a class="brand" href="/">${site.name}</a>${navigation(page, frame)}</div>
        </header>
        <main id="content" tabindex="-1" ${isNarrow ? html`class="narrow"` : ''}>${content}</main>
        <footer class="bottom">
          <div class="bottom-row">
            <ul>
              ${frame.foot ?? ''}
            </ul>
            ${appearance(page)}
          </div>
        </footer>
      </body>
    </html>`
}

interface TitledOptions extends LayoutOptions {
  /** The parent page, linked above the heading. */
  readonly back?: { readonly path: string; readonly label: string }
}

/** A whole page with its title as heading. */
export function titledPage(page: WebPage, options: TitledOptions, content: Html): Html {
  const { title, back } = options
  return layout(
    page,
    options,
    html`${back === undefined ? '' : html`<p><a href="${back.path}">← ${back.label}</a></p>`}
      <h1>${title}</h1>
      ${content}`,
  )
}

interface Message {
  readonly title: string
  readonly text: Html
  /** The link to continue. */
  readonly path: string
  readonly label: string
}

/** A narrow page with one message. */
export function messagePage(page: WebPage, { title, text, path, label }: Message): Html {
  return titledPage(
    page,
    { title, isNarrow: true },
    html`${text}
      <p><a class="button" href="${path}">${label}</a></p>`,
  )
}

/** A part of a page with its heading. */
export function card(title: Html | string, content: Html): Html {
  return html`<section class="card">
    <h2>${title}</h2>
    ${content}
  </section>`
}

/** A card with one form of the settings. */
export function settingForm(
  page: WebPage,
  {
    title,
    about,
    action,
  }: { readonly title: Html | string; readonly about: string; readonly action: string },
  content: Html,
): Html {
  return settingCard(title, about, form(page, action, content))
}

/** A setting: its description on the left, its form on the right; stacked on a small screen. */
export function settingCard(title: Html | string, about: Html | string, content: Html): Html {
  return html`<section class="card setting">
    <div class="stack">
      <h2>${title}</h2>
      <div class="quiet">${about}</div>
    </div>
    <div class="stack">${content}</div>
  </section>`
}

/** A placeholder for an empty list, with a possible action. */
export function emptyCard(title: string, hint: string, action: Html | string): Html {
  return html`<section class="card empty">
    <h2>${title}</h2>
    <p class="quiet">${hint}</p>
    ${action}
  </section>`
}

interface FormPageOptions {
  readonly title: string
  readonly action: string
  readonly state: FormState
  readonly above?: Html
  readonly below?: Html
}

/** A narrow page with one form and its errors. */
export function formPage(page: WebPage, options: FormPageOptions, fields: Html): Html {
  const { title, action, state, above, below } = options
  return titledPage(
    page,
    { title, isNarrow: true },
    html`${formProblems(page, state)} ${above ?? ''}
      <div class="card">${form(page, action, fields)}</div>
      ${below ?? ''}`,
  )
}
