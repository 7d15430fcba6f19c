import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentHandle } from '../../../src/tunnel/agent/index.ts';
import { DEFAULT_TIMINGS } from '../../../src/tunnel/agent/timings.ts';
import type { Cleanup } from '../../support/cleanup.ts';
import type { TunnelWorld } from '../../support/tunnel-world.ts';

/** Attempts follow each other quickly, so that tests wait only for their subject. */
export const QUICK_TRIES = {
  ...DEFAULT_TIMINGS,
  backoffBaseMs: 20,
  backoffMaxMs: 200,
  stableAfterMs: 0,
  stableBeforeDrainMs: 0,
};

/** The service that an agent forwards to; returns its port. */
export async function localHttp(test: Cleanup, handle: RequestListener): Promise<number> {
  const server = createServer(handle);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  test.after(async () => {
    server.closeAllConnections();
    server.close();
    if (server.listening) await once(server, 'close');
  });
  return (server.address() as AddressInfo).port;
}

export function hostOf(agent: AgentHandle, at = 0): string {
  return new URL(agent.tunnels[at]?.publicUrl ?? '').hostname;
}

/** Ids that the API lists now. */
export async function listed(world: TunnelWorld): Promise<ReadonlySet<string>> {
  const ids: string[] = [];
  let next: string | null = '/tunnels?limit=100';
  while (next !== null) {
    const page: { tunnels: { id: string }[]; next_page_uri: string | null } = await world.edge.api('GET', next);
    ids.push(...page.tunnels.map(({ id }) => id));
    next = page.next_page_uri;
  }
  return new Set(ids);
}

/** Fails with a message when it does not become true in time. */
export async function eventually(
  what: string,
  isTrue: () => boolean | Promise<boolean>,
  withinMs = 30_000,
): Promise<number> {
  const began = performance.now();
  while (!(await isTrue())) {
    if (performance.now() - began > withinMs) throw new Error(`not within ${withinMs} ms: ${what}`);
    await sleep(20);
  }
  return performance.now() - began;
}
