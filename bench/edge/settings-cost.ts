import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isQuick, say } from '../support/flags.ts';
import { h2load } from '../support/h2load.ts';
import { openBench } from '../support/open-bench.ts';
import { cpuNanoseconds, median, quantile } from '../support/process-cost.ts';
import { HOST, makeCertificates } from './certificates.ts';
import type { Contender } from './contender.ts';
import { startPostern } from './postern.ts';

const ROUNDS = isQuick ? 3 : 40;
/** Not counted: the runtime keeps compiling for some ten thousand requests. */
const WARM_UP_ROUNDS = isQuick ? 1 : 10;
const REQUESTS = isQuick ? 1_000 : 4_000;

type Settings = Readonly<Record<string, string>>;

export interface SettingsToCompare {
  /** What only one of the two has. */
  readonly what: string;
  readonly off: Settings;
  readonly on: Settings;
  readonly goal: number;
}

/** CPU per request of two servers that differ in their settings, in alternating rounds. */
export async function settingsCost(directory: string, settings: SettingsToCompare): Promise<void> {
  await using bench = await openBench();
  if (bench === null) return;
  const certificates = await makeCertificates(directory);
  const start = async (name: string, env: Settings): Promise<Contender> => {
    const own = join(directory, name);
    await mkdir(own);
    const options = { directory: own, upstreamPort: bench.upstream.port, certificates };
    const contender = await startPostern(name, options, undefined, env);
    bench.stack.defer(() => contender.stop());
    return contender;
  };
  const [off, on] = [await start('off', settings.off), await start('on', settings.on)];
  for (const protocol of ['h1', 'h2'] as const) {
    const costs = new Map<Contender, number[]>([
      [off, []],
      [on, []],
    ]);
    for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round += 1) {
      for (const contender of round % 2 ? [off, on] : [on, off]) {
        const before = cpuNanoseconds(contender.pid);
        await h2load({
          ...{ protocol, host: HOST, port: contender.port, path: '/', requests: REQUESTS, connections: 8, streams: 10 },
          ...{ headers: {}, directory },
        });
        const micros = (cpuNanoseconds(contender.pid) - before) / REQUESTS / 1000;
        if (round >= WARM_UP_ROUNDS) costs.get(contender)?.push(micros);
      }
    }
    const [without = [], withIt = []] = [costs.get(off), costs.get(on)];
    const ratios = withIt.map((cost, at) => cost / (without[at] ?? cost));
    const [low, middle, high] = [0.25, 0.5, 0.75].map((part) => quantile(ratios, part).toFixed(3));
    say(
      `${protocol}: ${median(without).toFixed(1)} µs of CPU per request without ${settings.what}, ${median(withIt).toFixed(1)} with it: ${middle} × (median of ${ratios.length} rounds, half of them ${low} to ${high}; goal at most ${settings.goal})`,
    );
  }
}
