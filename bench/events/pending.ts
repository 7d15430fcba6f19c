import { setTimeout as sleep } from 'node:timers/promises';
import { call } from '../support/call.ts';
import { isQuick, say } from '../support/flags.ts';
import { rssMiB } from '../support/process-cost.ts';
import {
  addLane,
  arrivals,
  type Engine,
  fillWithEvents,
  forEachEngine,
  move,
  startReceiver,
  startServer,
} from './event-server.ts';

const PENDING = isQuick ? 100_000 : 1_000_000;
const DELIVERING_MS = isQuick ? 3_000 : 15_000;

interface Figures {
  readonly readyAfterMs: number;
  readonly rss: number;
  readonly rssDelivering: number;
  readonly delivered: number;
  readonly pageMs: number;
}

/**
 * The cost of a server with many pending deliveries: at rest, when it is inspected, and while it delivers; beside one
 * with few.
 */
export async function pending(directory: string): Promise<void> {
  await forEachEngine(directory, async (engine) => {
    // More than is delivered in the meantime; otherwise the small one would run out and idle.
    const few = await measure(engine, PENDING / 10);
    const many = await measure(engine, PENDING);
    for (const [count, figures] of [
      [PENDING / 10, few],
      [PENDING, many],
    ] as const) {
      say(
        `${engine.name}, ${count.toLocaleString('en-US')} pending: ready after ${figures.readyAfterMs.toFixed(0)} ms, RSS ${figures.rss.toFixed(0)} MiB held, ${figures.rssDelivering.toFixed(0)} MiB at most while ${figures.delivered} were delivered; a page of 100 deliveries ${figures.pageMs.toFixed(1)} ms`,
      );
    }
  });
}

async function measure(engine: Engine, count: number): Promise<Figures> {
  const home = await engine.newHome();
  const receiver = await startReceiver();
  try {
    const first = await startServer(home);
    const destination = await addLane(first, receiver, true);
    await first.stop();
    await fillWithEvents(home, count);
    const server = await startServer(home);
    try {
      const pageMs = await pageTime(server.port);
      const rss = rssMiB(server.pid);
      await move(server, destination, 'resume');
      let rssDelivering = 0;
      const deadline = performance.now() + DELIVERING_MS;
      while (performance.now() < deadline) {
        rssDelivering = Math.max(rssDelivering, rssMiB(server.pid));
        await sleep(50);
      }
      const { count: delivered } = await arrivals(receiver, 1);
      return { readyAfterMs: server.readyAfterMs, rss, rssDelivering, delivered, pageMs };
    } finally {
      await server.stop();
    }
  } finally {
    await receiver.stop();
  }
}

async function pageTime(port: number): Promise<number> {
  const times: number[] = [];
  for (let at = 0; at < 11; at += 1) {
    const startedAt = performance.now();
    await call(port, 'GET', '/event_deliveries?limit=100&state=pending');
    times.push(performance.now() - startedAt);
  }
  return times.toSorted((a, b) => a - b)[5] ?? Number.NaN;
}
