import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import { FURNISHED_ENV, FurnishedWorld, nameOf, writeOperations } from '../conformance/furnished-world.ts';
import { isLong, shareOfCases } from '../support/share-of-cases.ts';
import type { ApiAnswer, TestWorld } from '../support/test-world.ts';
import {
  cleanupAfterSuite,
  inWorld,
  type Made,
  makeEdge,
  openWorld,
  openWorldsOnOneDatabase,
  usePostgres,
} from './worlds.ts';

type Body = Readonly<Record<string, unknown>>;
type Operation = (typeof writeOperations)[number];

interface Write {
  readonly method: 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: Body;
}

usePostgres();

for (const name of ['sqlite', 'postgres', 'two nodes'] as const) {
  suite(`the answer to a write, ${name}`, () => {
    const cleanup = cleanupAfterSuite();
    let worlds: readonly TestWorld[];
    let furnished: FurnishedWorld;

    before(async () => {
      worlds =
        name === 'two nodes'
          ? await openWorldsOnOneDatabase(cleanup, 2, { env: FURNISHED_ENV })
          : [await openWorld(cleanup, name, { env: FURNISHED_ENV })];
      const [world] = worlds as [TestWorld];
      furnished = await FurnishedWorld.furnish(world);
      // A subscription makes the writers of one edge or route take turns.
      assert.equal((await world.api('DELETE', `/event_subscriptions/${furnished.id('esb')}`)).status, 204);
      for (const { server } of worlds) await server.replica.refresh();
    });

    /** Each writer has a write of its own, and repeats it: some find that their state is already there. */
    async function race(writes: readonly Write[], rounds: number): Promise<Answered[]> {
      const answered: Answered[] = [];
      await Promise.all(
        writes.map(async (write, writer) => {
          const world = worlds[writer % worlds.length] as TestWorld;
          for (let round = 0; round < rounds; round += 1) {
            const answer = await world.api(write.method, inWorld(world, `http://x${write.path}`), write.body);
            answered.push({ write, answer });
          }
        }),
      );
      return answered;
    }

    test('eight people dismiss one alert at once: all see it dismissed', async () => {
      const [world] = worlds as [TestWorld];
      const path = `/alerts/${furnished.id('al')}/dismiss`;
      const answers = await Promise.all(Array.from({ length: 8 }, () => world.api('POST', path)));
      for (const { body, text } of answers) assert.equal(body.status, 'dismissed', text);
    });

    for (const [writers, rounds] of [
      [2, isLong ? 20 : 3],
      [8, isLong ? 8 : 2],
    ] as const) {
      test(`${writers} writers of one object: each answer shows its own write, with the ETag of its commit`, async () => {
        const operations = writeOperations.filter((operation) => variants(operation, furnished) !== null);
        assert.ok(operations.length > 35, `${operations.length} operations`);
        // On SQLite, two writers take half of the operations, and eight the others.
        const parts = name === 'sqlite' ? 2 : 8;
        for (const operation of shareOfCases(operations, writers === 2 ? 0 : 1, parts)) {
          const bodies = variants(operation, furnished) as readonly Body[];
          const path = furnished.path(operation);
          const writes = Array.from({ length: writers }, (_, at): Write => {
            return { method: operation.method as 'PUT', path, body: bodies[at % 2] as Body };
          });
          const answered = await race(writes, rounds);
          for (const { write, answer } of answered) {
            assert.equal(answer.status, 200, `${nameOf(operation)}: ${answer.text}`);
            assertOwn(write, answer, nameOf(operation));
          }
          assertOneBodyPerETag(answered, nameOf(operation));
        }
      });

      test(`${writers} writers of one event subscription: each answer shows its own write`, async () => {
        const [world] = worlds as [TestWorld];
        const sources = ['https_edge_created.v0', 'ip_policy_created.v0'].map((type) => ({ type }));
        const made = await world.api('POST', '/event_subscriptions', { sources });
        assert.equal(made.status, 201, made.text);
        const path = pathOf(made.body);
        for (const { server } of worlds) await server.replica.refresh();
        const writes = Array.from({ length: writers }, (_, at): Write => {
          return {
            method: 'PATCH',
            path,
            body: { description: at % 2 === 0 ? 'one' : 'two', sources: [sources[at % 2]] },
          };
        });
        const answered = await race(writes, 4 * rounds);
        for (const { write, answer } of answered) {
          assert.equal(answer.status, 200, answer.text);
          assertOwn(write, answer, path);
          const sent = write.body as unknown as { readonly sources: typeof sources };
          const typesOf = (of: typeof sources): readonly string[] => of.map(({ type }) => type);
          assert.deepEqual(typesOf(answer.body.sources), typesOf(sent.sources), answer.text);
        }
        assertOneBodyPerETag(answered, path);
        assert.equal((await world.api('DELETE', path)).status, 204);
      });

      test(`${writers} writers below one edge: an answer that shows their documents is the state of its commit`, async () => {
        const [world] = worlds as [TestWorld];
        for (let at = 0; at < 4; at += 1) {
          const edge = pathOf(await makeEdge(world));
          const routes = [];
          for (const match of ['/a', '/b']) {
            const made = await world.api('POST', `${edge}/routes`, { match_type: 'path_prefix', match });
            routes.push(pathOf(made.body));
          }
          for (const { server } of worlds) await server.replica.refresh();
          const all: readonly Write[] = [
            { method: 'PATCH', path: edge, body: { description: 'one' } },
            { method: 'PUT', path: `${routes[0]}/compression`, body: { enabled: true } },
            { method: 'PUT', path: `${routes[0]}/compression`, body: { enabled: false } },
            { method: 'PATCH', path: edge, body: { description: 'two' } },
            { method: 'DELETE', path: `${routes[1]}/compression` },
            { method: 'PATCH', path: routes[1] as string, body: { compression: { enabled: true } } },
            { method: 'PUT', path: `${edge}/tls_termination`, body: { min_version: '1.3' } },
            { method: 'PUT', path: `${edge}/tls_termination`, body: { min_version: '1.2' } },
          ];
          const answered = await race(all.slice(0, writers), 2 * rounds);
          for (const { write, answer } of answered) {
            assert.ok([200, 204].includes(answer.status), answer.text);
            assertOwn(write, answer, `${write.method} ${write.path}`);
          }
          assertOneBodyPerETag(answered, 'below one edge');
        }
      });
    }
  });
}

