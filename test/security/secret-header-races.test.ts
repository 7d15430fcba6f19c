import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { freshDatabase, startPostgres } from '../support/postgres.ts';
import { type ApiAnswer, TestWorld } from '../support/test-world.ts';

const postgres = await startPostgres();
after(() => postgres.stop());

const OURS = 'ours.example.com:80';
const THEIRS = 'theirs.example.com:80';
const SECRET = { add: { authorization: 'Bearer planted' } };
const TRIES = 4;

/** A write of the attacker: method, path and body. */
type Write = readonly [string, string, object];

/** A route with a secret header over `ours`, and backends that an attacker puts between. */
interface Places {
  readonly route: string;
  readonly ours: string;
  readonly copy: string;
  readonly theirs: string;
  readonly inner: string;
  readonly outer: string;
}

const toBackend = (route: string, id: string): Write => ['PUT', `${route}/backend`, { backend_id: id }];

/** Two writes by a key without secrets:read. Either is harmless alone, and both together would move the secret. */
const PAIRS: Readonly<Record<string, (on: Places) => readonly [Write, Write]>> = {
  'a route gets a backend of the same address, which moves': ({ route, copy }) => [
    toBackend(route, copy),
    ['PATCH', `/backends/static/${copy}`, { address: THEIRS }],
  ],
  'a PATCH of the route, and the backend': ({ route, copy }) => [
    ['PATCH', route, { backend: { backend_id: copy } }],
    ['PATCH', `/backends/static/${copy}`, { address: THEIRS }],
  ],
  'a route gets backends two levels deep, which get a member': ({ route, inner, outer, ours, theirs }) => [
    toBackend(route, outer),
    ['PATCH', `/backends/weighted/${inner}`, { backends: { [ours]: 1, [theirs]: 1 } }],
  ],
  'both as changesets': ({ route, copy }) => [
    ['POST', '/changesets', { operations: [operation(toBackend(route, copy))] }],
    ['POST', '/changesets', { operations: [operation(['PATCH', `/backends/static/${copy}`, { address: THEIRS }])] }],
  ],
};

function operation([method, path, body]: Write): object {
  return { method, path, body };
}

for (const engine of ['sqlite', 'postgres'] as const) {
  suite(`two writes at the same time do not move a secret header, on ${engine}`, async () => {
    const databaseUrl = engine === 'postgres' ? (await freshDatabase(postgres)).url : undefined;
    const world = await TestWorld.open({ after }, databaseUrl === undefined ? {} : { databaseUrl });
    const ok = async (method: string, path: string, body?: object): Promise<ApiAnswer> => {
      const answer = await world.api(method, path, body);
      assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
      return answer;
    };
    const made = async (path: string, body: object): Promise<string> => (await ok('POST', path, body)).body.id;
    const edge = await made('/edges/https', { hostports: ['app.example.com:443'] });
    const { token: key } = (
      await ok('POST', '/api_keys', { scopes: ['edges:write', 'backends:write', 'changes:write'] })
    ).body;
    let routes = 0;
    const places = async (): Promise<Places> => {
      routes += 1;
      const [ours, copy, theirs] = [
        await made('/backends/static', { address: OURS }),
        await made('/backends/static', { address: OURS }),
        await made('/backends/static', { address: THEIRS }),
      ];
      const inner = await made('/backends/weighted', { backends: { [ours]: 1 } });
      const outer = await made('/backends/failover', { backends: [inner] });
      const match = { match: `/${routes}`, match_type: 'path_prefix' };
      const fields = { ...match, request_headers: SECRET, backend: { backend_id: ours } };
      const id = await made(`/edges/https/${edge}/routes`, fields);
      return { route: `/edges/https/${edge}/routes/${id}`, ours, copy, theirs, inner, outer };
    };
    const asked = async (write: Write): Promise<ApiAnswer> => world.api(...write, { key });

    for (const [what, pair] of Object.entries(PAIRS)) {
      test(what, async () => {
        for (let tries = 0; tries < TRIES; tries += 1) {
          const writes = pair(await places());
          const answers = await Promise.all((tries % 2 === 0 ? writes : writes.toReversed()).map(asked));
          const allowed = answers.filter(({ status }) => status === 200);
          const refused = answers.filter(({ status, body }) => status === 403 && body.details.scope === 'secrets:read');
          assert.deepEqual([allowed.length, refused.length], [1, 1], answers.map(({ text }) => text).join('\n'));
        }
      });
    }

    test('an undo that gives a route its earlier backend, which moves', async () => {
      for (let tries = 0; tries < TRIES; tries += 1) {
        const { route, ours, copy } = await places();
        await ok(...toBackend(route, copy));
        const { headers } = await ok(...toBackend(route, ours));
        const answers = await Promise.all([
          asked(['POST', `/changes/${headers.get('postern-revision')}/undo`, {}]),
          asked(['PATCH', `/backends/static/${copy}`, { address: THEIRS }]),
        ]);
        const allowed = answers.filter(({ status }) => status === 200);
        assert.equal(allowed.length, 1, answers.map(({ text }) => text).join('\n'));
      }
    });
  });
}
