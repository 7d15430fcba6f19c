import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CommandContext } from '../command.ts';
import { painterFor, wholeWords } from './terminal.ts';

const TERMINAL = { TERM: 'xterm-256color' };

test('paints on capable terminals only, unless the environment says otherwise', () => {
  const rows: readonly [boolean, boolean, Record<string, string>][] = [
    [true, true, TERMINAL],
    [false, true, { ...TERMINAL, NO_COLOR: '1' }],
    // no-color.org: an empty value does not count.
    [true, true, { ...TERMINAL, NO_COLOR: '' }],
    [false, true, { TERM: 'dumb' }],
    [false, true, {}],
    [false, false, TERMINAL],
    [true, false, { FORCE_COLOR: '1' }],
    [false, true, { ...TERMINAL, FORCE_COLOR: '0' }],
    [false, true, { ...TERMINAL, FORCE_COLOR: '1', NO_COLOR: '1' }],
  ];
  for (const [expected, isTerminal, env] of rows) {
    const context: CommandContext = { env, isTerminal, print: () => {}, warn: () => {} };
    assert.equal(painterFor(context)('x', 'bold') !== 'x', expected, JSON.stringify({ isTerminal, env }));
  }
});

test('breaks a text at words, and keeps the indentation of its lines', () => {
  assert.equal(
    wholeWords('postern: one two three\n  advice that is long', 16),
    'postern: one\n  two three\n  advice that\n    is long',
  );
  assert.equal(wholeWords('postern: one two three', null), 'postern: one two three');
});
