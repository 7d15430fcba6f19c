import assert from 'node:assert/strict';
import { once } from 'node:events';
import { WebSocketServer } from 'ws';
import type { EdgeWorkers } from '../../src/app/main/workers/edge-workers.ts';
import { openWebSocket } from '../support/edge-websocket.ts';
import type { LoginWorld } from '../support/login-world.ts';

/** Milliseconds from the request that ends a login until its WebSockets at all workers are closed, for each round. */
export async function revocationTimes(world: LoginWorld, rounds: number): Promise<readonly number[]> {
  const site = await world.site();
  const { edge } = world;
  const upstream = new WebSocketServer({ server: world.upstream });
  const workers = edge.world.server.workers as EdgeWorkers;
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const browser = world.browser();
    await browser.logIn(site.host);
    const sockets = await Promise.all(
      Array.from({ length: 2 * workers.connectionCounts.length }, () => openWebSocket(world, browser, site.host)),
    );
    assert(
      workers.connectionCounts.every((count) => count > 0),
      workers.connectionCounts.join(),
    );
    const closed = sockets.map((socket) => once(socket, 'close'));
    const { application_sessions: sessions } = await edge.api('GET', '/app/sessions?limit=1');
    const startMs = performance.now();
    await edge.api('DELETE', `/app/sessions/${sessions[0].id}`);
    await Promise.all(closed);
    times.push(performance.now() - startMs);
  }
  upstream.close();
  return times;
}
