import { sitePath } from './staged-page.ts';

export interface SidebarSection {
  readonly text: string;
  readonly items: readonly { readonly text: string; readonly link: string }[];
  readonly collapsed: boolean;
}

/** The sections of docs/README.md with the pages that they link, without their links into the code. */
export function sidebarOf(index: string): readonly SidebarSection[] {
  return index
    .split(/^## /m)
    .slice(1)
    .flatMap((section) => {
      const [title = '', ...lines] = section.split('\n');
      const links = lines.join('\n').matchAll(/\[`?([^\]`]+)`?\]\(((?!\.\.|https?:)[^)#\s]+\.md)\)/g);
      const items = Array.from(links, ([, text = '', path = '']) => ({
        text,
        link: `/docs/${sitePath(path).replace(/(index)?\.md$/, '')}`,
      }));
      return items.length === 0 ? [] : [{ text: title, items, collapsed: title === 'Internals' }];
    });
}
