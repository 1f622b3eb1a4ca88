import { anchor, sidebar } from '../pages.mjs'

/** Mermaid blocks become drawings, as they do where the repository is read. */
function drawings(md) {
  const fence = md.renderer.rules.fence
  md.renderer.rules.fence = (tokens, index, ...rest) =>
    tokens[index].info.trim() === 'mermaid'
      ? `<Drawing code="${encodeURIComponent(tokens[index].content)}" />`
      : fence(tokens, index, ...rest)
}

export default {
  title: 'ep4j',
  description: 'Expert-parallel communication for the JVM',
  srcDir: 'target/pages',
  outDir: 'target/site',
  cacheDir: 'target/cache',
  base: process.env.SITE_BASE ?? '/',
  markdown: { anchor: { slugify: anchor }, config: drawings },
  // The library of drawings is large, and loaded only where there is one.
  vite: { build: { chunkSizeWarningLimit: 1000 } },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    sidebar: sidebar(),
    nav: [
      { text: 'Getting started', link: '/getting-started' },
      { text: 'Reference', link: '/reference/settings' },
      { text: 'All pages', link: '/pages' },
    ],
    docFooter: { prev: false, next: false },
  },
}
