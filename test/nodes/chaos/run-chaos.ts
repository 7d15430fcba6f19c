import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cleanup } from '../../support/cleanup.ts';
import { until } from '../../support/cluster.ts';
import { Random } from '../../support/random.ts';
import { ChaosWorld } from './chaos-world.ts';
import { ContestedDocument } from './contested-document.ts';
import { type FaultKind, startFault } from './faults.ts';
import { HEALED_AFTER_MS, Ledger } from './ledger.ts';
import { ChaosLoad } from './load.ts';

export interface ChaosOptions {
  readonly seed: number;
  /** The run takes longer if a fault of each kind does. */
  readonly durationMs: number;
  /** Between the starts of two faults; a longer fault delays the next. */
  readonly faultEveryMs: number;
  readonly kinds: readonly FaultKind[];
  readonly pauseMs: number;
  readonly freezeMs: number;
}

export interface ChaosFigures {
  readonly ledger: Ledger;
  readonly faults: readonly string[];
  readonly acknowledged: number;
  /** Attempts to change one document with `If-Match`. */
  readonly changes: number;
  readonly lost: readonly string[];
  /** Requests for a contended name that reached somebody who was not its owner. */
  readonly violations: readonly string[];
  readonly ownerChanges: number;
  /** Agents that gave up because the server refused them. */
  readonly refusals: readonly string[];
  /** Nodes whose process ended although nobody ended it. */
  readonly deaths: readonly string[];
}

/** Real clients on three nodes, and a fault at a time. Every kind comes once before any comes again. */
export async function runChaos(test: Cleanup, options: ChaosOptions): Promise<ChaosFigures> {
  const random = new Random(options.seed);
  const world = await ChaosWorld.open(test);
  const { cluster, names } = world;
  const ledger = new Ledger();
  const load = new ChaosLoad(world, ledger, new Random(options.seed + 1), { pauseMs: options.pauseMs });
  for (const site of world.tunnels) {
    await until(`${site.host} is served everywhere`, async () => {
      const answers = await Promise.all(cluster.nodes.map((node) => node.ask(site.host)));
      return answers.every(({ text }) => site.answers.includes(text));
    });
  }
  const document = await ContestedDocument.create(cluster, new Random(options.seed + 2));
  load.start(document);
  const faults: string[] = [];
  const deaths: string[] = [];
  try {
    let kinds: readonly FaultKind[] = [];
    await sleep(HEALED_AFTER_MS);
    while (ledger.atMs < options.durationMs || faults.length < options.kinds.length) {
      const startedMs = performance.now();
      if (kinds.length === 0) kinds = random.shuffled(options.kinds);
      const fault = startFault(world, kinds[0] as FaultKind, random, options.freezeMs);
      kinds = kinds.slice(1);
      ledger.begin(fault);
      faults.push(`${Math.round(ledger.atMs)} ${fault.name}`);
      const moved = world.changeOwner(random.next());
      await fault.over;
      ledger.heal();
      await moved;
      await sleep(Math.max(HEALED_AFTER_MS + 1000, options.faultEveryMs - (performance.now() - startedMs)));
      for (const { name, isRunning } of cluster.nodes) if (!isRunning) deaths.push(`${name} after ${fault.name}`);
    }
  } finally {
    await load.stop();
    document.close();
    await keepLogs(world, document, [...faults, ...ledger.failures.map((failure) => JSON.stringify(failure))]);
  }
  ledger.wrong.push(...document.strange);
  const lost = await Promise.all(
    cluster.nodes.map(async (node) => [...(await load.writes.lost(node)), ...(await document.lost(node))]),
  );
  return {
    ledger,
    faults,
    acknowledged: load.writes.acknowledged.length,
    changes: document.changes.length,
    lost: lost.flat(),
    violations: names.violations(),
    ownerChanges: names.changes(),
    refusals: world.refusals,
    deaths,
  };
}

/** What must hold on a machine of any speed. */
export function checkChaos({ ledger, lost, violations, refusals, deaths }: ChaosFigures): void {
  assert.deepEqual(deaths, [], 'nodes that ended by themselves');
  assert.deepEqual(refusals, [], 'agents that were refused for good');
  assert.deepEqual(ledger.wrong, [], 'wrong answers');
  assert.deepEqual(lost, [], 'acknowledged writes that a node does not have');
  assert.deepEqual(violations, [], 'served by somebody who had lost the right to');
}

export function describeChaos({ ledger, faults, acknowledged, changes, ownerChanges }: ChaosFigures): string {
  const failures = ledger.failures.map((failure) => `  ${JSON.stringify(failure)}`);
  const gaps = ledger.gapsMs.filter(({ ms }) => ms > 2000).map((gap) => `  ${JSON.stringify(gap)}`);
  return [
    `${faults.length} faults, ${acknowledged} writes acknowledged, ${changes} changes of one document, ${ownerChanges} changes of owner`,
    ledger.describe(),
    ...failures.slice(0, 60),
    ...gaps.slice(0, 40),
  ].join('\n');
}

/** For the search after a failed run: POSTERN_CHAOS_LOGS names a folder. */
async function keepLogs({ cluster }: ChaosWorld, document: ContestedDocument, lines: readonly string[]): Promise<void> {
  const folder = process.env['POSTERN_CHAOS_LOGS'];
  if (folder === undefined) return;
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'run.txt'), `${lines.join('\n')}\n`);
  const changes = document.changes.map((change) => JSON.stringify(change));
  await writeFile(join(folder, 'changes.jsonl'), `${changes.join('\n')}\n`);
  for (const node of cluster.nodes) await writeFile(join(folder, `${node.name}.log`), node.allOutput());
}
