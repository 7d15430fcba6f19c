import { isQuick, say } from '../support/flags.ts';
import { cpuSeconds } from '../support/process-cost.ts';
import { addLane, arrivals, fillWithEvents, forEachEngine, startReceiver, startServer } from './event-server.ts';

const DELIVERIES = isQuick ? 4_000 : 40_000;
const LANES = [1, 16];

/** How fast pending deliveries reach a receiver on the same machine, through one lane and through several. */
export async function deliveries(directory: string): Promise<void> {
  await forEachEngine(directory, async (engine) => {
    for (const lanes of LANES) {
      const home = await engine.newHome();
      const receiver = await startReceiver();
      try {
        const first = await startServer(home);
        for (let lane = 0; lane < lanes; lane += 1) await addLane(first, receiver);
        await first.stop();
        await fillWithEvents(home, DELIVERIES / lanes);
        const server = await startServer(home);
        try {
          const { count, firstMs, lastMs } = await arrivals(receiver, DELIVERIES);
          const perSecond = (count / (lastMs - firstMs)) * 1000;
          const cpu = (cpuSeconds(server.pid) / count) * 1e6;
          say(
            `${engine.name}, ${lanes} lane${lanes === 1 ? '' : 's'}: ${Math.round(perSecond).toLocaleString('en-US')} deliveries/s, ${cpu.toFixed(0)} µs CPU each with the start`,
          );
        } finally {
          await server.stop();
        }
      } finally {
        await receiver.stop();
      }
    }
  });
}
