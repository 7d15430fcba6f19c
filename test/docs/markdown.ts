import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const projectRoot: string = fileURLToPath(new URL('../..', import.meta.url));

export interface ShellBlock {
  readonly page: string;
  readonly line: number;
  readonly text: string;
}

/** Every Markdown file of the project, relative to its root. New files count before they are committed. */
export function markdownPages(): readonly string[] {
  const listing = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.md'], { cwd: projectRoot });
  return listing
    .toString()
    .split('\n')
    .filter((path) => path !== '' && existsSync(join(projectRoot, path)))
    .toSorted();
}

export function readPage(page: string): string {
  return readFileSync(join(projectRoot, page), 'utf8');
}

/** The `sh` blocks of a page in their order. A block inside a list is indented; the indentation is removed. */
export function shellBlocks(page: string): readonly ShellBlock[] {
  const text = readPage(page);
  return Array.from(text.matchAll(/^( *)```(?:sh|bash|shell|console)\n([\s\S]*?)^\1```$/gm), (match) => ({
    page,
    line: text.slice(0, match.index).split('\n').length,
    text: (match[2] ?? '').replaceAll(new RegExp(`^${match[1] ?? ''}`, 'gm'), ''),
  }));
}

/** Lines outside of fenced blocks and comments, with inline code left out: prose only. */
export function proseLines(page: string): readonly { readonly line: number; readonly text: string }[] {
  let isFenced = false;
  return readPage(page)
    .split('\n')
    .flatMap((text, index) => {
      if (/^ *```/.test(text)) {
        isFenced = !isFenced;
        return [];
      }
      return isFenced ? [] : [{ line: index + 1, text: text.replaceAll(/`[^`]*`/g, '``') }];
    });
}