interface Answered {
  readonly write: Write;
  readonly answer: ApiAnswer;
}

/** Two bodies that the operation accepts; null: it does not replace or change one object. */
function variants(operation: Operation, furnished: FurnishedWorld): readonly [Body, Body] | null {
  const { method, body, path } = operation;
  if (path.includes('{subscription_id}') || path.startsWith('/event_subscriptions')) return null;
  if (method === 'PUT') {
    const example = furnished.example(operation);
    return [
      { ...example, enabled: true },
      { ...example, enabled: false },
    ];
  }
  const fields = Object.keys((body?.schema as { properties?: object } | undefined)?.properties ?? {});
  if (method !== 'PATCH' || !fields.includes('description')) return null;
  return [{ description: 'one' }, { description: 'two' }];
}

function assertOwn({ body = {} }: Write, answer: ApiAnswer, name: string): void {
  for (const field of ['enabled', 'description', 'min_version', 'compression']) {
    if (field in body) assert.deepEqual(answer.body[field], { ...answer.body, ...body }[field], `${name}: ${field}`);
  }
  const etag = answer.headers.get('etag');
  const revision = Number(answer.headers.get('postern-revision'));
  if (etag !== null) assert.ok(Number(etag.slice(1, -1)) <= revision, `${name}: ${etag} in revision ${revision}`);
}

function assertOneBodyPerETag(answered: readonly Answered[], name: string): void {
  const known = new Map<string, string>();
  for (const { write, answer } of answered) {
    const etag = answer.headers.get('etag');
    if (etag === null) continue;
    // Each node has an address of its own.
    const text = answer.text.replaceAll(/http:\/\/[^/"]+/g, '');
    const key = `${write.path} ${etag}`;
    assert.equal(text, known.get(key) ?? text, `${name}: two bodies with one ETag: ${key}`);
    known.set(key, text);
  }
}

function pathOf({ uri }: Made): string {
  return new URL(uri).pathname;
}
