import assert from 'node:assert/strict';
import { appendFileSync, writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { bundledPackageUrls } from './bundled-packages.ts';
import { startThreadsFromBundle } from './bundled-program.ts';
import { type FileCost, startMeter } from './costs.ts';

export interface BatchFile {
  /** As it is reported: from the project's root. */
  readonly name: string;
  readonly path: string;
  readonly timeoutMs: number;
  /** The next file must find the process as this one did. A process of its own ends with the file instead. */
  readonly sharesProcess: boolean;
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const EXIT_GRACE_MS = 2_000;

export interface BatchOptions {
  /** Holds the name of the file that runs, for the case that the process crashes. */
  readonly progressFile: string;
  /** Sockets and threads need a moment to close. */
  readonly closeGraceMs: number;
  /** Gets a line of JSON for each file. */
  readonly costsFile: string;
}

/** Runs test files one after another in this process. Each is one test, and the tests in it are its subtests. */
export async function runBatch(
  files: readonly BatchFile[],
  { progressFile, closeGraceMs, costsFile }: BatchOptions,
): Promise<void> {
  findFilesDirectly();
  const launcher = process.env['POSTERN_TEST_PROGRAM'];
  if (launcher !== undefined) startThreadsFromBundle(ROOT, launcher, sharesStoreThreads(files));
  // A package that imports "process" as a namespace opens standard input, and no file can close it: it is open for all.
  process.stdin.pause();
  let hasLeft = false;
  for (const { name, path, timeoutMs, sharesProcess } of files) {
    writeFileSync(progressFile, name);
    const before = { resources: countOf(process.getActiveResourcesInfo()), state: globalState() };
    const cost = startMeter();
    await test(name, { timeout: timeoutMs }, () => import(pathToFileURL(path).href));
    const left = sharesProcess ? await leftOpen(before.resources, closeGraceMs) : [];
    appendFileSync(costsFile, `${JSON.stringify({ name, ...cost() } satisfies FileCost)}\n`);
    if (!sharesProcess) continue;
    const changed = changedState(before.state);
    if (left.length + changed.length === 0) continue;
    hasLeft = true;
    await test(leavesNothing(name), () => {
      assert.deepEqual({ open: left, changed }, { open: [], changed: [] });
    });
  }
  // Open handles, as of a file that ran into its limit, would keep the process until the time limit of the whole run.
  setTimeout(() => process.exit(1), hasLeft ? EXIT_GRACE_MS : closeGraceMs).unref();
}

/** A long run measures, and a file with its own process may end threads in the middle of their work. */
function sharesStoreThreads(files: readonly BatchFile[]): boolean {
  return process.env['POSTERN_TEST_LONG'] === undefined && files.every(({ sharesProcess }) => sharesProcess);
}

/**
 * A relative import of our own code needs no search for its file and the package around it, which is a fifth of the
 * time that a process takes to load the program. Our imports of packages get the bundled ones, if there are.
 */
function findFilesDirectly(): void {
  const root = pathToFileURL(ROOT).href;
  const packages = pathToFileURL(join(ROOT, 'node_modules/')).href;
  const bundled = bundledPackageUrls();
  registerHooks({
    resolve: (specifier, context, next) => {
      const from = context.parentURL;
      if (from?.startsWith(root) !== true || from.startsWith(packages)) return next(specifier, context);
      if (specifier.startsWith('.') && specifier.endsWith('.ts')) {
        return { url: new URL(specifier, from).href, format: 'module-typescript', shortCircuit: true };
      }
      const url = context.conditions.includes('import') ? bundled.get(specifier) : undefined;
      return url === undefined ? next(specifier, context) : { url, format: 'module', shortCircuit: true };
    },
  });
}

/** The name of the test that a file fails when it leaves something open or changed. */
export function leavesNothing(file: string): string {
  return `${file} leaves the process as it found it`;
}

/** The kinds of handles beyond those that were open before. */
async function leftOpen(before: ReadonlyMap<string, number>, graceMs: number): Promise<readonly string[]> {
  const deadline = Date.now() + graceMs;
  for (;;) {
    // Before the first look too: a server that listens has its handle only a turn later.
    await sleep(20);
    const now = countOf(process.getActiveResourcesInfo());
    const extra = [...now].filter(([kind, count]) => count > (before.get(kind) ?? 0)).map(([kind]) => kind);
    if (extra.length === 0 || Date.now() > deadline) return extra;
  }
}

function countOf(kinds: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const kind of kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}

/** State that the next file would inherit. */
function globalState(): ReadonlyMap<string, string> {
  return new Map([
    ...Object.entries(process.env).map(([name, value]) => [`env ${name}`, value ?? ''] as const),
    ['working directory', process.cwd()],
    ['fetch', String(fetch === originalFetch)],
  ]);
}

const originalFetch = fetch;

function changedState(before: ReadonlyMap<string, string>): readonly string[] {
  const after = globalState();
  return [...new Set([...before.keys(), ...after.keys()])].filter((name) => before.get(name) !== after.get(name));
}
