import assert from 'node:assert/strict';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { until } from '../../support/cluster.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { ask, begin, PROTOCOLS } from '../modules/hooked-client.ts';
import { ModuleWays } from '../modules/module-ways.ts';

const folder = await tempDir({ after });
const env = { POSTERN_LISTS_DIR: folder, POSTERN_TRUSTED_PROXIES: '127.0.0.0/8' };
const ways = await ModuleWays.open({ after }, env);
const combinations = ways.ways.flatMap((way) => PROTOCOLS.map((protocol) => ({ ...way, protocol })));

function write(...entries: readonly string[]): void {
  writeFileSync(join(folder, 'list.txt.new'), entries.join('\n'));
  renameSync(join(folder, 'list.txt.new'), join(folder, 'list.txt'));
}

/** Every way and protocol, with the status that a visitor from there gets. */
async function statuses(address: string): Promise<readonly number[]> {
  const headers = { 'x-forwarded-for': address };
  const asked = combinations.map(({ edge, host, protocol }) => ask(edge, host, protocol, { headers }));
  return [...new Set((await Promise.all(asked)).map(({ status }) => status))];
}

test('a list decides, and cuts running responses, on every way and with both protocols', async () => {
  write('203.0.113.5');
  const { id: policyId } = await ways.edge.api('POST', '/ip_policies', {});
  for (const cidr of ['0.0.0.0/0', '::/0'])
    await ways.edge.api('POST', '/ip_policy_rules', { ip_policy_id: policyId, action: 'allow', cidr });
  const { id } = await ways.edge.api('POST', '/ip_policy_lists', { ip_policy_id: policyId, file: 'list.txt' });
  await ways.put('ip_restriction', { ip_policy_ids: [policyId] });
  assert.deepEqual(await statuses('203.0.113.5'), [403]);
  assert.deepEqual(await statuses('203.0.113.6'), [200]);

  ways.respond = (_request, response) => void response.writeHead(200).write('first');
  const cut = combinations.map(async ({ edge, host, protocol, name }) => {
    const sent = await begin(edge, host, protocol, { headers: { 'x-forwarded-for': '203.0.113.6' } });
    sent.outgoing.end();
    const { status, incoming } = await sent.answered;
    assert.equal(status, 200, name);
    return {
      ended: new Promise((resolve) =>
        incoming
          .on('error', () => {})
          .on('close', resolve)
          .resume(),
      ),
    };
  });
  const running = await Promise.all(cut);
  write('203.0.113.6', '203.0.113.7');
  // Every node reads its own file.
  for (const edge of new Set(ways.ways.map((way) => way.edge)))
    assert.equal((await edge.api('POST', `/ip_policy_lists/${id}/refresh`, {})).entries, 2);
  await Promise.all(running.map(({ ended }) => ended));
  ways.respond = (_request, response) => response.end('ok');
  await until('all nodes use the new entries', async () => (await statuses('203.0.113.6')).join() === '403');
  assert.deepEqual(await statuses('203.0.113.5'), [200]);
});
