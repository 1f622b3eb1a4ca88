import { anchor, sidebar } from '../pages.mjs'

export default {
  title: 'ep4j',
  description: 'Expert-parallel communication for the JVM',
  srcDir: 'target/pages',
  outDir: 'target/site',
  cacheDir: 'target/cache',
  base: process.env.SITE_BASE ?? '/',
  markdown: { anchor: { slugify: anchor } },
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
