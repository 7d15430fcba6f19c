import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { confusingPhrases } from '../support/confusing-phrases.ts';
import { filesIn, projectRoot } from './source-files.ts';

/** The list of phrases itself. */
const PHRASE_LIST = 'test/support/confusing-phrases.ts';
/** Code, not prose: a loop over a list called "before". */
const LOOP = /\bfor \(.*\)/;

function problemsIn(path: string): readonly string[] {
  return readFileSync(join(projectRoot, path), 'utf8')
    .split('\n')
    .flatMap((line, index) => confusingPhrases(line.replace(LOOP, '')).map((each) => `${path}:${index + 1}: ${each}`));
}

test('no text, comment or test name uses a phrase that makes readers stumble', () => {
  const files = [
    ...filesIn('src/**/*.{ts,js,yaml,html}', 'console/src/**/*.{ts,tsx,html}'),
    ...filesIn('{bin,test,tools,bench}/**/*.{ts,js,mjs}'),
    'openapi.json',
  ].filter((path) => path !== PHRASE_LIST);
  assert.deepEqual(files.flatMap(problemsIn), []);
});
