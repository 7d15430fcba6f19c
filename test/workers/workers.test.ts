import assert from 'node:assert/strict';
import type { Agent } from 'node:https';
import { Session } from 'node:inspector';
import { after, suite, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import type { EdgeWorkers } from '../../src/app/main/workers/edge-workers.ts';
import { until } from '../../src/kit/async/waiting.ts';
import { EdgeWorld, type Site } from '../support/edge-world.ts';

const WORKERS = 2;
const WITHIN_MS = 30_000;

const world = await EdgeWorld.open({ after }, { POSTERN_WORKERS: String(WORKERS) });
const workers = world.world.server.workers as EdgeWorkers;

async function siteWith(text: string): Promise<Site> {
  return world.site(await world.httpResponse(text));
}

/** So many connections that every worker has some: each goes to the one with the fewest. */
function agents(count = 2 * WORKERS): readonly Agent[] {
  return Array.from({ length: count }, () => world.agent());
}

async function texts(site: Site, clients: readonly Agent[]): Promise<readonly string[]> {
  const answers: string[] = [];
  for (const agent of clients) answers.push((await world.ask(site.host, '/', { agent })).text);
  return answers;
}

async function counter(name: string): Promise<number> {
  const lines = (await world.metrics()).split('\n').filter((line) => line.startsWith(`${name}{`));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}

async function endOne(index: number): Promise<void> {
  const ended = workers.all().find((worker) => worker.index === index);
  await ended?.end();
  const isReplaced = (): boolean =>
    workers.connectionCounts.length === WORKERS &&
    workers.all().every((worker) => worker !== ended && worker.state === 'ready');
  assert(await until(isReplaced, WITHIN_MS), 'another worker is ready');
}

/** Lets the thread of one worker do nothing else from now on. */
async function hangOne(): Promise<void> {
  const inspector = new Session();
  inspector.connect();
  const attached = Promise.withResolvers<string>();
  inspector.on('NodeWorker.attachedToWorker', ({ params: { sessionId, workerInfo } }) => {
    if (workerInfo.url.includes('edge-worker')) attached.resolve(sessionId);
  });
  inspector.post('NodeWorker.enable', { waitForDebuggerOnStart: false });
  const message = JSON.stringify({ id: 1, method: 'Runtime.evaluate', params: { expression: 'for (;;);' } });
  inspector.post('NodeWorker.sendMessageToWorker', { sessionId: await attached.promise, message });
  inspector.disconnect();
}

suite('several workers', () => {
  test('all of them get connections, and serve a change before it is answered', async () => {
    const site = await siteWith('one');
    const clients = agents();
    assert.deepEqual(new Set(await texts(site, clients)), new Set(['one']));
    for (const count of workers.connectionCounts) assert(count >= 2, workers.connectionCounts.join());
    for (const text of ['two', 'three', 'four']) {
      const backend = await world.httpResponse(text);
      await world.api('PUT', `${site.routePath}/backend`, { backend_id: backend });
      assert.deepEqual(new Set(await texts(site, clients)), new Set([text]));
    }
    const { policyId } = await world.ipPolicy('deny', '127.0.0.0/8');
    await world.api('PUT', `${site.routePath}/ip_restriction`, { ip_policy_ids: [policyId] });
    for (const agent of clients) assert.equal(await world.status(site.host, '/', { agent }), 403);
    await world.api('DELETE', `${site.routePath}/ip_restriction`);
    const rules = [{ match_type: 'regex', match: '^/(.+)$', to: 'https://other.example/$1' }];
    await world.api('PUT', `${site.routePath}/redirect`, { rules });
    for (const agent of clients) assert.equal(await world.status(site.host, '/a', { agent }), 302);
    await world.api('DELETE', `${site.routePath}/redirect`);
    for (const agent of clients) assert.equal(await world.status(site.host, '/a', { agent }), 200);
    for (const agent of clients) agent.destroy();
  });

  test('one that ends takes only its own connections along, and another one takes its place', async () => {
    const site = await siteWith('still here');
    const sockets: TLSSocket[] = [];
    for (let at = 0; at < 2 * WORKERS; at += 1) sockets.push(await world.connect(site.host));
    const before = await counter('postern_edge_requests_total');
    assert(before > 0);
    await endOne(0);
    const isOpen = (socket: TLSSocket): boolean => !socket.destroyed;
    assert(await until(() => sockets.filter(isOpen).length < sockets.length, WITHIN_MS), 'its connections are gone');
    assert(sockets.some(isOpen), 'those of the other one stay');
    assert.deepEqual(new Set(await texts(site, agents())), new Set(['still here']));
    assert((await counter('postern_edge_requests_total')) >= before + 2 * WORKERS, 'counters never fall');
    // The write waits for the workers that there are.
    await world.api('PUT', `${site.routePath}/backend`, { backend_id: await world.httpResponse('changed') });
    assert.deepEqual(new Set(await texts(site, agents())), new Set(['changed']));
    for (const socket of sockets) socket.destroy();
  });

  test('one that hangs is replaced, and a write waits no longer than that', async () => {
    const site = await siteWith('before');
    assert.deepEqual(new Set(await texts(site, agents())), new Set(['before']));
    const threads = workers.all();
    await hangOne();
    await world.api('PUT', `${site.routePath}/backend`, { backend_id: await world.httpResponse('after') });
    assert.equal(workers.all().filter((worker) => threads.includes(worker)).length, WORKERS - 1, 'one was ended');
    const areReady = (): boolean => workers.connectionCounts.length === WORKERS;
    assert(await until(areReady, WITHIN_MS), 'another worker is ready');
    assert.deepEqual(new Set(await texts(site, agents())), new Set(['after']));
  });

  test('the system tells how long each thread has waited for a CPU', () => {
    const delays = workers.all().map(({ runDelayMs }) => runDelayMs);
    assert.equal(new Set(delays).size, WORKERS, delays.join());
    for (const delay of delays) assert(delay > 0, delays.join());
  });

  test('a session resumes on another worker', async () => {
    const site = await siteWith('resumed');
    const first = await world.connect(site.host, { maxVersion: 'TLSv1.2' });
    const session = first.getSession();
    assert(session !== undefined);
    const reused: boolean[] = [];
    for (let at = 0; at < 2 * WORKERS; at += 1) {
      const socket = await world.connect(site.host, { maxVersion: 'TLSv1.2', session });
      reused.push(socket.isSessionReused());
    }
    assert.deepEqual(new Set(reused), new Set([true]));
  });

  test('requests are listed, whichever worker has served them', async () => {
    const site = await siteWith('listed');
    const clients = agents();
    for (const [at, agent] of clients.entries()) await world.ask(site.host, `/number-${at}`, { agent });
    const { requests } = await world.api('GET', `/requests?host=${site.host}`);
    const paths = (requests as readonly { readonly path: string }[]).map(({ path }) => path).sort();
    assert.deepEqual(paths, clients.map((_, at) => `/number-${at}`).sort());
    for (const agent of clients) agent.destroy();
  });
});

test('limits hold for all workers together, and what a dead one held is free again', async (t) => {
  const env = { POSTERN_WORKERS: String(WORKERS), POSTERN_EDGE_CONNECTIONS_PER_ADDRESS: '4' };
  const limited = await EdgeWorld.open(t, env);
  const site = await limited.site(await limited.httpResponse('limited'));
  const sockets: TLSSocket[] = [];
  for (let at = 0; at < 4; at += 1) sockets.push(await limited.connect(site.host));
  await assert.rejects(limited.connect(site.host));
  const [one] = (limited.world.server.workers as EdgeWorkers).all();
  await one?.end();
  assert(await until(() => sockets.some(({ destroyed }) => destroyed), WITHIN_MS));
  const again = async (): Promise<boolean> =>
    limited.connect(site.host).then(
      () => true,
      () => false,
    );
  let isFree = false;
  for (let attempt = 0; attempt < 100 && !isFree; attempt += 1) isFree = await again();
  assert(isFree);
});
