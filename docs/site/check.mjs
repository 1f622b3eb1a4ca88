// Checks that every link and every picture of the built site leads to a page, an anchor or a file of it.
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'

const site = join(dirname(new URL(import.meta.url).pathname), 'target/site')
const base = process.env.SITE_BASE ?? '/'
const pages = readdirSync(site, { recursive: true }).filter((name) => name.endsWith('.html') && name !== '404.html')
const html = new Map(pages.map((page) => [page, readFileSync(join(site, page), 'utf8')]))
const ids = new Map([...html].map(([page, text]) => [page, new Set([...text.matchAll(/ id="([^"]*)"/g)].map((m) => m[1]))]))

function file(path) {
  for (const name of [path, path + '.html', join(path, 'index.html')]) {
    if (existsSync(join(site, name)) && statSync(join(site, name)).isFile()) {
      return name
    }
  }
  return undefined
}

let links = 0
const wrong = []
for (const [page, text] of html) {
  for (const [, link] of text.matchAll(/ (?:href|src)="([^"]*)"/g)) {
    if (/^[a-z]+:/.test(link)) {
      continue
    }
    links++
    const [path, fragment] = link.split('#').map((part) => decodeURIComponent(part.replaceAll('&amp;', '&')))
    const target = path === '' ? page : file(path.startsWith('/') ? '/' + path.slice(base.length) : join(dirname(page), path))
    const name = target?.replace(/^\//, '')
    if (name === undefined || (fragment && html.has(name) && !ids.get(name).has(fragment))) {
      wrong.push(`${page}: ${link}`)
    }
  }
}
if (wrong.length > 0 || links === 0) {
  console.error([`${wrong.length} of ${links} links lead nowhere:`, ...wrong].join('\n'))
  process.exit(1)
}
console.log(`${pages.length} pages, ${links} links`)
