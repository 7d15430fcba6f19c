import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Files of a batch share one process: loading and warming up the program costs more than most files take. */
export interface Batch {
  readonly files: readonly string[];
}

const MAX_FILES = 20;
/** A line of a test file that measures memory, changes what a process has only once, or takes long; the reason follows. */
const OWN_PROCESS = /^\/\/ Own process: \S/m;
/** Files with the same words share a process with each other only. */
const NAMED_PROCESS = /^\/\/ Process of ([\w ]+): \S/m;
/** Files in these folders have not been tried in a shared process yet. */
const OWN_PROCESS_FOLDERS = /\/test\/long\//;

/** Files with a process of their own come first: the longest are among them, and a long one that starts last delays the end. */
export function planBatches(files: readonly string[]): readonly Batch[] {
  const alone = files.filter(needsOwnProcess);
  const named = Map.groupBy(
    files.filter((file) => !alone.includes(file)),
    (file) => NAMED_PROCESS.exec(readFileSync(file, 'utf8'))?.[1] ?? '',
  );
  const others = named.get('') ?? [];
  named.delete('');
  const batches: string[][] = [];
  for (const file of others) {
    const last = batches.at(-1);
    if (last === undefined || last.length === MAX_FILES || !areRelated(last[0] ?? '', file)) batches.push([file]);
    else last.push(file);
  }
  return [...alone.map((file) => [file]), ...named.values(), ...batches].map((batch) => ({ files: batch }));
}

export function needsOwnProcess(file: string): boolean {
  return OWN_PROCESS_FOLDERS.test(file) || OWN_PROCESS.test(readFileSync(file, 'utf8'));
}

/** Neighbors load the same parts of the program. */
function areRelated(one: string, other: string): boolean {
  return topFolder(one) === topFolder(other);
}

function topFolder(file: string): string {
  return dirname(file).match(/^.*?\/(?:src|tools|test\/[^/]+)(?=\/|$)/)?.[0] ?? dirname(file);
}
