import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { JsonObject, JsonValue } from '../../src/kit/json.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite-store.ts';
import type { RecordPut, Store, StoredRecord } from '../../src/store/store.ts';
import { FURNISHED_ENV } from '../conformance/furnished-world.ts';
import { EdgeWorld } from '../support/edge-world.ts';
import { tempDir } from '../support/temp-dir.ts';

/**
 * Records that the API would never have written: by a bug, another version, or another program. A start never dies of
 * one: what cannot be compiled refuses its own route, and is a problem.
 */
const FIXTURE = fileURLToPath(new URL('./fixtures/0.1.0.tar.gz', import.meta.url));
const EDGE = 'https_edge';
const WRONG: readonly (JsonValue | undefined)[] = [
  undefined,
  null,
  -1,
  1e300,
  true,
  '',
  'x',
  '\u0000\ud800',
  'y'.repeat(100_000),
  [],
  [null, 7, {}],
  {},
  { a: { b: [null] } },
];
const PER_COMMIT = 500;
const PATHS = {
  event_subscription: 'event_subscriptions',
  certificate_authority: 'certificate_authorities',
  user_account: 'user_accounts',
};

async function dataDirWith(make: (records: readonly StoredRecord[]) => readonly RecordPut[]): Promise<{
  readonly dataDir: string;
  readonly puts: readonly RecordPut[];
}> {
  const folder = await tempDir({ after });
  execFileSync('tar', ['-xzf', FIXTURE, '-C', folder, '--no-same-owner']);
  const dataDir = join(folder, 'data');
  const store = await openSqliteStore({ dataDir, secretKey: null });
  const records: StoredRecord[] = [];
  await store.readAll((batch) => void records.push(...batch));
  const puts = make(records);
  for (let at = 0; at < puts.length; at += PER_COMMIT) await commit(store, puts.slice(at, at + PER_COMMIT));
  await store.close();
  return { dataDir, puts };
}

async function commit(store: Store, puts: readonly RecordPut[]): Promise<void> {
  const result = await store.commit({ puts });
  assert.ok(result.ok, JSON.stringify(result));
}

function putOf(record: Pick<StoredRecord, 'kind' | 'id' | 'parent' | 'doc' | 'secrets'>): RecordPut {
  const { kind, id, parent, doc, secrets } = record;
  return { kind, id, parent, doc, secrets, uniqueKeys: [], references: [] };
}

/** Copies of a document with one wrong field each, and of a wrong shape as a whole. */
function* spoiled(doc: JsonObject): Generator<JsonObject> {
  yield {};
  for (const [name, value] of Object.entries(doc)) {
    for (const wrong of WRONG) {
      const { [name]: _, ...rest } = doc;
      yield wrong === undefined ? rest : { ...rest, [name]: wrong };
    }
    if (Array.isArray(value)) yield { ...doc, [name]: Array.from({ length: 2_000 }, () => value[0] ?? 'x') };
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      for (const inner of spoiled(value as JsonObject)) yield { ...doc, [name]: inner };
    }
  }
}

let made = 0;

/** An id that no record has, with the same prefix and length. */
function freshId(id: string): string {
  made += 1;
  const tail = made.toString(36).padStart(7, '0');
  return id.length > 12 ? `${id.slice(0, -tail.length)}${tail}` : `${id}${tail}`;
}

/** A record like this one with another document, on a route or an edge of its own if it is one of theirs. */
function besides(record: StoredRecord, doc: JsonObject, byId: ReadonlyMap<string, StoredRecord>): readonly RecordPut[] {
  const { kind, parent } = record;
  const owner = byId.get(parent ?? '');
  const suffix = record.id.slice((parent ?? '').length);
  if (owner === undefined || !record.id.startsWith(`${parent}.`)) {
    return [putOf({ ...record, id: freshId(record.id), doc })];
  }
  const ownerId = freshId(owner.id);
  const ownerDoc: JsonObject =
    owner.kind === EDGE
      ? { ...owner.doc, hostports: [`h${made}.example.com:443`] }
      : { ...owner.doc, match: `/h${made}` };
  return [
    putOf({ ...owner, id: ownerId, doc: ownerDoc }),
    putOf({ kind, id: `${ownerId}${suffix}`, parent: ownerId, doc, secrets: null }),
  ];
}

