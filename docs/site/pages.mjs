// Where the documents of the repository stand on the site. Links between them are written for the repository, and rewritten here.
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

const site = import.meta.dirname ?? dirname(new URL(import.meta.url).pathname)
const root = resolve(site, '../..')
const target = join(site, 'target/pages')

const LINK = /\]\(([^)\s]+)\)/g
const CODE = /(^ *```[\s\S]*?^ *```|`[^`\n]*`)/m

/** Pages by their paths in the repository. */
const moved = new Map([
  ['README.md', 'index.md'],
  ['CONTRIBUTING.md', 'contributing/index.md'],
  ['CHANGELOG.md', 'changelog.md'],
  ['docs/index.md', 'pages.md'],
  ['examples/moe-layer/README.md', 'examples/moe-layer.md'],
  ['examples/moe-llm/README.md', 'examples/moe-llm.md'],
])

function allPages() {
  const pages = new Map(moved)
  for (const name of readdirSync(join(root, 'docs'), { recursive: true })) {
    const path = join('docs', name)
    if (name.endsWith('.md') && !name.startsWith('site/') && !pages.has(path)) {
      pages.set(path, name)
    }
  }
  return pages
}

function rewritten(link, from, pages) {
  if (link.includes('://') || link.startsWith('#')) {
    return link
  }
  const [path, anchor] = link.split('#')
  const source = join(dirname(from), path)
  let to
  if (pages.has(source)) {
    to = pages.get(source)
  } else if (source.startsWith('docs/images/')) {
    to = source.slice('docs/'.length)
  } else if (source === 'LICENSE') {
    return '/LICENSE.txt'
  } else {
    throw new Error(`${from} links to ${path}, which is not on the site`)
  }
  const way = relative(dirname(pages.get(from)), to)
  return (way.startsWith('.') ? way : './' + way) + (anchor === undefined ? '' : '#' + anchor)
}

function text(from, pages) {
  return readFileSync(join(root, from), 'utf8')
    .split(CODE)
    .map((part, i) => (i % 2 ? part : part.replace(LINK, (_, link) => `](${rewritten(link, from, pages)})`)))
    .join('')
}

/** Writes all pages with their pictures into target/pages. */
export function writePages() {
  rmSync(target, { recursive: true, force: true })
  const pages = allPages()
  for (const [from, to] of pages) {
    mkdirSync(dirname(join(target, to)), { recursive: true })
    writeFileSync(join(target, to), text(from, pages))
  }
  cpSync(join(root, 'docs/images'), join(target, 'images'), { recursive: true })
  mkdirSync(join(target, 'public'))
  cpSync(join(root, 'LICENSE'), join(target, 'public/LICENSE.txt'))
}

/** The groups and links of docs/index.md. */
export function sidebar() {
  const pages = allPages()
  return readFileSync(join(root, 'docs/index.md'), 'utf8')
    .split(/^\*\*/m)
    .slice(1)
    .map((group) => ({
      text: group.slice(0, group.indexOf('**')),
      items: [...group.matchAll(/\[([^\]]+)\]\(([^)]+)\)/g)].map(([, name, link]) => ({
        text: link.startsWith('backends') ? name : name[0].toUpperCase() + name.slice(1),
        link: '/' + pages.get(join('docs', link)).replace(/(index)?\.md$/, ''),
      })),
    }))
}

/** The anchor of a heading, as GitHub makes it. */
export function anchor(heading) {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_ -]/gu, '')
    .trim()
    .replaceAll(' ', '-')
}
