import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ASCII_FORMS } from './ascii-forms.ts';

test('the table has every character of Unicode that normalizes to ASCII', () => {
  const missing: string[] = [];
  let count = 0;
  for (let code = 0x80; code <= 0x10ffff; code += 1) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const character = String.fromCodePoint(code);
    const form = character.normalize('NFKC');
    if (!/^[ -~]+$/.test(form)) continue;
    count += 1;
    if (ASCII_FORMS.get(Buffer.from(character).toString('latin1')) !== form) missing.push(code.toString(16));
  }
  assert.deepEqual(missing, []);
  assert.equal(ASCII_FORMS.size, count);
  assert(count > 1000, `${count}`);
});
