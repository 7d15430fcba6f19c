import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { median } from '../support/process-cost.ts';
import { startProgram } from '../support/start-program.ts';
import { helpIfRequested } from '../support/usage.ts';

helpIfRequested({
  script: 'bench:upstream',
  about: 'Compares the CPU per request of HTTP/1.1 clients: ours, undici and node:http. Takes about a minute.',
});
const isQuick = process.argv.includes('--quick');
const ROUNDS = isQuick ? 1 : 7;
const REQUESTS = isQuick ? 2000 : 20_000;
const NAMES = ['postern', 'undici', 'node:http'];
const CLIENT = fileURLToPath(new URL('./client.ts', import.meta.url));
const UPSTREAM = fileURLToPath(new URL('../edge/upstream.ts', import.meta.url));

const upstream = await startProgram([UPSTREAM], {});
const microseconds = new Map<string, number[]>(NAMES.map((name) => [name, []]));
try {
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const name of NAMES) {
      const args = [CLIENT, name, String(upstream.port), String(REQUESTS)];
      microseconds.get(name)?.push(Number(execFileSync(process.execPath, args, { encoding: 'utf8' })));
    }
  }
} finally {
  await upstream.stop();
}

const own = microseconds.get('postern') ?? [];
for (const [name, values] of microseconds) {
  const ratios = values.map((value, round) => value / (own[round] ?? Number.NaN));
  process.stdout.write(
    `${name.padEnd(10)} ${median(values).toFixed(1)} µs CPU per request, ${median(ratios).toFixed(2)} x ours\n`,
  );
}
