import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import Type from 'typebox';
import { TimeSlice } from '../../../kit/async/slices.ts';
import type { JsonObject } from '../../../kit/json.ts';
import { listEnvelope } from '../../resources/live-operations.ts';
import type { Operation, OperationRequest } from '../../resources/operation.ts';
import { nextPageUri, pageOf, pagingQuery } from '../../resources/paging.ts';
import { filteredList, type ListFigures } from './filtered-list.ts';
import { FirstInOrder } from './first-in-order.ts';

const COUNT = 25_000;
const URI = 'http://api.test/things';
const ports = { clock: { nowMs: () => 0 } };

/** Newest first: the ids fall. */
const idOf = (number: number): string => `th_${String(number).padStart(27, '0')}`;

let readItems = 0;
const things: Operation<typeof ports> = {
  resource: 'things',
  verb: 'list',
  method: 'GET',
  path: '/things',
  summary: '',
  query: Type.Object(pagingQuery('th')),
  success: {
    status: 200,
    schema: listEnvelope('things', Type.Object({ id: Type.String(), number: Type.Integer() })),
    description: '',
  },
  errors: [],
  run: ({ query }) => {
    const { beforeId, limit } = pageOf(query);
    const first = beforeId === null ? COUNT : Number(beforeId.slice(3)) - 1;
    const items = Array.from({ length: Math.min(limit, first) }, (_, index) => ({
      id: idOf(first - index),
      number: first - index,
    }));
    readItems += items.length;
    const next = first > limit ? nextPageUri(URI, query, limit, items.at(-1)?.id ?? '') : null;
    return { body: { things: items, uri: URI, next_page_uri: next } };
  },
};

const figures: ListFigures<typeof ports> = {
  names: ['visits'],
  description: '',
  of: async () => new Map([3, 240].map((number) => [idOf(number), number])),
};
const filtered = filteredList(things);
const ask = async (query: Record<string, string>): Promise<JsonObject> =>
  (await filtered.run({ query } as unknown as OperationRequest, ports)).body ?? {};
const numbersOf = (body: JsonObject): number[] => (body['things'] as { number: number }[]).map(({ number }) => number);
const queryOf = (uri: unknown): Record<string, string> => Object.fromEntries(new URL(uri as string).searchParams);

suite('a filtered list', () => {
  test('looks at 10,000 items per request, and its next page continues there with the filter', async () => {
    readItems = 0;
    const first = await ask({ filter: 'obj.number == 3 || obj.number == 24999', limit: '5' });
    assert.deepEqual([numbersOf(first), readItems], [[24_999], 10_000]);
    const second = await ask(queryOf(first['next_page_uri']));
    assert.deepEqual(numbersOf(second), []);
    const third = await ask(queryOf(second['next_page_uri']));
    assert.deepEqual([numbersOf(third), third['next_page_uri'], readItems], [[3], null, COUNT]);
  });

  test('has no next page after the last match', async () => {
    const filter = 'obj.number > 24990 && obj.number <= 24995';
    const whole = await ask({ filter, limit: '5' });
    assert.deepEqual(numbersOf(whole), [24_995, 24_994, 24_993, 24_992, 24_991]);
    const half = await ask({ filter, limit: '4' });
    const rest = await ask(queryOf(half['next_page_uri']));
    assert.deepEqual([numbersOf(half), numbersOf(rest)], [[24_995, 24_994, 24_993, 24_992], [24_991]]);
  });

  test('shares the event loop', async () => {
    let turns = 0;
    const counter = setInterval(() => (turns += 1), 0);
    await ask({ filter: Array(20).fill('obj.id.contains("nothing")').join(' || ') });
    clearInterval(counter);
    assert.ok(turns > 1, `${turns} turns of others`);
  });

  test('without a filter runs as it is', async () => {
    readItems = 0;
    assert.equal(numbersOf(await ask({ limit: '7' })).length, 7);
    assert.equal(readItems, 7);
  });
});

suite('an ordered list', () => {
  test('is ordered as a whole, page by page, and says how many results it has', async () => {
    const filter = 'obj.number > 24990 && obj.number <= 24995';
    // The first 10,000 items of 25,000 are not the whole list.
    await assert.rejects(ask({ order_by: 'number' }), { code: 'ERR_POSTERN_INVALID_QUERY' });
    await assert.rejects(ask({ order_by: 'nothing' }), /order_by must be a field/);
    const short = filteredList({ ...things, run: (request, port) => things.run(withFirst(request, 250), port) });
    const page = (query: Record<string, string>) => short.run({ query } as unknown as OperationRequest, ports);
    const first = await page({ order_by: 'number', limit: '2' });
    assert.deepEqual(numbersOf(first.body ?? {}), [1, 2]);
    assert.deepEqual(first.headers, { 'postern-count': '249' });
    const second = await page(queryOf(first.body?.['next_page_uri']));
    assert.deepEqual(numbersOf(second.body ?? {}), [3, 4]);
    assert.deepEqual(numbersOf((await page({ order_by: '-number', limit: '2', skip: '248' })).body ?? {}), [1]);
    const found = await page({ q: '00000249', limit: '5' });
    assert.deepEqual([numbersOf(found.body ?? {}), found.headers], [[249], { 'postern-count': '1' }]);
    assert.deepEqual(numbersOf(await ask({ filter, limit: '1' })), [24_995]);
  });

  test('is ordered by a figure that its items do not have, and without one newest first', async () => {
    const short = filteredList(
      { ...things, run: (request, port) => things.run(withFirst(request, 250), port) },
      undefined,
      figures,
    );
    const answer = await short.run(
      { query: { order_by: '-visits', limit: '4' } } as unknown as OperationRequest,
      ports,
    );
    assert.deepEqual(numbersOf(answer.body ?? {}), [240, 3, 249, 248]);
  });

  test('is sorted in slices', async () => {
    const items = Array.from({ length: 20_000 }, (_, at) => ({ id: `${at}`, name: `site-${(at * 7_919) % 20_000}` }));
    const first = new FirstInOrder('name', items.length, null);
    for (const item of items) first.add(item);
    let turns = 0;
    const pause = async (): Promise<void> => {
      turns += 1;
    };
    const budget = { sliceMs: 5, nowMs: () => performance.now(), pause };
    const sorted = await first.all(new TimeSlice(budget));
    assert.deepEqual(
      sorted.slice(0, 3).map(({ name }) => name),
      ['site-0', 'site-1', 'site-2'],
    );
    assert.ok(turns >= 3, `${turns} turns`);
  });
});

/** A list of fewer things. */
function withFirst(request: OperationRequest, first: number): OperationRequest {
  return { ...request, query: { before_id: idOf(first), ...request.query } };
}
