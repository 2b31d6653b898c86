import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { SyntaxKind } from 'typescript/unstable/ast'
import type { Node, SourceFile } from 'typescript/unstable/ast'
import {
  isBlock,
  isCallExpression,
  isCatchClause,
  isExportDeclaration,
  isFunctionLikeDeclaration,
  isImportDeclaration,
  isNewExpression,
  isPropertyAccessExpression,
  isStringLiteral,
} from 'typescript/unstable/ast/is'
import { API } from 'typescript/unstable/sync'

/** Code that a rule may forbid, and its line. */
export interface Finding {
  readonly kind: 'any' | 'default-export' | 'swallowed-catch' | 'global'
  /** For globals `Date.now`, `process.env`, `console.log` and so on; otherwise the same as `kind`. */
  readonly what: string
  readonly line: number
}

/** A parsed file of the project. */
export interface Source {
  /** From the root, with forward slashes. */
  readonly path: string
  readonly text: string
  readonly lineCount: number
  /** A relative specifier is resolved to a path from the root; others are unchanged. */
  readonly imports: readonly {
    readonly to: string
    readonly isRelative: boolean
    readonly isTypeOnly: boolean
    readonly line: number
  }[]
  readonly functions: readonly { readonly line: number; readonly lineCount: number }[]
  readonly findings: readonly Finding[]
}

/** Every TypeScript file of the project at `root`, parsed by the compiler that checks its types. */
export function readSources(root: string): readonly Source[] {
  const api = new API({ cwd: root })
  try {
    const snapshot = api.updateSnapshot({ openProjects: [join(root, 'tsconfig.json')] })
    const program = snapshot.getProjects()[0]?.program
    if (program === undefined) throw new Error(`There is no tsconfig.json in ${root}.`)
    return program
      .getSourceFileNames()
      .filter(name => name.startsWith(root + sep) && name.endsWith('.ts'))
      .filter(name => !name.includes(`${sep}node_modules${sep}`))
      .map(name => program.getSourceFile(name))
      .filter(file => file !== undefined)
      .map(file => readSource(root, file))
      .toSorted((a, b) => (a.path < b.path ? -1 : 1))
  } finally {
    api.close()
  }
}

function readSource(root: string, file: SourceFile): Source {
  const imports: Source['imports'][number][] = []
  const functions: Source['functions'][number][] = []
  const findings: Finding[] = []
  const lineAt = (offset: number) => file.getLineAndCharacterOfPosition(offset).line + 1
  const visit = (node: Node): void => {
    const line = lineAt(node.getStart(file))
    if ((isImportDeclaration(node) || isExportDeclaration(node)) && node.moduleSpecifier !== undefined) {
      imports.push({
        ...readImport(root, file.fileName, node.moduleSpecifier, line),
        isTypeOnly: /^(?:import|export) type\b/.test(node.getText(file)),
      })
    } else if (isCallExpression(node) && node.expression.kind === SyntaxKind.ImportKeyword) {
      const specifier = node.arguments[0]
      if (specifier !== undefined) imports.push(readImport(root, file.fileName, specifier, line))
    } else if (isFunctionLikeDeclaration(node)) {
      functions.push({ line, lineCount: lineAt(node.end) - line + 1 })
    }
    const finding = findingIn(node, file)
    if (finding !== undefined) findings.push({ ...finding, line })
    node.forEachChild(visit)
  }
  visit(file)
  const path = relative(root, file.fileName).replaceAll(sep, '/')
  const lineCount = file.text.split('\n').length - (file.text.endsWith('\n') ? 1 : 0)
  return { path, text: file.text, lineCount, imports, functions, findings }
}

function readImport(root: string, from: string, specifier: Node, line: number): Source['imports'][number] {
  const text = isStringLiteral(specifier) ? specifier.text : '(computed)'
  if (!text.startsWith('.')) return { to: text, isRelative: false, isTypeOnly: false, line }
  const to = relative(root, resolve(dirname(from), text)).replaceAll(sep, '/')
  return { to, isRelative: true, isTypeOnly: false, line }
}

function findingIn(node: Node, file: SourceFile): Omit<Finding, 'line'> | undefined {
  if (node.kind === SyntaxKind.AnyKeyword) return { kind: 'any', what: 'any' }
  if (node.kind === SyntaxKind.ExportAssignment || node.kind === SyntaxKind.DefaultKeyword) {
    // `default:` of a switch is a clause, not a keyword node, so this is always an export.
    return { kind: 'default-export', what: 'default-export' }
  }
  if (isCatchClause(node) && node.block.statements.length === 0) {
    return { kind: 'swallowed-catch', what: 'swallowed-catch' }
  }
  if (isSwallowingCallback(node)) return { kind: 'swallowed-catch', what: 'swallowed-catch' }
  if (
    isNewExpression(node) &&
    node.expression.getText(file) === 'Date' &&
    (node.arguments?.length ?? 0) === 0
  ) {
    return { kind: 'global', what: 'new Date()' }
  }
  if (isPropertyAccessExpression(node)) {
    const text = node.getText(file)
    if (/^(?:Date\.now|process\.env|process\.exit|console\.\w+)$/.test(text)) {
      return { kind: 'global', what: text }
    }
  }
  return undefined
}

/** Whether a node is a call like `.catch(() => {})`. */
function isSwallowingCallback(node: Node): boolean {
  if (!isCallExpression(node) || !isPropertyAccessExpression(node.expression)) return false
  const handler = node.arguments[0]
  if (node.expression.name.text !== 'catch' || handler === undefined) return false
  if (!isFunctionLikeDeclaration(handler) || handler.body === undefined) return false
  return isBlock(handler.body) && handler.body.statements.length === 0
}

/** The pages of the root folder and of docs/adr/: path from the root, and text. */
export function readDocs(root: string): readonly { readonly path: string; readonly text: string }[] {
  const decisions = readdirSync(join(root, 'docs/adr')).map(name => `docs/adr/${name}`)
  const pages = readdirSync(root).filter(name => name.endsWith('.md'))
  return [...pages, ...decisions]
    .filter(path => path.endsWith('.md'))
    .map(path => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}
