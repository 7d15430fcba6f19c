import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { EdgeWorld } from '../support/edge-world.ts';

const FILE = 'recent-traffic.ndjson';

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'postern-kept-'));
  after(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** A server on a data directory, until the end of `use`. */
async function serve(
  dataDir: string,
  env: Readonly<Record<string, string>>,
  use: (edge: EdgeWorld) => Promise<void>,
): Promise<void> {
  const ends: (() => unknown)[] = [];
  const edge = await EdgeWorld.open({ after: (end) => ends.push(end) }, env, { dataDir });
  try {
    await use(edge);
  } finally {
    for (const end of ends) await end();
  }
}

test('requests, busiest routes and counters of the last hour are there after a restart, once', async () => {
  const dataDir = await folder();
  let host = '';
  let id = '';
  await serve(dataDir, { POSTERN_REQUEST_HISTORY_QUERY: 'true' }, async (edge) => {
    const site = await edge.site(await edge.httpResponse('here'));
    host = site.host;
    for (const path of ['/one?token=1', '/two', '/three']) assert.equal((await edge.ask(host, path)).status, 200);
    ({ id } = (await edge.api('GET', `/requests?host=${host}`)).requests[0]);
  });
  const file = await stat(join(dataDir, FILE));
  assert.equal(file.mode & 0o777, 0o600);
  for (const round of [1, 2]) {
    await serve(dataDir, {}, async (edge) => {
      const { requests } = await edge.api('GET', `/requests?host=${host}`);
      const paths = requests.map(({ path }: { path: string }) => path);
      assert.deepEqual(paths, ['/three', '/two', '/one'], `round ${round}`);
      // What the settings no longer keep is not shown either.
      assert.ok(!JSON.stringify(requests).includes('token'));
      assert.equal((await edge.api('GET', `/requests/${id}`)).path, '/three');
      const { routes } = await edge.api('GET', '/series/routes');
      assert.deepEqual([routes.length, routes[0].requests], [1, 3], `round ${round}`);
      const { points } = await edge.api('GET', '/series?step=60');
      const all = points.reduce((sum: number, { requests: count }: { requests: number }) => sum + count, 0);
      assert.equal(all, 3, `round ${round}`);
    });
  }
  await serve(dataDir, {}, async (edge) => {
    assert.equal((await edge.ask(host, '/four')).status, 200);
    const { routes } = await edge.api('GET', '/series/routes');
    assert.equal(routes[0].requests, 4);
  });
});

test('a file that is damaged, or of a later version, keeps no server from starting', async () => {
  const dataDir = await folder();
  for (const content of ['{', '{"version":99,"writer":"x"}\n{"id":"rq_x"}\n', '\u0000\n\n']) {
    await writeFile(join(dataDir, FILE), content);
    await serve(dataDir, {}, async (edge) => {
      assert.deepEqual((await edge.api('GET', '/requests')).requests, []);
    });
  }
});

test('a setting switches it off', async () => {
  const dataDir = await folder();
  await serve(dataDir, { POSTERN_REQUEST_HISTORY_FILE: 'false' }, async (edge) => {
    const site = await edge.site(await edge.httpResponse('here'));
    assert.equal((await edge.ask(site.host)).status, 200);
  });
  await assert.rejects(readFile(join(dataDir, FILE)), { code: 'ENOENT' });
});
