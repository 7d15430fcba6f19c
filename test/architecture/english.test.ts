import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { filesIn, projectRoot } from './source-files.ts';

/** Phrases that make a reader stumble, in texts that users see. */
const PHRASES =
  /\bwhoever\b|\bin words\b|\banew\b|\ball the same\b|(?<!\bfor \(.*)\bof before\b|\bany more\b|\bfor ever\b|\b(?:is|are|was|were) told\b|\bby what right\b/i;

/** Folders whose comments are held to the same list; extend it as they are cleaned. */
const CLEAN_COMMENTS: readonly string[] = ['src/config/'];

const isComment = (line: string): boolean => /^\s*(?:\/\/|\/?\*)/.test(line);

function stumbles(path: string, isRead: (line: string) => boolean): readonly string[] {
  return readFileSync(join(projectRoot, path), 'utf8')
    .split('\n')
    .flatMap((line, index) => {
      const phrase = isRead(line) ? PHRASES.exec(line)?.[0] : undefined;
      return phrase === undefined ? [] : [`${path}:${index + 1}: "${phrase}"`];
    });
}

test('no text in src uses a phrase that makes readers stumble', () => {
  const found = filesIn('src/**/*.{ts,yaml,html}')
    .filter((path) => !path.endsWith('.test.ts'))
    .flatMap((path) => {
      const hasCleanComments = CLEAN_COMMENTS.some((folder) => path.startsWith(folder));
      // A comment behind code counts as a comment.
      return stumbles(path, (line) => hasCleanComments || !(isComment(line) || /\s\/\/ .*$/.test(line)));
    });
  assert.deepEqual(found, []);
});

test('no description in openapi.json uses one', () => {
  assert.deepEqual(
    stumbles('openapi.json', () => true),
    [],
  );
});
