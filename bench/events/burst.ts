import { flag, isQuick, say } from '../support/flags.ts';
import { httpRequest, load, percentile } from '../support/load.ts';
import { cpuSeconds, median } from '../support/process-cost.ts';
import type { Program } from '../support/start-program.ts';
import {
  addLane,
  arrivals,
  CHANGE,
  type Engine,
  forEachEngine,
  headers,
  startReceiver,
  startServer,
} from './event-server.ts';

const ROUNDS = Number(flag('rounds') ?? (isQuick ? 2 : 5));
const CHANGES = Number(flag('changes') ?? (isQuick ? 2_000 : 10_000));
const WRITERS = 32;
const GOAL = 1.3;

interface Contender {
  readonly title: string;
  readonly server: Program;
  /** Where its events arrive; null when nothing is sent. */
  readonly receiver: Program | null;
  readonly rounds: Round[];
}

interface Round {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** Seconds of the server's CPU per change, until the last response. */
  readonly cpu: number;
  /** How much of the burst had arrived when the last change was answered. */
  readonly deliveredMeanwhile: number;
}

/** A burst of changes on servers with different listeners, in turns. */
export async function burst(directory: string): Promise<void> {
  await forEachEngine(directory, async (engine) => {
    const contenders = await startAll(engine);
    try {
      // The first round of each warms up and does not count.
      for (let round = 0; round <= ROUNDS; round += 1) {
        for (const contender of contenders) {
          const measured = await runOnce(contender);
          if (round > 0) contender.rounds.push(measured);
        }
      }
    } finally {
      for (const { server, receiver } of contenders) {
        await server.stop();
        await receiver?.stop();
      }
    }
    report(engine, contenders);
  });
}

async function startAll(engine: Engine): Promise<readonly Contender[]> {
  const none = await startServer(await engine.newHome());
  const recording = await startServer(await engine.newHome());
  const delivering = await startServer(await engine.newHome());
  const receiver = await startReceiver();
  await addLane(recording, receiver, true);
  await addLane(delivering, receiver);
  return [
    { title: 'no subscription', server: none, receiver: null, rounds: [] },
    { title: 'recorded (destination paused)', server: recording, receiver: null, rounds: [] },
    { title: 'recorded and delivered', server: delivering, receiver, rounds: [] },
  ];
}

async function runOnce({ server, receiver }: Contender): Promise<Round> {
  const request = httpRequest(CHANGE.method, CHANGE.path, headers, JSON.stringify(CHANGE.body));
  const cpuBefore = cpuSeconds(server.pid);
  const result = await load({
    port: server.port,
    connections: WRITERS,
    status: 201,
    until: { count: CHANGES },
    request: () => request,
  });
  const cpu = (cpuSeconds(server.pid) - cpuBefore) / CHANGES;
  let deliveredMeanwhile = 0;
  if (receiver !== null) {
    deliveredMeanwhile = (await arrivals(receiver, 0)).count;
    // The rest is not part of the next contender's round.
    if (deliveredMeanwhile < CHANGES) await arrivals(receiver, CHANGES - deliveredMeanwhile);
  }
  return {
    perSecond: CHANGES / result.seconds,
    p50: percentile(result.latencies, 0.5),
    p99: percentile(result.latencies, 0.99),
    cpu,
    deliveredMeanwhile,
  };
}

function report({ name }: Engine, contenders: readonly Contender[]): void {
  say(`${name}: bursts of ${CHANGES.toLocaleString('en-US')} changes by ${WRITERS} writers, ${ROUNDS} rounds in turns`);
  const base = contenders[0]?.rounds ?? [];
  for (const { title, rounds, receiver } of contenders) {
    const of = (pick: (round: Round) => number): number => median(rounds.map(pick));
    const ratio = median(rounds.map((round, at) => (base[at]?.perSecond ?? Number.NaN) / round.perSecond));
    const parts = [
      `${Math.round(of((round) => round.perSecond)).toLocaleString('en-US')} changes/s`,
      `p50 ${of((round) => round.p50).toFixed(1)} ms`,
      `p99 ${of((round) => round.p99).toFixed(1)} ms`,
      `${(of((round) => round.cpu) * 1e6).toFixed(0)} µs CPU`,
    ];
    if (rounds !== base)
      parts.push(`${ratio.toFixed(2)} × slower${receiver === null ? '' : ` (goal at most ${GOAL})`}`);
    if (receiver !== null) parts.push(`${Math.round(of((round) => round.deliveredMeanwhile))} delivered meanwhile`);
    say(`  ${title.padEnd(31)} ${parts.join(', ')}`);
  }
}
