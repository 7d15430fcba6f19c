import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { until } from '../../support/cluster.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { recordingUpstream } from '../traffic/recording-upstream.ts';
import { ListWorld } from './list-world.ts';

suite('after a restart', () => {
  test('a list is in use although its source is gone, and one that was damaged on disk is not', async (t) => {
    const dataDir = await tempDir(t);
    const folder = await tempDir(t);
    const first = await ListWorld.open(t, {}, { dataDir }, folder);
    const [remote, local, damaged] = [await first.site(), await first.site(), await first.site()];
    first.publish = (_request, response) => response.end('203.0.113.5');
    const { id } = await first.list(remote.policyId, { url: first.url() });
    await until('the list is fetched', async () => (await first.read(id)).status === 'current');
    first.write('local.txt', '203.0.113.6');
    await first.list(local.policyId, { file: 'local.txt' });
    const { id: damagedId } = await first.list(damaged.policyId, { file: 'local.txt' });
    await first.edge.world.close();
    const kept = join(dataDir, 'lists');
    assert.equal(readdirSync(kept).length, 3);
    const bytes = readFileSync(join(kept, `${damagedId}.table`));
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
    writeFileSync(join(kept, `${damagedId}.table`), bytes);
    writeFileSync(join(kept, 'ipl_of_nobody.table'), bytes);
    // What a process that was killed while it wrote has left, and what another one is writing.
    for (const [name, seconds] of [
      [`${id}.table.71.tmp`, 1_000_000_000],
      [`${id}.table.72.tmp`, Date.now() / 1_000],
    ] as const) {
      writeFileSync(join(kept, name), bytes.subarray(0, bytes.length / 2));
      utimesSync(join(kept, name), seconds, seconds);
    }
    rmSync(join(folder, 'lists', 'local.txt'));

    const second = await ListWorld.open(t, {}, { dataDir }, folder);
    assert.equal(await second.from('203.0.113.5', remote.host), 403);
    assert.equal(await second.from('203.0.113.4', remote.host), 200);
    assert.equal(await second.from('203.0.113.6', local.host), 403);
    assert.equal(await second.from('203.0.113.7', local.host), 200);
    assert.equal(await second.from('203.0.113.7', damaged.host), 503);
    assert.equal((await second.read(damagedId)).status, 'missing');
    assert.ok(!readdirSync(kept).includes('ipl_of_nobody.table'));
    // This process may be writing the list that it has fetched again.
    const isOwn = (name: string) => name.endsWith(`.${process.pid}.tmp`);
    const unfinished = readdirSync(kept).filter((name) => name.endsWith('.tmp') && !isOwn(name));
    assert.deepEqual(unfinished, [`${id}.table.72.tmp`]);
    await second.edge.api('DELETE', `/ip_policy_lists/${id}`);
    await until('its table is deleted', () => !readdirSync(kept).includes(`${id}.table`));
  });
});

suite('with two workers', () => {
  test('all of them have a list at once, and cut what it denies later', async (t) => {
    const world = await ListWorld.open(t, { POSTERN_WORKERS: '2' });
    const { host, policyId } = await world.site();
    world.write('list.txt', '203.0.113.5');
    const { id } = await world.list(policyId, { file: 'list.txt' });
    const upstream = await recordingUpstream(t);
    upstream.answer = (_request, response) => void response.writeHead(200).write('first');
    const streaming = await world.site();
    await world.edge.api('PUT', `${streaming.routePath}/ip_restriction`, { ip_policy_ids: [policyId] });
    await world.edge.api('PUT', `${streaming.routePath}/backend`, {
      backend_id: await world.edge.staticBackend(upstream.address),
    });
    const openAll = (address: string) =>
      Promise.all(Array.from({ length: 6 }, () => world.open(streaming.host, address)));
    const many = (address: string) => Promise.all(Array.from({ length: 4 }, () => world.from(address, host)));
    assert.deepEqual(await many('203.0.113.5'), [403, 403, 403, 403]);
    assert.deepEqual(await many('203.0.113.6'), [200, 200, 200, 200]);
    const [cut, stayed] = [await openAll('203.0.113.7'), await openAll('203.0.113.8')];
    world.write('list.txt', '203.0.113.6\n203.0.113.7');
    await world.refresh(id);
    assert.deepEqual([...new Set(await Promise.all(cut.map(({ ended }) => ended)))], ['cut']);
    assert.ok(stayed.every(({ isOpen }) => isOpen));
    for (const each of stayed) each.destroy();
    await until('all workers use the new entries', async () =>
      (await many('203.0.113.6')).every((status) => status === 403),
    );
    assert.deepEqual(await many('203.0.113.5'), [200, 200, 200, 200]);
    const { id: missing } = await world.list(policyId, { file: 'missing.txt' });
    assert.deepEqual(await many('203.0.113.5'), [503, 503, 503, 503]);
    assert.match((await world.edge.api('GET', '/problems')).problems[0].message, /has no addresses yet|never loaded/);
    await world.edge.api('DELETE', `/ip_policy_lists/${missing}`);
    assert.deepEqual(await many('203.0.113.5'), [200, 200, 200, 200]);
  });
});
