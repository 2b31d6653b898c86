import { html } from 'hono/html'
import type { Config } from '../../../config/config.ts'
import type { PageResponse, Html, OwnPage } from '../../page.ts'
import { copyButton } from '../../../web/view/form.ts'
import { titledPage } from '../../../web/view/layout.ts'
import {
  claudeCodeSnippet,
  codexSnippet,
  curlSnippets,
  geminiCliSnippet,
  javascriptSnippets,
  keySnippet,
  pythonSnippets,
} from './snippets.ts'
import type { Snippet, SnippetValues } from './snippets.ts'
import type { DialectName } from '../../../dialects/dialect.ts'
import { ModelDirectory } from '../../../models/model-directory.ts'

interface Section {
  readonly id: string
  readonly title: string
  readonly content: Html
}

/** Well-known names, the best first; used where the config has them. */
const known = {
  openai: ['gpt-5-mini', 'gpt-5', 'gpt-4.1-mini', 'gpt-4o-mini'],
  anthropic: ['claude-sonnet-4-5', 'claude-sonnet-5', 'claude-opus-4-5'],
  google: ['gemini-2.5-flash', 'gemini-2.5-pro'],
} satisfies Record<DialectName, readonly [string, ...string[]]>

/** A configured model that supports the dialect; where there is none, a likely one. */
function exampleModel(
  config: Config,
  dialect: DialectName,
  preferred: readonly string[] = known[dialect],
): string {
  const directory = new ModelDirectory(config)
  const isServed = (name: string): boolean => {
    const entry = directory.resolve(name, undefined)?.entry
    const isPriced = entry?.prices.some(price => price.rubPerMillion.output !== undefined) === true
    return isPriced && entry.providers.some(provider => isOn(config, provider, dialect))
  }
  const names = [...preferred, ...known[dialect], ...config.models.keys()]
  return names.find(isServed) ?? preferred[0] ?? known[dialect][0]
}

function isOn(config: Config, providerName: string, dialect: DialectName): boolean {
  const provider = config.providers.get(providerName)
  return provider !== undefined && !provider.isOff && provider.dialects[dialect] !== undefined
}

function values(config: Config): SnippetValues {
  const { origin, pathname } = config.publicUrl
  return {
    address: `${origin}${pathname.replace(/\/$/, '')}`,
    openai: exampleModel(config, 'openai'),
    anthropic: exampleModel(config, 'anthropic'),
    google: exampleModel(config, 'google'),
    codex: exampleModel(config, 'openai', ['gpt-5-codex', 'gpt-5']),
  }
}

function snippet(page: OwnPage, title: string, { id, name, code }: Snippet): Html {
  return html`<div class="snippet">
    ${name === undefined ? '' : html`<h3>${name}</h3>`}
    <pre id="${id}-code" tabindex="0" role="region" aria-label="${[title, name].join(' ').trim()}">
${code}</pre>
    ${copyButton(page, `${id}-code`)}
  </div>`
}

function cursor(page: OwnPage, { address, openai, anthropic }: SnippetValues): Html {
  const { cursor: intro, cursorSteps: steps, cursorHint } = page.texts.quickStart
  return html`<p>${intro}</p>
    <ol class="points">
      <li>${steps.key}</li>
      <li>${steps.address} ${snippet(page, 'Cursor', { id: 'cursor', code: `${address}/v1` })}</li>
      <li>${steps.models} <code>${openai}</code>, <code>${anthropic}</code>.</li>
    </ol>
    <p class="quiet">${cursorHint}</p>`
}

function sectionsOf(page: OwnPage, filled: SnippetValues): readonly Section[] {
  const { quickStart } = page.texts
  const section = (id: string, title: string, intro: string, snippets: readonly Snippet[]): Section => ({
    id,
    title,
    content: html`<p>${intro}</p>
      ${snippets.map(one => snippet(page, title, one))}`,
  })
  return [
    section('curl', 'curl', quickStart.curl, curlSnippets(filled)),
    section('python', 'Python', quickStart.python, pythonSnippets(filled)),
    section('javascript', 'JavaScript', quickStart.javascript, javascriptSnippets(filled)),
    section('claude-code', 'Claude Code', quickStart.claudeCode, [claudeCodeSnippet(filled)]),
    section('codex', 'Codex', quickStart.codex, [codexSnippet(filled)]),
    section('gemini-cli', 'Gemini CLI', quickStart.geminiCli, [geminiCliSnippet(filled)]),
    { id: 'cursor', title: 'Cursor', content: cursor(page, filled) },
  ]
}

/** Client settings and snippets, ready to be copied. */
export function showQuickStart(page: OwnPage): PageResponse | Promise<PageResponse> {
  const { quickStart } = page.texts
  const filled = values(page.site.config)
  const sections = sectionsOf(page, filled)
  return titledPage(
    page,
    { title: quickStart.title },
    html`<section class="card">
        <p>${quickStart.intro}</p>
        <div class="row">
          <span class="quiet">${quickStart.address}</span>
          <code id="address">${filled.address}</code>
          ${copyButton(page, 'address')}
        </div>
        <p>${quickStart.keyHint}</p>
        ${snippet(page, quickStart.key, keySnippet)}
        <div class="row">
          <a class="button" href="/keys">${quickStart.toKeys}</a>
          <a href="/models">${quickStart.toModels}</a>
        </div>
      </section>
      <nav class="contents" aria-label="${quickStart.contents}">
        <ul>
          ${sections.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)}
        </ul>
      </nav>
      ${sections.map(
        ({ id, title, content }) =>
          html`<section class="card">
            <h2 id="${id}">${title}</h2>
            ${content}
          </section>`,
      )}`,
  )
}
