import assert from 'node:assert/strict';
import type { Cleanup } from '../../support/cleanup.ts';
import type { TunnelWorld } from '../../support/tunnel-world.ts';
import { eventually, hostOf, localHttp } from './fault-world.ts';

export interface HonestAgent {
  readonly host: string;
  /** Asserts that it is served, and was all the time. */
  check(): Promise<void>;
}

/** A legitimate agent that receives requests continuously: whatever others do, it must be served. */
export async function honestAgent(test: Cleanup, world: TunnelWorld): Promise<HonestAgent> {
  const port = await localHttp(test, (request, response) => response.end(`honest ${request.url}`));
  const agent = await world.agent([{ proto: 'https', addr: port }]);
  const host = hostOf(agent);
  const statuses: string[] = [];
  agent.on('status', ({ status }) => statuses.push(status));
  const failures: string[] = [];
  let asked = 0;
  let isStopped = false;
  const asking = (async () => {
    while (!isStopped) {
      asked += 1;
      const began = performance.now();
      const text = await world.edge.ask(host, `/${asked}`).then(
        (answer) => answer.text,
        (error: Error) => error.message,
      );
      if (text !== `honest /${asked}`) failures.push(text.slice(0, 200));
      if (performance.now() - began > 10_000) failures.push(`${asked} took longer than 10 s`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  test.after(async () => {
    isStopped = true;
    await asking;
  });
  return {
    host,
    check: async () => {
      const before = asked;
      await eventually('another request of the honest agent', () => asked > before + 1);
      assert.deepEqual(failures, []);
      assert.deepEqual(statuses, [], 'the honest agent lost its session');
    },
  };
}
