import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { filesIn, projectRoot } from './source-files.ts';

const CODE = ['bin', 'src', 'test', 'tools', 'bench'].map((folder) => `${folder}/**/*.{ts,js,mjs}`);
/** Generated from schemas, and the list of the phrases themselves. */
const EXEMPT = /^src\/client\/generated\/|^test\/support\/confusing-phrases\.ts$/;
const COMMENT = /^\s*(?:\/\/|\/\*\*?|\*)\s*(.*)$/;

const CONSOLE = 'console/src/**/*.{ts,tsx}';
const WIDTH = 120;
/** A comment that starts here. The group: its first words. */
const COMMENT_START = /^\s*(?:\/\*\*\s+|\/\/\s?|\*\s)(.*)$/;
const OPENS_BLOCK = /^\s*\/\*\*?\s*$/;
const LINE_COMMENT = /^\s*\/\//;
/** A pronoun at the start of a comment, whose noun a reader must look for in the code. */
const WITHOUT_NOUN =
  /^(?:(?:It|They|Its|Their|Those)\b|(?:This|That|These) (?:is|are|was|were|has|have|had|does|do|must|may|can|cannot|would|will|needs?|takes?|makes?|keeps?|ends?|costs?)\b)/;
/** Comments that no formatter can break: tables, addresses, and instructions to a linter. */
const UNBREAKABLE = /^\s*(?:\*|\/\/)\s+(?:\||\S+$|biome-ignore|oxlint-)/;

const commented = filesIn(...CODE, CONSOLE)
  .filter((path) => !EXEMPT.test(path))
  .map((path) => ({ path, lines: readFileSync(join(projectRoot, path), 'utf8').split('\n') }));

test('a comment is no wider than the code', () => {
  const found = commented.flatMap(({ path, lines }) =>
    lines.flatMap((line, at) =>
      line.length > WIDTH && COMMENT.test(line) && !UNBREAKABLE.test(line) ? [`${path}:${at + 1}`] : [],
    ),
  );
  assert.deepEqual(found, [], `break the comment at ${WIDTH} columns`);
});

test('a comment does not start with a pronoun whose noun stands elsewhere', () => {
  const found = commented.flatMap(({ path, lines }) =>
    lines.flatMap((line, at) => {
      const start = COMMENT_START.exec(line)?.[1] ?? '';
      if (!WITHOUT_NOUN.test(start)) return [];
      const before = lines[at - 1] ?? '';
      const isFirst = LINE_COMMENT.test(line)
        ? !LINE_COMMENT.test(before)
        : OPENS_BLOCK.test(before) || line.includes('/**');
      return isFirst ? [`${path}:${at + 1}: ${start}`] : [];
    }),
  );
  assert.deepEqual(found, [], 'name the subject');
});
