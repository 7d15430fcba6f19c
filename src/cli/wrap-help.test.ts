import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { wrapHelp } from './wrap-help.ts';

const LONG = 'a description of many words that goes on until no terminal can show it in one line';

suite('wrapHelp', () => {
  test('leaves text that fits as it is', () => {
    const text = 'Usage: postern x [FLAGS]\n\n  --a   one\n        two\n  --bb  three\n\nText.\nMore text.';
    assert.equal(wrapHelp(text), text);
  });

  test('keeps the columns of a table', () => {
    assert.equal(
      wrapHelp(`  --flag NAME   ${LONG}\n  --other       short`),
      `  --flag NAME   a description of many words that goes on until no terminal can
                show it in one line
  --other       short`,
    );
  });

  test('fills a description and a paragraph that continue on the next line', () => {
    assert.equal(
      wrapHelp(`  --flag  ${LONG}, at\n          least here\n\n${LONG} or\ntwo.`),
      `  --flag  a description of many words that goes on until no terminal can show it
          in one line, at least here

a description of many words that goes on until no terminal can show it in one
line or two.`,
    );
  });

  test('keeps commands, which users copy, on one line', () => {
    const text = `Usage: postern x ${'[--flag VALUE] '.repeat(6)}\n\nExample:\n  postern x ${'--flag value '.repeat(8)}`;
    assert.equal(wrapHelp(text), text);
  });
});
