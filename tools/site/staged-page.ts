import { dirname, join, normalize } from 'node:path/posix';

const LINK = /(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g;

/** Where a page of the project stands on the site. */
export function sitePath(page: string): string {
  return page.replace(/(^|\/)README\.md$/, '$1index.md');
}

/**
 * The text of a page for the site. Links to other pages follow them there; a link to something that is no page, such as
 * a source file, becomes its text. Links to what does not exist stay, and fail the build.
 */
export function stagedPage(page: string, text: string, isThere: (path: string) => boolean): string {
  return outsideOfFences(text, (prose) =>
    prose.replaceAll(LINK, (whole, image: string, label: string, target: string) => {
      if (/^[a-z]+:/.test(target) || target.startsWith('#')) return whole;
      const [path = '', fragment] = target.split('#');
      const file = normalize(join(dirname(page), path)).replace(/\/$/, '');
      if (image !== '') return `![${label}](${path})`;
      if (path.endsWith('.md')) return `[${label}](${sitePath(path)}${fragment === undefined ? '' : `#${fragment}`})`;
      return isThere(file) ? label : whole;
    }),
  );
}

function outsideOfFences(text: string, change: (prose: string) => string): string {
  return text
    .split(/(^ *```[\s\S]*?^ *```$)/m)
    .map((part, index) => (index % 2 === 0 ? change(part) : part))
    .join('');
}
