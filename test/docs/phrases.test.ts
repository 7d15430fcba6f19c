import assert from 'node:assert/strict';
import { test } from 'node:test';
import { confusingPhrases, replacedWords } from '../support/confusing-phrases.ts';
import { markdownPages, proseLines } from './markdown.ts';

/** The wording of the interface is not ours. */
const EXEMPT = new Set(['spec/interface.md']);

test('no page uses a phrase that makes readers stumble', () => {
  const found = markdownPages()
    .filter((page) => !EXEMPT.has(page))
    .flatMap((page) =>
      proseLines(page).flatMap(({ line, text }) =>
        confusingPhrases(text).map((problem) => `${page}:${line}: ${problem}`),
      ),
    );
  assert.deepEqual(found, []);
});

test('no page for users has a word that the glossary of docs/concepts.md replaced', () => {
  const found = markdownPages()
    .filter((page) => !EXEMPT.has(page) && page !== 'CHANGELOG.md' && !page.startsWith('docs/internals/'))
    .flatMap((page) =>
      proseLines(page).flatMap(({ line, text }) => replacedWords(text).map((problem) => `${page}:${line}: ${problem}`)),
    );
  assert.deepEqual(found, []);
});
