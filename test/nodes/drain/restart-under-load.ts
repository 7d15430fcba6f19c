import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { WebSocketServer } from 'ws';
import type { Cleanup } from '../../support/cleanup.ts';
import type { ClusterNode } from '../../support/cluster/cluster-node.ts';
import { Cluster, type ClusterOptions, until } from '../../support/cluster.ts';
import { GOING_AWAY, RollingLoad, type RollingLoadOptions } from './rolling-load.ts';

const SHUTDOWN_SECONDS = 3;
/** Settings of nodes that are restarted. */
export const DRAIN_ENV = { POSTERN_SHUTDOWN_TIMEOUT: String(SHUTDOWN_SECONDS) };

/** Answers `here`, and echoes uploads and WebSocket messages. */
export async function echoService(t: Cleanup): Promise<number> {
  const server = createServer((request, response) => {
    if (request.method === 'POST') request.pipe(response);
    else response.end('here');
  });
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket) => socket.on('message', (data) => socket.send(data)).on('error', () => {}));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    for (const socket of sockets.clients) socket.terminate();
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return (server.address() as AddressInfo).port;
}

/** Opens a cluster of which as many nodes as wanted are restarted under load. */
export async function restartUnderLoad(
  t: TestContext,
  restarts: number,
  { launcher, ...options }: ClusterOptions & Pick<RestartOptions, 'launcher'> = {},
): Promise<void> {
  const cluster = await Cluster.open(t, { ...options, env: DRAIN_ENV });
  await restartNodes(t, cluster, cluster.nodes.slice(0, restarts), { workers: 4, launcher });
}

interface RestartOptions extends Pick<RollingLoadOptions, 'workers' | 'pauseMs'> {
  /** What starts the nodes again, if not the checkout's program. */
  readonly launcher?: string | undefined;
}

/**
 * Visitors use all nodes of a cluster with `DRAIN_ENV` while some of them are stopped and started, one after the other.
 */
export async function restartNodes(
  t: TestContext,
  cluster: Cluster,
  nodes: readonly ClusterNode[],
  { launcher, ...pace }: RestartOptions,
): Promise<void> {
  const addr = `127.0.0.1:${await echoService(t)}`;
  const agent = await cluster.agent([{ proto: 'https', addr }], { at: cluster.nodes });
  const isOnTwo = (): boolean => agent.nodes.length === 2;
  await until('the agent is on two nodes', isOnTwo);
  await cluster.visible(agent);
  const { hostname: host } = new URL(agent.publicUrl ?? '');
  const statuses: string[] = [];
  agent.on('status', ({ status }) => statuses.push(status));
  const tunnel = agent.tunnels[0]?.id;
  const load = new RollingLoad({ cluster, host, ...pace }).start();
  t.after(() => load.stop());
  const drains: { readonly name: string; readonly beganMs: number }[] = [];
  for (const node of nodes) {
    await load.more(20);
    load.enter(`${node.name} stops`);
    drains.push({ name: node.name, beganMs: performance.now() });
    assert.deepEqual(await node.kill('SIGTERM'), { code: 0, signal: null });
    load.enter(`${node.name} has stopped`);
    await load.more(20);
    load.enter(`${node.name} starts`);
    await node.start({}, launcher);
    load.enter(`${node.name} is ready`);
    await until('the agent is on two nodes again', isOnTwo);
    await cluster.visible(agent);
  }
  await load.more(20);
  await load.stop();
  const { answered, echoes, ended } = load;
  const goneAway = ended.filter(({ code }) => code === GOING_AWAY).length;
  t.diagnostic(JSON.stringify({ answered, echoes, goneAway, cut: ended.length - goneAway }));
  assert.deepEqual(load.failures, []);
  assert.equal(ended.length, goneAway, 'all of them were closed with 1001');
  const early = ended.filter(({ atMs }) => {
    const since = drains.map(({ beganMs }) => atMs - beganMs).filter((ms) => ms >= 0);
    return since.length === 0 || Math.min(...since) < SHUTDOWN_SECONDS * 1000;
  });
  assert.deepEqual(early, []);
  assert.deepEqual(statuses, [], 'the agent was never offline');
  assert.equal(agent.tunnels[0]?.id, tunnel);
}
