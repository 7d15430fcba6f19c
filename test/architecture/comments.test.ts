import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { confusingPhrases } from '../support/confusing-phrases.ts';
import { filesIn, projectRoot } from './source-files.ts';

const CODE = ['bin', 'src', 'test', 'tools', 'bench'].map((folder) => `${folder}/**/*.{ts,js,mjs}`);
/** Generated from schemas, and the list of the phrases themselves. */
const EXEMPT = /^src\/client\/generated\/|^test\/support\/confusing-phrases\.ts$/;
const COMMENT = /^\s*(?:\/\/|\/\*\*?|\*)\s*(.*)$/;
const TEST_NAME = /^\s*(?:test|suite)\((['"`])(.*)\1/;

test('no comment and no test name uses a phrase that makes readers stumble', () => {
  const found = filesIn(...CODE)
    .filter((path) => !EXEMPT.test(path))
    .flatMap((path) =>
      proseOf(readFileSync(join(projectRoot, path), 'utf8')).flatMap(({ line, text }) =>
        confusingPhrases(text).map((problem) => `${path}:${line}: ${problem}`),
      ),
    );
  assert.deepEqual(found, []);
});

function proseOf(code: string): readonly { readonly line: number; readonly text: string }[] {
  return code.split('\n').flatMap((text, at) => {
    const prose = COMMENT.exec(text)?.[1] ?? TEST_NAME.exec(text)?.[2];
    return prose === undefined ? [] : [{ line: at + 1, text: prose }];
  });
}
