import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEventStream } from './eligibility.ts';

test('recognizes an event stream by its type', () => {
  assert.equal(isEventStream('text/event-stream'), true);
  assert.equal(isEventStream('Text/Event-Stream; charset=utf-8'), true);
  assert.equal(isEventStream('text/event-streams'), false);
  assert.equal(isEventStream(undefined), false);
});
