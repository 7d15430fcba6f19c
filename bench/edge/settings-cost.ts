import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isQuick, say } from '../support/flags.ts';
import { h2load } from '../support/h2load.ts';
import { type Compared, comparison, interleaved, type Measured } from '../support/interleaved.ts';
import { openBench } from '../support/open-bench.ts';
import { cpuNanoseconds } from '../support/process-cost.ts';
import { HOST, makeCertificates } from './certificates.ts';
import { startPostern } from './postern.ts';

/** Two servers with the same settings differ by some percent for as long as they run: each pair is another sample. */
const PAIRS = isQuick ? 1 : 3;
const ROUNDS = isQuick ? 3 : 40;
/** Not counted: the runtime keeps compiling for some ten thousand requests. */
const WARM_UP_ROUNDS = isQuick ? 1 : 10;
const REQUESTS = isQuick ? 1_000 : 3_000;
/** Few, because each round pays for their handshakes. */
const CONNECTIONS = 4;
const PROTOCOLS = ['h1', 'h2'] as const;

type Settings = Readonly<Record<string, string>>;
type Protocol = (typeof PROTOCOLS)[number];

export interface SettingsToCompare {
  /** What only one of the two has. */
  readonly what: string;
  readonly off: Settings;
  readonly on: Settings;
  readonly goal: number;
  /** Absent: as fast as possible. */
  readonly perSecond?: number;
  /** So many times the load for the server with the settings. Default: 1. */
  readonly times?: number;
}

/** Says what the settings cost. */
export async function settingsCost(directory: string, settings: SettingsToCompare): Promise<void> {
  await using bench = await openBench();
  if (bench === null) return;
  for (const [protocol, pairs] of await comparedSettings(directory, bench.upstream.port, settings)) {
    say(`${protocol} without and with ${settings.what}: ${comparison(pairs)}; goal at most ${settings.goal}`);
  }
}

/** CPU per request of servers that differ in their settings, in alternating rounds. */
export async function comparedSettings(
  directory: string,
  upstreamPort: number,
  settings: Omit<SettingsToCompare, 'goal'>,
): Promise<ReadonlyMap<Protocol, readonly Compared[]>> {
  const certificates = await makeCertificates(directory);
  const { perSecond, times = 1 } = settings;
  const all = new Map<Protocol, Compared[]>(PROTOCOLS.map((protocol) => [protocol, []]));
  for (let pair = 0; pair < PAIRS; pair += 1) {
    await using stack = new AsyncDisposableStack();
    const start = async (name: string, env: Settings, times = 1): Promise<(protocol: Protocol) => Measured> => {
      const own = join(directory, `${settings.what} ${name}-${pair}`);
      await mkdir(own);
      const options = { directory: own, upstreamPort, certificates };
      const server = await startPostern(name, options, undefined, env);
      stack.defer(() => server.stop());
      const { pid, port } = server;
      return (protocol) => ({ round: () => microsPerRequest({ pid, port, protocol, directory, perSecond, times }) });
    };
    const [off, on] = [await start('off', settings.off), await start('on', settings.on, times)];
    for (const protocol of PROTOCOLS) {
      const rounds = { rounds: ROUNDS, warmUp: WARM_UP_ROUNDS };
      all.get(protocol)?.push(await interleaved(off(protocol), on(protocol), rounds));
    }
  }
  return all;
}

async function microsPerRequest(options: {
  readonly pid: number;
  readonly port: number;
  readonly protocol: Protocol;
  readonly directory: string;
  readonly perSecond: number | undefined;
  readonly times: number;
}): Promise<number> {
  const { pid, port, protocol, directory, perSecond, times } = options;
  const requests = REQUESTS * times;
  const before = cpuNanoseconds(pid);
  await h2load({
    ...{ protocol, host: HOST, port, path: '/', requests, connections: CONNECTIONS * times, streams: 10 },
    ...{ headers: {}, directory },
    ...(perSecond !== undefined && { perSecond: perSecond * times }),
  });
  return (cpuNanoseconds(pid) - before) / requests / 1000;
}
