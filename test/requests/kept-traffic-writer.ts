// A process that writes the file of kept traffic again and again until it is killed.
import { SliceQueue } from '../../src/kit/async/slices.ts';
import { KeptTraffic } from '../../src/proxy/telemetry/kept-traffic.ts';

const [, , path = ''] = process.argv;
let count = 0;
const kept = new KeptTraffic({
  path,
  requests: {
    ownList: () => {
      count += 1;
      const at = new Date().toISOString();
      return Promise.resolve(Array.from({ length: 500 }, (_, index) => ({ id: `rq_${count}_${index}`, at })));
    },
    keepEarlier: () => {},
  },
  series: { ownState: () => Promise.resolve([]), keepEarlier: () => {} },
  clock: { nowMs: () => Date.now() },
  queue: new SliceQueue(),
  shown: (request) => request,
  onProblem: (error) => {
    throw error;
  },
});
await kept.start();
for (;;) {
  await kept.save();
  process.stdout.write(`${count}\n`);
}
