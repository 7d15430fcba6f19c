import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OutboxEvent } from '../../store/store.ts';
import { EventRecorder, requestObject, type WantedTypes } from './event-recorder.ts';

interface World {
  readonly recorder: EventRecorder;
  readonly batches: OutboxEvent[][];
  readonly warnings: object[];
  /** The store fails while this is true. */
  isDown: boolean;
  nowMs: number;
}

function world(maxQueued: number): World {
  const batches: OutboxEvent[][] = [];
  const warnings: object[] = [];
  let ids = 0;
  const made: World = {
    batches,
    warnings,
    isDown: false,
    nowMs: 1_000,
    recorder: new EventRecorder({
      events: {
        record: async (events) => {
          if (made.isDown) throw new Error('the store is away');
          batches.push([...events]);
          return events.length;
        },
      },
      wanted: { has: (type: string) => type.startsWith('wanted') } as unknown as WantedTypes,
      accountId: 'ac_1',
      clock: { nowMs: () => made.nowMs },
      log: { warn: (fields) => warnings.push(fields), error: () => {} },
      newId: (prefix) => {
        ids += 1;
        return `${prefix}_${ids}`;
      },
      maxQueued,
    }),
  };
  return made;
}

test('writes events together, in order, as envelopes, and unwanted ones cost nothing', async () => {
  const { recorder, batches } = world(10_000);
  recorder.record('unwanted.v0', {});
  assert.equal(recorder.queued, 0);
  for (let at = 0; at < 1_200; at += 1) recorder.record('wanted.v0', { at });
  await recorder.close();
  assert.deepEqual(
    batches.map((batch) => batch.length),
    [500, 500, 200],
  );
  assert.deepEqual(
    batches.flat().map(({ payload }) => payload['object']),
    Array.from({ length: 1_200 }, (_, at) => ({ at })),
  );
  assert.deepEqual(batches[0]?.[0], {
    id: 'ev_1',
    type: 'wanted.v0',
    createdAtMs: 1_000,
    payload: {
      event_id: 'ev_1',
      event_type: 'wanted.v0',
      event_timestamp: '1970-01-01T00:00:01.000Z',
      account_id: 'ac_1',
      principal: null,
      object: { at: 0 },
    },
  });
  assert.deepEqual([...recorder.recorded], [['wanted.v0', 1_200]]);
});

test('drops and counts events when the queue is full, and logs once a minute', async () => {
  const made = world(3);
  const { recorder, warnings } = made;
  for (let at = 0; at < 10; at += 1) recorder.record('wanted.v0', { at });
  assert.deepEqual([...recorder.dropped], [['wanted.v0', 7]]);
  assert.deepEqual(warnings, [{ dropped: 1, queue: 3 }]);
  made.nowMs += 60_000;
  recorder.record('wanted.v0', {});
  assert.deepEqual(warnings.at(-1), { dropped: 7, queue: 3 });
  await recorder.close();
  assert.deepEqual([...recorder.recorded], [['wanted.v0', 3]]);
});

test('keeps events in the queue while the store fails, and counts those given up as dropped', async () => {
  const made = world(100);
  made.isDown = true;
  made.recorder.record('wanted.v0', { at: 1 });
  await made.recorder.close();
  assert.deepEqual([...made.recorder.dropped], [['wanted.v0', 1]]);
  assert.deepEqual(made.batches, []);
});

test('an event of a request has no query, no header, and nothing of the own paths', () => {
  const facts = {
    request_id: 'rq_1',
    method: 'GET',
    host: 'a.example.com',
    path: '/a?token=planted',
    status: 200,
    client: '192.0.2.1',
    edge: null,
    route: null,
    upstream: null,
    bytes_in: 0,
    bytes_out: 5,
    ms: 1.5,
    headers: { authorization: 'planted' },
  };
  const object = requestObject(facts, 'node-a');
  assert.equal(object?.['path'], '/a');
  assert.doesNotMatch(JSON.stringify(object), /planted/);
  assert.equal(requestObject({ ...facts, path: '/.postern/oidc/callback' }, 'node-a'), null);
});
