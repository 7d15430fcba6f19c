import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string };
  readonly children?: readonly number[];
}

interface Profile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** For a server that writes a profile of its CPU time when it stops. */
export function profiled(directory: string): { readonly NODE_OPTIONS: string } {
  return { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${directory} --cpu-prof-interval=250` };
}

/**
 * The share of a program's CPU time below functions of the files whose path contains `folder`, between the first and
 * the last sample below a function named `mark` there: the start of the program does not count. Both parts are measured
 * at the same time, so other work on the machine does not change it. Garbage collection is not a part of it.
 */
export function shareOf(directory: string, folder: string, mark: string): number {
  const files = readdirSync(directory).map((name) => join(directory, name));
  // The main thread's: those of workers are small.
  const [largest = ''] = files.sort((one, other) => statSync(other).size - statSync(one).size);
  const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(largest, 'utf8')) as Profile;
  const inside = nodesBelow(nodes, ({ url }) => url.includes(folder));
  const marked = nodesBelow(nodes, ({ url, functionName }) => url.includes(folder) && functionName === mark);
  const idle = new Set(nodes.filter(({ callFrame }) => callFrame.functionName === '(idle)').map(({ id }) => id));
  const first = samples.findIndex((id) => marked.has(id));
  const last = samples.findLastIndex((id) => marked.has(id));
  let [part, all] = [0, 0];
  for (let at = first; at <= last; at += 1) {
    const id = samples[at] as number;
    const micros = timeDeltas[at] as number;
    if (!idle.has(id)) all += micros;
    if (inside.has(id)) part += micros;
  }
  return part / all;
}

function nodesBelow(
  nodes: readonly ProfileNode[],
  isTop: (frame: ProfileNode['callFrame']) => boolean,
): ReadonlySet<number> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const inside = new Set<number>();
  const add = (id: number): void => {
    inside.add(id);
    for (const child of byId.get(id)?.children ?? []) add(child);
  };
  for (const { id, callFrame } of nodes) if (isTop(callFrame) && !inside.has(id)) add(id);
  return inside;
}
