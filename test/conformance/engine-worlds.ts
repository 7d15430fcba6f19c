import { after, before, suite } from 'node:test';
import { freshDatabase, startPostgres } from '../support/postgres.ts';
import { TestWorld, type WorldOptions } from '../support/test-world.ts';

/** The same tests, in the same order, against a world on SQLite and one on PostgreSQL. */
export function onBothEngines(title: string, define: (world: () => TestWorld, engine: number) => void): void {
  suite(`${title}, on SQLite`, () =>
    define(
      worldOfSuite(() => Promise.resolve({ options: {} })),
      0,
    ));
  suite(`${title}, on PostgreSQL`, () =>
    define(
      worldOfSuite(async () => {
        const server = await startPostgres();
        const database = await freshDatabase(server);
        return {
          // Tests write leases of agents into the store; with peers, lists come from memory.
          options: { databaseUrl: database.url, env: { POSTERN_PEER_LISTEN: 'off' } },
          close: async () => {
            await database.drop();
            await server.stop();
          },
        };
      }),
      1,
    ));
}

interface Place {
  readonly options: WorldOptions;
  readonly close?: () => Promise<void>;
}

function worldOfSuite(prepare: () => Promise<Place>): () => TestWorld {
  let world: TestWorld | null = null;
  const closing: (() => Promise<void>)[] = [];
  before(async () => {
    const place = await prepare();
    if (place.close !== undefined) closing.push(place.close);
    world = await TestWorld.open(
      { after: (task) => void closing.push(task) },
      { ...place.options, env: { ...place.options.env, POSTERN_IDENTITY_HOST: 'id.example.com' } },
    );
  });
  after(async () => {
    for (const close of closing.reverse()) await close();
  });
  return () => {
    if (world === null) throw new Error('the world is opened before the first test');
    return world;
  };
}
