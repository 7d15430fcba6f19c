import type { StoreLocation } from '../../src/store/offline-database.ts';
import { rotateKey } from '../../src/store/rotate-key.ts';

/** Runs as its own process: rotates, and kills itself at the step with the given number. */
const location = JSON.parse(process.argv[2] ?? '') as StoreLocation;
const fatalStep = Number(process.argv[3]);
let steps = 0;
await rotateKey({
  target: location,
  onProgress: () => {
    steps += 1;
    if (steps === fatalStep) process.kill(process.pid, 'SIGKILL');
  },
});
process.stdout.write(`finished after ${steps} steps\n`);
