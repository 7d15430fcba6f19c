import assert from 'node:assert/strict';
import { test } from 'node:test';
import { minuteText, timeText } from './cell-text.ts';

test('a time is local, with --utc it has a Z, and other texts are none', () => {
  const at = '2026-11-19T23:05:09.123Z';
  assert.equal(timeText(at, true), '2026-11-19 23:05:09Z');
  const local = new Date(at);
  const two = (number: number): string => String(number).padStart(2, '0');
  const day = `${local.getFullYear()}-${two(local.getMonth() + 1)}-${two(local.getDate())}`;
  assert.equal(timeText(at, false), `${day} ${local.toTimeString().slice(0, 8)}`);
  for (const text of ['-', 'app.example.com', '2026-11-19']) assert.equal(timeText(text, true), null);
  assert.equal(minuteText(at, true), '2026-11-19 23:05Z');
  assert.match(minuteText(at, false) ?? '', /^\d{4}-\d\d-\d\d \d\d:\d\d$/);
});
