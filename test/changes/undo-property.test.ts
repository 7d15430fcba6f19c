import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { freshDatabase, startPostgres } from '../support/postgres.ts';
import { Random } from '../support/random.ts';
import { TestWorld } from '../support/test-world.ts';

/** Few on PostgreSQL: the rules are the same, and only the store differs. */
const CHANGES = { sqlite: 60, postgres: 15 } as const;
const OIDC = { issuer: 'https://accounts.example.com', client_id: 'id' };

const postgres = await startPostgres();
after(() => postgres.stop());

for (const engine of ['sqlite', 'postgres'] as const) {
  test(`undo of random changes on ${engine}, newest first, restores the documents before each of them`, async (t) => {
    const databaseUrl = engine === 'postgres' ? (await freshDatabase(postgres)).url : undefined;
    await undoRandomChanges(
      t,
      await TestWorld.open(t, databaseUrl === undefined ? {} : { databaseUrl }),
      CHANGES[engine],
    );
  });
}

async function undoRandomChanges(t: TestContext, world: TestWorld, changes: number): Promise<void> {
  const seed = Date.now();
  t.diagnostic(`seed ${seed}`);
  const random = new Random(seed);
  const paths: string[] = [];
  const steps: { readonly revision: string; readonly before: unknown; readonly call: string }[] = [];
  while (steps.length < changes) {
    const before = documents(world);
    const { method, path, body } = randomWrite(random, paths);
    const answer = await world.api(method, path, body);
    assert.ok(answer.status < 300 || [404, 409].includes(answer.status), `${method} ${path}: ${answer.text}`);
    if (answer.status >= 300) continue;
    if (method === 'POST') paths.push(`${path}/${answer.body.id}`);
    const revision = answer.headers.get('postern-revision') as string;
    // A write that changes nothing leaves nothing to undo.
    if (JSON.stringify(documents(world)) !== JSON.stringify(before)) {
      steps.push({ revision, before, call: `${method} ${path}` });
    }
  }
  for (const { revision, before, call } of steps.reverse()) {
    const answer = await world.api('POST', `/changes/${revision}/undo`, {});
    assert.equal(answer.status, 200, `${call}: ${answer.text}`);
    assert.deepEqual(documents(world), before, `seed ${seed}: ${call}`);
  }
}

interface Write {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
}

function randomWrite(random: Random, paths: readonly string[]): Write {
  const path = random.pick(paths);
  const description = random.text(8);
  if (path === undefined || random.isChosen(0.35)) {
    const edge = random.pick(paths.filter((each) => /^\/edges\/https\/\w+$/.test(each)));
    const creates: { path: string; body: object }[] = [
      { path: '/edges/https', body: { hostports: [`${description}.example.com:443`] } },
      { path: '/backends/http_response', body: { body: description } },
      { path: '/ip_policies', body: { description } },
    ];
    if (edge !== undefined) {
      const modules = { compression: { enabled: true }, oidc: { ...OIDC, client_secret: description } };
      creates.push({
        path: `${edge}/routes`,
        body: { match: `/${description}`, match_type: 'exact_path', ...modules },
      });
    }
    return { method: 'POST', ...(random.pick(creates) as (typeof creates)[number]) };
  }
  if (random.isChosen(0.3)) return { method: 'DELETE', path };
  if (path.includes('/routes/')) {
    if (random.isChosen(0.3)) return { method: 'DELETE', path: `${path}/compression` };
    if (random.isChosen(0.5)) {
      return { method: 'PUT', path: `${path}/oidc`, body: { ...OIDC, client_secret: description } };
    }
  }
  return { method: 'PATCH', path, body: { description } };
}

/** Every stored document in the order of the keys, without revisions. */
function documents({ server: { replica } }: TestWorld): unknown {
  const all = [...replica.kinds()].flatMap((kind) => [...replica.all(kind)]);
  return all
    .map(({ kind, id, parent, doc, secrets }) => ({ key: `${kind} ${id}`, parent, doc, secrets }))
    .sort((a, b) => (a.key < b.key ? -1 : 1));
}
