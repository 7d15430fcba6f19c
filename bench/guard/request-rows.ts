import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isQuick } from '../support/flags.ts';
import { h2load } from '../support/h2load.ts';
import { type Compared, interleaved, type Measured } from '../support/interleaved.ts';
import { httpRequest, load } from '../support/load.ts';
import { cpuNanoseconds } from '../support/process-cost.ts';
import { API_KEY } from '../support/start-program.ts';
import type { Row } from './row.ts';
import { LOGIN_HOST, OPEN_HOST, TUNNEL_HOST, type World, WRITERS } from './world.ts';

/** Short, so that no side is idle for a second before its next round. */
const REQUESTS = isQuick ? 500 : 2000;
const WRITES = isQuick ? 64 : 320;
const ROUNDS = isQuick ? 2 : 10;
/** Not counted: the runtime keeps compiling, and the pair was idle while others were measured. */
const WARM_UP_ROUNDS = isQuick ? 1 : 6;
/** Few, because each round pays for their handshakes. */
const CONNECTIONS = 8;
/** Per protocol, before anything is measured: V8 compiles and recompiles for some 50,000 requests. */
const COMPILING_REQUESTS = isQuick ? 1000 : 30_000;
const IDLE_SECONDS = isQuick ? 1 : 10;
const REQUESTS_AFTER_IDLING = isQuick ? 1000 : 10_000;
export const AFTER_IDLING = `HTTP/1.1, the first ${REQUESTS_AFTER_IDLING} after ${IDLE_SECONDS} idle seconds`;
const API_HEADERS = { authorization: `Bearer ${API_KEY}`, 'service-version': '2' };

export interface WorldPair {
  readonly before: World;
  readonly after: World;
}

/** What a number of requests costs. */
interface Cost {
  readonly server: number;
  readonly agent: number;
}

interface Kind {
  readonly name: string;
  readonly count: number;
  readonly hasAgent?: boolean;
  send(world: World, count: number, directory: string): Promise<unknown>;
}

const visit =
  (options: {
    readonly protocol: 'h1' | 'h2';
    readonly host: string;
    readonly scheme?: 'http';
    readonly withLogin?: boolean;
  }): Kind['send'] =>
  ({ server, cookie }, requests, directory) =>
    h2load({
      ...options,
      ...{ port: options.scheme === 'http' ? server.httpPort : server.edgePort, path: '/', requests },
      ...{ connections: CONNECTIONS, streams: 10, headers: options.withLogin ? { cookie } : {}, directory },
    });

const KINDS: readonly Kind[] = [
  { name: 'HTTP/1.1', count: REQUESTS, send: visit({ protocol: 'h1', host: OPEN_HOST }) },
  { name: 'HTTP/2', count: REQUESTS, send: visit({ protocol: 'h2', host: OPEN_HOST }) },
  { name: 'HTTP/1.1 with login', count: REQUESTS, send: visit({ protocol: 'h1', host: LOGIN_HOST, withLogin: true }) },
  { name: 'HTTP/2 with login', count: REQUESTS, send: visit({ protocol: 'h2', host: LOGIN_HOST, withLogin: true }) },
  {
    name: 'tunnel, HTTP/1.1 with TLS',
    count: REQUESTS,
    hasAgent: true,
    send: visit({ protocol: 'h1', host: TUNNEL_HOST }),
  },
  {
    name: 'tunnel, HTTP/2 with TLS',
    count: REQUESTS,
    hasAgent: true,
    send: visit({ protocol: 'h2', host: TUNNEL_HOST }),
  },
  {
    name: 'tunnel, HTTP/1.1 without TLS',
    count: REQUESTS,
    hasAgent: true,
    send: visit({ protocol: 'h1', host: TUNNEL_HOST, scheme: 'http' }),
  },
  {
    name: 'API: GET of a module',
    count: REQUESTS,
    send: ({ server, readPath }, count) =>
      load({
        ...{ port: server.program.port, connections: CONNECTIONS, status: 200, until: { count } },
        request: () => httpRequest('GET', readPath, API_HEADERS),
      }),
  },
  {
    name: 'API: durable PUT of a module',
    count: WRITES,
    send: ({ server, writePaths }, count) =>
      load({
        ...{ port: server.program.port, connections: WRITERS, status: 200, until: { count } },
        request: (index) =>
          httpRequest(
            'PUT',
            writePaths[index % WRITERS] ?? '',
            API_HEADERS,
            JSON.stringify({ client_id: `app-${randomUUID()}` }),
          ),
      }),
  },
];

/** CPU per request, in many short rounds. */
export async function* requestRows(
  pairs: readonly WorldPair[],
  directory: string,
  wants: (name: string) => boolean,
): AsyncGenerator<Row> {
  for (const { before, after } of pairs) {
    for (const world of [before, after]) {
      for (const kind of KINDS)
        if (kind.name.startsWith('HTTP/')) await kind.send(world, COMPILING_REQUESTS, directory);
    }
  }
  for (const kind of KINDS.filter(({ name }) => wants(name) || wants(agentOf(name)))) {
    const compared: Compared<Cost>[] = [];
    for (const { before, after } of pairs) {
      const measured = (world: World): Measured<Cost> => ({ round: () => costOf(kind, world, kind.count, directory) });
      const rounds = { rounds: ROUNDS, warmUp: WARM_UP_ROUNDS };
      compared.push(await interleaved(measured(before), measured(after), rounds));
    }
    yield { name: kind.name, unit: 'µs', pairs: compared.map((pair) => part(pair, 'server')) };
    if (kind.hasAgent === true)
      yield { name: agentOf(kind.name), unit: 'µs', pairs: compared.map((pair) => part(pair, 'agent')) };
  }
}

function agentOf(name: string): string {
  return `${name}: the agent`;
}

/** All pairs are idle at the same time, and take turns then: the last one has been idle for some seconds more. */
export async function afterIdlingRow(pairs: readonly WorldPair[], directory: string): Promise<Row> {
  const costs = pairs.map(() => ({ base: [] as number[], other: [] as number[] }));
  const [kind] = KINDS as [Kind];
  for (let round = 0; round < ROUNDS; round += 1) {
    await sleep(IDLE_SECONDS * 1000);
    for (const [at, { before, after }] of pairs.entries()) {
      const measure = async (world: World) => (await costOf(kind, world, REQUESTS_AFTER_IDLING, directory)).server;
      const isBeforeFirst = round % 2 === 0;
      const first = await measure(isBeforeFirst ? before : after);
      const second = await measure(isBeforeFirst ? after : before);
      costs[at]?.base.push(isBeforeFirst ? first : second);
      costs[at]?.other.push(isBeforeFirst ? second : first);
    }
  }
  return {
    name: AFTER_IDLING,
    unit: 'µs',
    pairs: costs,
  };
}

/** Microseconds of CPU per request. */
async function costOf(kind: Kind, world: World, count: number, directory: string): Promise<Cost> {
  const [server, agent] = [world.server.program.pid, world.agent.pid];
  const before = { server: cpuNanoseconds(server), agent: cpuNanoseconds(agent) };
  await kind.send(world, count, directory);
  const micros = (pid: number, then: number): number => (cpuNanoseconds(pid) - then) / count / 1000;
  return { server: micros(server, before.server), agent: micros(agent, before.agent) };
}

function part({ base, other }: Compared<Cost>, of: keyof Cost): Compared {
  return { base: base.map((cost) => cost[of]), other: other.map((cost) => cost[of]) };
}
