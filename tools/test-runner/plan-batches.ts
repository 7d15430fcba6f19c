import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Files of a batch share one process: loading and warming up the program costs more than most files take. */
export interface Batch {
  readonly files: readonly string[];
}

const MAX_FILES = 40;
/**
 * A line of a test file that measures memory, changes what a process has only once, or takes long; the reason follows.
 */
const OWN_PROCESS = /^\/\/ Own process: \S/m;
const TAKES_LONG = /^\/\/ Own process: takes long/m;
/** Files with the same words share a process with each other only. */
const NAMED_PROCESS = /^\/\/ Process of ([\w ]+): \S/m;
const UNIT_FOLDERS = /\/(src|tools)$/;
/** Files in these folders have not been tried in a shared process yet. */
const OWN_PROCESS_FOLDERS = /\/test\/long\//;

/**
 * What takes longest comes first, because a long batch that starts last delays the end: files that say so, others with
 * a process of their own, batches of whole servers. Unit tests come last: their batches are the shortest.
 */
export function planBatches(files: readonly string[]): readonly Batch[] {
  const alone = files.filter(needsOwnProcess);
  const [long, short] = split(alone, (file) => TAKES_LONG.test(readFileSync(file, 'utf8')));
  const named = Map.groupBy(
    files.filter((file) => !alone.includes(file)),
    (file) => NAMED_PROCESS.exec(readFileSync(file, 'utf8'))?.[1] ?? '',
  );
  const [ofServers, ofUnits] = split(named.get('') ?? [], (file) => !UNIT_FOLDERS.test(topFolder(file)));
  named.delete('');
  const batches = [
    ...[...long, ...short].map((file) => [file]),
    ...named.values(),
    ...packed(ofServers),
    ...packed(ofUnits),
  ];
  return batches.map((batch) => ({ files: batch }));
}

/**
 * Files of a folder stay together, because neighbors load the same parts of the program. Small folders share a batch.
 */
function packed(files: readonly string[]): readonly (readonly string[])[] {
  const parts = [...Map.groupBy(files, topFolder).values()].flatMap(evenParts);
  const batches: string[][] = [];
  for (const part of parts.toSorted((one, other) => other.length - one.length)) {
    const fitting = batches.find((batch) => batch.length + part.length <= MAX_FILES);
    if (fitting === undefined) batches.push([...part]);
    else fitting.push(...part);
  }
  return batches;
}

function evenParts(files: readonly string[]): readonly (readonly string[])[] {
  const size = Math.ceil(files.length / Math.ceil(files.length / MAX_FILES));
  return Array.from({ length: Math.ceil(files.length / size) }, (_, at) => files.slice(at * size, (at + 1) * size));
}

function split<Item>(items: readonly Item[], isFirst: (item: Item) => boolean): [readonly Item[], readonly Item[]] {
  return [items.filter(isFirst), items.filter((item) => !isFirst(item))];
}

export function needsOwnProcess(file: string): boolean {
  return OWN_PROCESS_FOLDERS.test(file) || OWN_PROCESS.test(readFileSync(file, 'utf8'));
}

function topFolder(file: string): string {
  return dirname(file).match(/^.*?\/(?:src|tools|test\/[^/]+)(?=\/|$)/)?.[0] ?? dirname(file);
}
