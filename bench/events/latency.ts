import { setTimeout as sleep } from 'node:timers/promises';
import { call } from '../support/call.ts';
import { isQuick, say } from '../support/flags.ts';
import { percentile } from '../support/load.ts';
import { addLane, arrivals, CHANGE, forEachEngine, startReceiver, startServer } from './event-server.ts';

const CHANGES = isQuick ? 200 : 1_000;
const WARM_UP = 100;
/** An idle server: no delivery is pending when a change is made. */
const PAUSE_MS = 20;

/**
 * From the response to a change to the arrival of its event. It may be negative: the event need not wait for the
 * response.
 */
export async function latency(directory: string): Promise<void> {
  await forEachEngine(directory, async (engine) => {
    const server = await startServer(await engine.newHome());
    const receiver = await startReceiver();
    try {
      await addLane(server, receiver);
      const answeredMs = new Map<string, number>();
      for (let at = 0; at < CHANGES + WARM_UP; at += 1) {
        const { id } = await call(server.port, CHANGE.method, CHANGE.path, CHANGE.body);
        if (at >= WARM_UP) answeredMs.set(String(id), Number(process.hrtime.bigint()) / 1e6);
        await sleep(PAUSE_MS);
      }
      const { byObject } = await arrivals(receiver, CHANGES + WARM_UP);
      const waits = [...answeredMs].map(([id, ms]) => (byObject[id] ?? Number.NaN) - ms).sort((a, b) => a - b);
      if (waits.some(Number.isNaN)) throw new Error('an event did not arrive');
      say(
        `${engine.name}: ${CHANGES} changes one after the other: event after the response p50 ${percentile(waits, 0.5).toFixed(1)} ms, p99 ${percentile(waits, 0.99).toFixed(1)} ms, at most ${waits.at(-1)?.toFixed(1)} ms`,
      );
    } finally {
      await server.stop();
      await receiver.stop();
    }
  });
}
