import { readFileSync } from 'node:fs';

const { sidebar } = JSON.parse(readFileSync(new URL('../.content/site.json', import.meta.url), 'utf8'));

// biome-ignore lint/style/noDefaultExport: VitePress reads it.
export default {
  title: 'Postern',
  description: 'Self-hosted ingress with HTTPS, logins and tunnels',
  srcDir: '.content',
  outDir: 'dist',
  // Works in any folder of a web server, and behind servers that rewrite no URLs.
  cleanUrls: false,
  ignoreDeadLinks: false,
  markdown: {
    // Pages are plain Markdown: <HOST> is a word, not a tag.
    html: false,
    linkify: false,
    // As GitHub names them, so that links work in both places.
    anchor: {
      slugify: (text) =>
        text
          .toLowerCase()
          .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
          .replaceAll(' ', '-'),
    },
    config: (markdown) => {
      // {{ would be an expression of Vue.
      markdown.renderer.rules.text = (tokens, at) =>
        markdown.utils.escapeHtml(tokens[at].content).replaceAll('{{', '&#123;&#123;');
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    sidebar,
    outline: [2, 3],
    nav: [
      { text: 'Documentation', link: '/docs/' },
      { text: 'Questions', link: '/docs/faq' },
      { text: 'Changes', link: '/CHANGELOG' },
    ],
  },
};
