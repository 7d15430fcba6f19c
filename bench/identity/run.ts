import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { QUIET } from '../edge/postern.ts';
import { settingsCost } from '../edge/settings-cost.ts';
import { makeBackend, makeSite } from '../edge/sites.ts';
import { packedSide } from '../guard/sides.ts';
import { call } from '../support/call.ts';
import { isQuick, say, words } from '../support/flags.ts';
import { type OpenBench, openBench } from '../support/open-bench.ts';
import { anonymousMiB, cpuNanoseconds, median, quantile } from '../support/process-cost.ts';
import { type Program, startPosternServer } from '../support/start-program.ts';
import { helpIfRequested } from '../support/usage.ts';
import { IDENTITY_HOST, IDENTITY_ORIGIN, logInWithPasskey, makePeople, Visitors } from './people.ts';

const CHECKOUT = fileURLToPath(new URL('../../', import.meta.url));
const HOST = 'app.localhost';
const ON = { POSTERN_IDENTITY_HOST: IDENTITY_HOST };
const PEOPLE = 8;
const ROUNDS = isQuick ? 2 : 12;
const LOGINS = isQuick ? 8 : 40;
const WARM_UP_ROUNDS = isQuick ? 1 : 5;
const PAIRS = isQuick ? 1 : 3;
/** A process gives memory back when it has been idle for 25 to 50 seconds. */
const SETTLE_MS = isQuick ? 1000 : 60_000;

interface Place {
  readonly directory: string;
  readonly bench: OpenBench;
}

const PARTS: Readonly<Record<string, (place: Place) => Promise<void>>> = { requests, logins, memory };

helpIfRequested({
  script: 'bench:identity',
  about: 'Measures what the identity host costs: other hosts while it is on, a login with a passkey, and memory.',
  benches: {
    requests: 'CPU per request to a site without login, with the identity host on and off',
    logins: 'CPU of a whole login with a passkey on a route: page, ceremony, code exchange, callback',
    memory: 'memory of the package with the identity host on and off, at rest and after logins',
  },
});

const unknown = words.find((word) => PARTS[word] === undefined);
if (unknown !== undefined) {
  say(`unknown part "${unknown}": use ${Object.keys(PARTS).join(', ')}`);
  process.exitCode = 2;
} else await run(words.length === 0 ? Object.keys(PARTS) : words);

async function run(names: readonly string[]): Promise<void> {
  await using bench = await openBench();
  if (bench === null) return;
  const directory = await mkdtemp(join(tmpdir(), 'postern-bench-identity-'));
  bench.stack.defer(() => rm(directory, { recursive: true, force: true }));
  for (const name of names) await PARTS[name]?.({ directory, bench });
}

async function requests({ directory }: Place): Promise<void> {
  await settingsCost(directory, { what: 'identity', off: {}, on: ON, goal: 1.02 });
}

async function logins({ directory, bench }: Place): Promise<void> {
  const server = await startPosternServer(join(directory, 'logins'), { ...QUIET, ...ON });
  bench.stack.defer(() => server.stop());
  const logIn = await preparedLogins(server, bench);
  const costs: number[] = [];
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round += 1) {
    const before = cpuNanoseconds(server.pid);
    await logIn(LOGINS);
    if (round >= WARM_UP_ROUNDS) costs.push((cpuNanoseconds(server.pid) - before) / LOGINS / 1e6);
  }
  const [low, middle, high] = [0.25, 0.5, 0.75].map((part) => quantile(costs, part).toFixed(1));
  const perSecond = (1000 / median(costs)).toFixed(0);
  say(
    `a login with a passkey: ${middle} ms of CPU (median of ${costs.length} rounds, half of them ${low} to ${high}), ${perSecond} a second on one core`,
  );
}

/** Logs in so many times, eight at a time, each with a new browser. */
async function preparedLogins(server: Program, bench: OpenBench): Promise<(count: number) => Promise<void>> {
  const { routePath } = await makeSite(server.port, HOST, await makeBackend(server.port, bench.upstream.port));
  await call(server.port, 'PUT', `${routePath}/oidc`, { issuer: IDENTITY_ORIGIN });
  const visitors = new Visitors(server);
  bench.stack.defer(() => visitors.close());
  const devices = await makePeople(server, visitors, PEOPLE);
  return async (count) => {
    let left = count;
    await Promise.all(
      devices.map(async (device) => {
        while (left > 0) {
          left -= 1;
          await logInWithPasskey(visitors, HOST, device);
        }
      }),
    );
  };
}

async function memory({ directory, bench }: Place): Promise<void> {
  const side = await packedSide(CHECKOUT, join(directory, 'package'));
  const start = async (name: string, env: Readonly<Record<string, string>>): Promise<Program> => {
    const server = await startPosternServer(join(directory, name), { ...QUIET, ...env }, side.package);
    bench.stack.defer(() => server.stop());
    return server;
  };
  const off: Program[] = [];
  const on: Program[] = [];
  for (let pair = 0; pair < PAIRS; pair += 1) {
    off.push(await start(`off-${pair}`, {}));
    on.push(await start(`on-${pair}`, ON));
  }
  await sleep(SETTLE_MS);
  sayMemory('at rest', off, on);
  for (const server of on) await (await preparedLogins(server, bench))(isQuick ? 8 : 200);
  await sleep(SETTLE_MS);
  sayMemory(`at rest, after ${isQuick ? 8 : 200} logins with the identity host`, off, on);
}

function sayMemory(when: string, off: readonly Program[], on: readonly Program[]): void {
  const [without, having] = [off, on].map((servers) => servers.map(({ pid }) => anonymousMiB(pid)));
  const list = (values: readonly number[] = []): string =>
    values
      .toSorted((a, b) => a - b)
      .map((each) => each.toFixed(0))
      .join(', ');
  say(`own memory (RssAnon) ${when}: ${list(without)} MiB with the identity host off, ${list(having)} with it on`);
}
