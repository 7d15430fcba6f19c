import assert from 'node:assert/strict';
import { test } from 'node:test';
import { markdownPages, readPage } from './markdown.ts';

/** Pages that others write or that grow line by line. */
const EXEMPT = new Set(['CHANGELOG.md', 'spec/interface.md']);

/** Lines that stand alone: headings, tables, quotes, HTML, fences, the items of lists. */
const STANDS_ALONE = /^\s*(?:[#|<>]|```|[-*+] |\d+[.)] |---)/;

test('the first screen of the README shows what Postern is, npm start, npm test and the way to a server', () => {
  const lines = readPage('README.md').split('\n').slice(0, 30);
  const wanted = [
    /^\*\*Postern puts /,
    /^It is for .* instead of /,
    /^!\[.*\]\(docs\/images\/first-minute\.png\)$/,
    /^npm start$/,
    /`Postern [\d.]+ is ready`.*`node bin\/postern\.mjs edge [\w.]+:7443 --to 3000` publishes port 3000/,
    /^npm test$/,
    /^\*\*On a server\*\*/,
    /^npm run build:binary$/,
    /^ssh .* postern up app\.example\.com --to 3000 --login /,
  ];
  const places = wanted.map((pattern) => lines.findIndex((line) => pattern.test(line)));
  assert.ok(!places.includes(-1), places.join());
  assert.deepEqual(
    places,
    places.toSorted((a, b) => a - b),
  );
});

test('a paragraph of a page is one line: no editor breaks it at odd places', () => {
  const broken = markdownPages()
    .filter((page) => !EXEMPT.has(page))
    .flatMap((page) => brokenParagraphs(page));
  assert.deepEqual(broken, []);
});

function brokenParagraphs(page: string): readonly string[] {
  let isProse = true;
  return readPage(page)
    .split('\n')
    .flatMap((line, index, lines) => {
      if (/^\s*(?:```|<!--|-->)/.test(line) && !/^\s*<!--.*-->/.test(line)) isProse = !isProse;
      const before = lines[index - 1] ?? '';
      const continues = isProse && line.trim() !== '' && !STANDS_ALONE.test(line);
      const isOpen = before.trim() !== '' && !/^\s*(?:[#|<>]|```|-->|---)/.test(before) && !/(?: {2}|\\)$/.test(before);
      return continues && isOpen ? [`${page}:${index + 1}: ${line}`] : [];
    });
}