suite('records that the API would not have written', () => {
  for (const workers of ['1', '2']) {
    test(`with workers = ${workers}, a server starts with thousands of them, serves its sites, and names them`, async (t) => {
      const kinds = new Map<string, StoredRecord>();
      const { dataDir, puts } = await dataDirWith((records) => {
        const byId = new Map(records.map((record) => [record.id, record]));
        for (const record of records) kinds.set(record.kind, record);
        return [...kinds.values()].flatMap((record) =>
          [...spoiled(record.doc)].flatMap((doc) => besides(record, doc, byId)),
        );
      });
      assert.ok(kinds.size > 35 && puts.length > 3_000, `${kinds.size} kinds, ${puts.length} records`);
      const edge = await EdgeWorld.open(t, { ...FURNISHED_ENV, POSTERN_WORKERS: workers }, { dataDir });
      const site = await edge.site(await edge.httpResponse('fine'), 'fine.example.com');
      const answer = await edge.ask(site.host);
      assert.deepEqual([answer.status, answer.text], [200, 'fine']);
      const { problems } = await edge.api('GET', '/problems');
      const messages = problems.map(({ message }: { message: string }) => message);
      assert.deepEqual(
        messages.filter((message: string) => message.includes('this check stopped')),
        [],
      );
      const key = puts.findLast(({ kind, doc }) => kind === 'api_key' && doc['scopes'] === null);
      assert.ok(messages.some((message: string) => message.startsWith(`${key?.id} cannot be read`)));
      // A deletion is the way out.
      await edge.api('DELETE', `/api_keys/${key?.id}`);
      // A policy that lacks a rule must not decide without it.
      const rule = puts.find(({ kind, doc }) => kind === 'ip_policy_rule' && doc['cidr'] === null);
      const refusing = await edge.site(await edge.httpResponse('open'), 'policy.example.com');
      await edge.api('PUT', `${refusing.routePath}/ip_restriction`, { ip_policy_ids: [rule?.parent] });
      assert.equal((await edge.ask(refusing.host)).status, 503);
    });
  }

  test('operations that meet one name it, and who has all scopes may delete it', async (t) => {
    const spoil: Readonly<Record<string, JsonObject>> = {
      event_subscription: { sources: null },
      certificate_authority: { crl_mode: null, crl_pem: 'x' },
      user_account: { groups: 'x', email: null },
    };
    const { dataDir, puts } = await dataDirWith((records) => {
      const byId = new Map(records.map((record) => [record.id, record]));
      return Object.entries(spoil).flatMap(([kind, wrong]) => {
        const record = records.find((each) => each.kind === kind) ?? assert.fail(`no ${kind}`);
        return Object.keys(wrong).flatMap((name) =>
          [null, 7, 'x', {}, [7]].flatMap((value) => besides(record, { ...record.doc, [name]: value }, byId)),
        );
      });
    });
    const { world } = await EdgeWorld.open(t, { ...FURNISHED_ENV, POSTERN_API_RATE_LIMIT: '0' }, { dataDir });
    const named = new Set<string>();
    for (const list of Object.values(PATHS)) {
      for (const { id, kind } of puts.filter((put) => PATHS[put.kind as keyof typeof PATHS] === list)) {
        for (const [method, path] of [
          ['GET', `/${list}?limit=100`],
          ['GET', `/${list}/${id}`],
          ['DELETE', `/${list}/${id}`],
        ] as const) {
          const { status, body } = await world.api(method, path);
          assert.notEqual(status, 500, `${method} ${path} (${kind})`);
          if (status !== 503) continue;
          assert.equal(body.error_code, 'ERR_POSTERN_STORE_CORRUPT');
          assert.match(body.msg, /the stored record \w+ \(\w+\) cannot be read/);
          named.add(`${method} ${list}`);
        }
        assert.equal((await world.api('GET', `/${list}/${id}`)).status, 404, `${id} is deleted`);
      }
      assert.equal((await world.api('GET', `/${list}?limit=100`)).status, 200);
    }
    assert.ok(named.has('GET event_subscriptions') && named.has('GET certificate_authorities'), [...named].join());
  });
});
