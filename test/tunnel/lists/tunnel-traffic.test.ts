import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, test } from 'node:test';
import { makeKey } from '../../security/keys.ts';
import { LiveView } from '../../support/live-view.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { eventually, hostOf, localHttp } from '../support/fault-world.ts';

const world = await TunnelWorld.open({ after });
const port = await localHttp({ after }, (request, response) => {
  request.resume().on('end', () => response.end('x'.repeat(1_000)));
});
const view = await LiveView.open(world.edge.world, 'topics=tunnel_traffic');
after(async () => view.close());

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers field by field
const latest = (): any => view.with('tunnel_traffic').at(-1)?.data;

test('a live view has the requests and bytes of each tunnel, and the round trip to its agent', async () => {
  const agent = await world.agent([
    { proto: 'https', addr: port },
    { proto: 'tcp', addr: port },
  ]);
  const { tunnels } = await world.edge.api('GET', '/tunnels');
  const idOf = (proto: string): string => tunnels.find((each: { proto: string }) => each.proto === proto).id;
  for (let count = 0; count < 3; count += 1)
    await world.edge.ask(hostOf(agent), '/', { method: 'POST', body: 'y'.repeat(100) });
  const socket = connect(Number(new URL(agent.tunnels[1]?.publicUrl ?? '').port), '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(socket, 'data');
  const figuresOf = (proto: string) => latest()?.tunnels.find(({ id }: { id: string }) => id === idOf(proto));
  await eventually('the connection in progress', () => figuresOf('tcp')?.in_progress === 1);
  socket.destroy();
  await eventually('the connection that ended', () => figuresOf('tcp')?.requests === 1);
  const { requests, in_progress: open, bytes_in: bytesIn, bytes_out: bytesOut } = figuresOf('https');
  assert.deepEqual([requests, open, bytesIn, bytesOut], [3, 0, 300, 3_000]);
  assert.deepEqual([figuresOf('tcp').in_progress, figuresOf('tcp').bytes_in], [0, 27]);

  const [measured] = latest().agents;
  assert.equal(measured.id, agent.sessionId);
  assert.ok(measured.bytes_received > 3_000 && measured.bytes_sent > 300, JSON.stringify(measured));
  await eventually('the round trip', () =>
    latest().agents[0].connections.some(({ round_trip_ms: ms }: { round_trip_ms: number | null }) => ms !== null),
  );
  const [{ name }] = (await world.edge.api('GET', '/nodes')).nodes;
  for (const { node, round_trip_ms: ms } of latest().agents[0].connections)
    assert.ok(node === name && (ms === null || (ms > 0 && ms < 60_000)));
  assert.deepEqual(latest().asked_nodes, [{ name, answered: true }]);

  await agent.close();
  await eventually('it is gone', () => latest().tunnels.length === 0 && latest().agents.length === 0);
});

test('a key without the scope for agents does not get it', async () => {
  const { token } = await makeKey(world.edge.world, ['tunnels:read']);
  const answer = await world.edge.world.api('GET', '/live?topics=tunnel_traffic', undefined, { key: token });
  assert.equal(answer.status, 403);
});
