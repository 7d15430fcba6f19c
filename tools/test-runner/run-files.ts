import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { run } from 'node:test';
import { spec, type TestEvent } from 'node:test/reporters';
import { type FileCost, readCosts } from './costs.ts';
import { type Batch, needsOwnProcess, planBatches } from './plan-batches.ts';
import { type BatchFile, type BatchOptions, leavesNothing } from './run-batch.ts';

export interface RunOptions {
  /** Names in reports are relative to it. */
  readonly root: string;
  /** Where the batches' entry files are written. */
  readonly directory: string;
  readonly concurrency: number;
  readonly fileTimeoutMs: number;
  /** How long after its last test a file may take to close what it opened. */
  readonly closeGraceMs: number;
}

export interface Outcome {
  readonly passed: number;
  readonly skipped: number;
  /** File, suites and test of each failure. A test that several test files share is in a file of its own. */
  readonly failures: readonly string[];
  /** The test files in which something failed, relative to the root, and the batches whose process ended. */
  readonly failedFiles: readonly string[];
  readonly costs: readonly FileCost[];
}

interface Reported {
  readonly name: string;
  readonly file?: string | undefined;
  readonly nesting: number;
  readonly details: { readonly type?: string | undefined; readonly error?: unknown };
}

const TRACK_TESTS = new URL('./track-tests.ts', import.meta.url).href;
const RUN_BATCH = new URL('./run-batch.ts', import.meta.url).href;

/**
 * What V8 does for programs that run for hours costs most tests more than it saves: with room for young objects it
 * copies less of what lives on, and it does not compile a third time what is about to end.
 */
const V8_FLAGS = ['--min-semi-space-size=16', '--max-semi-space-size=32', '--no-turbofan'];

/** Runs the test files in batches, writes node's report of each test, and counts. */
export async function runFiles(files: readonly string[], options: RunOptions): Promise<Outcome> {
  writeFileSync(costsFile(options), '');
  const batches = planBatches(files);
  const entries = batches.map((batch, index) => writeEntry(batch, index, options));
  const outcome = { passed: 0, skipped: 0, failures: [] as string[] };
  const failedFiles = new Set<string>();
  const names = new Set(files.map((file) => relative(options.root, file)));
  const isFileItself = (event: Reported) => event.nesting === 0 && names.has(event.name);

  const tests = run({
    files: entries,
    concurrency: options.concurrency,
    // Long forms run long enough, and measure.
    execArgv: process.env['POSTERN_TEST_LONG'] === undefined ? V8_FLAGS : [],
    timeout: options.fileTimeoutMs * Math.max(...batches.map((batch) => batch.files.length)),
  });
  // Node reports in the order of declaration, also of tests that run at the same time.
  const around: string[] = [];
  tests.on('test:start', ({ name, nesting }) => around.splice(nesting, around.length, name));
  tests.on('test:pass', (event) => {
    if (isFileItself(event) || event.details.type === 'suite') return;
    if (event.skip === undefined || event.skip === false) outcome.passed += 1;
    else outcome.skipped += 1;
  });
  tests.on('test:fail', (event) => {
    if (entries.includes(event.name)) {
      // The batch itself: the files after the one that ended the process did not run.
      failedFiles.add(event.name);
      outcome.failures.push(`${readFileSync(progressFile(event.name), 'utf8')}: ended the process of its batch`);
    } else if (isFileItself(event)) {
      failedFiles.add(event.name);
      if (!failedInSubtests(event)) outcome.failures.push(`${event.name}: the file itself`);
    } else if (event.details.type !== 'suite' || !failedInSubtests(event)) {
      if (event.nesting === 0) for (const name of names) if (event.name === leavesNothing(name)) failedFiles.add(name);
      const file = event.file === undefined ? '' : relative(options.root, event.file);
      const path = [...around.slice(1, event.nesting), event.name].join(' › ');
      outcome.failures.push(`${file}: ${path}${event.details.type === 'suite' ? ': the suite itself' : ''}`);
    }
  });
  for await (const text of tests.compose(withoutTotals).compose(spec())) process.stdout.write(text as string);
  return { ...outcome, failedFiles: [...failedFiles], costs: readCosts(costsFile(options)) };
}

/** Totals of node:test count files as tests: the runner prints its own. */
async function* withoutTotals(events: AsyncIterable<TestEvent>): AsyncGenerator<TestEvent> {
  for await (const event of events) {
    const isTotal =
      event.type === 'test:diagnostic' &&
      /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/.test(event.data.message);
    if (!isTotal) yield event;
  }
}

function writeEntry({ files }: Batch, index: number, options: RunOptions): string {
  const { root, directory, fileTimeoutMs, closeGraceMs } = options;
  const path = join(directory, `batch-${String(index + 1).padStart(3, '0')}.mjs`);
  const batch: BatchFile[] = files.map((file) => ({
    name: relative(root, file),
    path: file,
    timeoutMs: fileTimeoutMs,
    sharesProcess: !needsOwnProcess(file),
  }));
  const batchOptions: BatchOptions = { progressFile: progressFile(path), closeGraceMs, costsFile: costsFile(options) };
  const parameters = [batch, batchOptions].map((value) => JSON.stringify(value, undefined, 2)).join(', ');
  const lines = [
    `import { trackTestsByContext } from '${TRACK_TESTS}';`,
    'await trackTestsByContext();',
    `const { runBatch } = await import('${RUN_BATCH}');`,
    `await runBatch(${parameters});`,
  ];
  writeFileSync(path, `${lines.join('\n')}\n`);
  writeFileSync(progressFile(path), path);
  return path;
}

function progressFile(entry: string): string {
  return `${entry}.running`;
}

function costsFile({ directory }: RunOptions): string {
  return join(directory, 'costs.jsonl');
}

function failedInSubtests({ details }: Reported): boolean {
  return (details.error as { failureType?: string } | undefined)?.failureType === 'subtestsFailed';
}
