import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CheckedDestination, Facts } from '../facts.ts';
import { destinationsCheck } from './destinations.ts';

test('destinations: a suspended one is a problem, a paused one a hint, and an active one is fine', () => {
  const all: readonly CheckedDestination[] = [
    { id: 'ed_1', description: 'audit log', status: 'suspended' },
    { id: 'ed_2', description: '', status: 'paused' },
    { id: 'ed_3', description: '', status: 'active' },
  ];
  const found = [...destinationsCheck.run({ event_destinations: all } as unknown as Facts)].filter(
    (finding) => finding !== null,
  );
  assert.deepEqual(
    found.map(({ level, message, about }) => [level, message, about?.id]),
    [
      ['problem', 'the event destination "audit log" is suspended: it accepted no events for too long', 'ed_1'],
      ['hint', 'the event destination ed_2 is paused: its events wait', 'ed_2'],
      ['ok', 'the event destination ed_3 is active', undefined],
    ],
  );
  assert.match(found[0]?.advice ?? '', /event-destinations resume ed_1$/);
});
