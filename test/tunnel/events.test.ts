import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { TunnelWorld } from '../support/tunnel-world.ts';

const TYPES = [
  'agent_session_start.v0',
  'agent_session_stop.v0',
  'tunnel_start.v0',
  'tunnel_stop.v0',
  'tcp_connection_closed.v0',
];

interface Event {
  readonly event_type: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into objects field by field
  readonly object: any;
}

test("delivers agents' activity and tcp connections as events, each as GET shows it", async () => {
  const world = await TunnelWorld.open({ after }, { POSTERN_ROLES: 'api,edge,gateway,events' });
  const destination = await world.edge.api('POST', '/event_destinations', { target: { file: { name: 'all.ndjson' } } });
  await world.edge.api('POST', '/event_subscriptions', {
    sources: TYPES.map((type) => ({ type })),
    destination_ids: [destination.id],
  });
  const local = createServer((socket) => socket.pipe(socket));
  await new Promise<void>((resolve) => {
    local.listen(0, '127.0.0.1', resolve);
  });
  after(() => local.close());
  const agent = await world.agent([{ proto: 'tcp', addr: (local.address() as AddressInfo).port, metadata: 'mine' }]);
  const [tunnel] = agent.tunnels;
  const shown = await world.edge.api('GET', `/tunnels/${tunnel?.id}`);
  const session = await world.edge.api('GET', `/tunnel_sessions/${agent.sessionId}`);
  const { hostname, port } = new URL(tunnel?.publicUrl ?? '');
  await new Promise<void>((resolve, reject) => {
    const client = connect(Number(port), hostname, () => client.end('ping'));
    client.once('close', () => resolve()).once('error', reject);
    client.resume();
  });
  await agent.close();

  const events = await delivered(join(world.edge.world.dataDir, 'events'), TYPES.length);
  const byType = new Map(events.map((event) => [event.event_type, event.object]));
  assert.deepEqual([...byType.keys()].sort(), [...TYPES].sort());
  assert.deepEqual(byType.get('tunnel_start.v0'), shown);
  assert.deepEqual(byType.get('tunnel_stop.v0'), shown);
  assert.deepEqual(byType.get('agent_session_start.v0'), session);
  assert.deepEqual(byType.get('agent_session_stop.v0'), session);
  const closed = byType.get('tcp_connection_closed.v0');
  assert.deepEqual([closed.tunnel_id, closed.bytes_in, closed.bytes_out], [tunnel?.id, 4, 4]);
});

async function delivered(folder: string, count: number): Promise<readonly Event[]> {
  const deadline = Date.now() + 20_000;
  for (;;) {
    const text = await readFile(join(folder, 'all.ndjson'), 'utf8').catch(() => '');
    const lines = text.split('\n').filter((line) => line !== '');
    if (lines.length >= count || Date.now() > deadline) return lines.map((line) => JSON.parse(line) as Event);
    await sleep(50);
  }
}
