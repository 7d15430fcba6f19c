import { existsSync, globSync, readdirSync, rmSync, statSync } from 'node:fs';
import { constants, cpus } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { tryToBuildConsole } from './build-console.ts';
import { installTestPackages } from './install-test-packages.ts';
import { bundlePackages } from './test-runner/bundled-packages.ts';
import { bundledProgram } from './test-runner/bundled-program.ts';
import { costliest } from './test-runner/costs.ts';
import { filesToRepeat } from './test-runner/files-to-repeat.ts';
import { isLongForm } from './test-runner/long-forms.ts';
import { type Outcome, type RunOptions, runFiles } from './test-runner/run-files.ts';
import { makeTemporaryDirectory } from './test-runner/temporary-directory.ts';

/**
 * Runs `npm test`: all test files, or those given by path or folder.
 *   npm test -- test/e2e            only these
 *   npm test -- --long              also the long forms, and longer loops elsewhere
 *   npm test -- --costs             list what every file took, not only the ten costliest
 */
const root = fileURLToPath(new URL('..', import.meta.url));
const FILE_TIMEOUT_MS = 5 * 60_000;
const CLOSE_GRACE_MS = 20_000;
const LONG_FILE_TIMEOUT_MS = 60 * 60_000;
const FILES_WORTH_A_BUNDLE = 5;
const COSTLIEST_SHOWN = 10;
const FLAGS = ['--long', '--costs'];
const POSTGRES_SUPPORT = join(root, 'test', 'support', 'postgres.ts');

const args = process.argv.slice(2);
const isLong = args.includes('--long');
const filters = args.filter((arg) => !arg.startsWith('-'));
const unknown = args.find((arg) => arg.startsWith('-') && !FLAGS.includes(arg));
if (unknown !== undefined) {
  stop(`unknown flag ${unknown}: the flags are ${FLAGS.join(' and ')}, other arguments are paths of tests`);
}

const files = testFiles();
if (files.length === 0) stop(`no test file under ${filters.join(', ') || 'src and test'}`);

installTestPackages();
tryToBuildConsole();
// Child processes that run "node" must get the Node that we run on.
process.env['PATH'] = `${dirname(process.execPath)}:${process.env['PATH']}`;
if (isLong) process.env['POSTERN_TEST_LONG'] = '1';

// In a long run, much more is written than memory holds.
const makeDirectory = (prefix: string) => makeTemporaryDirectory(prefix, { isOnDisk: isLong });
// Without this, a signal would leave them in memory.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => process.exit(128 + constants.signals[signal]));
}
const shared = makeDirectory('postern-shared-');
process.env['TMPDIR'] = shared;
const postgres = await startPostgresOnce();
// Every test file, and every server that it starts, is a process that would otherwise strip the types of the whole
// program again.
process.env['NODE_COMPILE_CACHE'] = join(shared, 'compiled');
// All tests of this run create their temporary directories in here, so that leftovers can be found.
const temporary = makeDirectory('postern-run-');
process.env['TMPDIR'] = temporary;
// For a few files it does not pay.
if (files.length > FILES_WORTH_A_BUNDLE) {
  bundlePackages(root, join(shared, 'packages'));
  process.env['POSTERN_TEST_PROGRAM'] = bundledProgram(root, join(temporary, 'program'));
}
try {
  const options = {
    root,
    directory: temporary,
    // More than there are cores, because many wait for a clock, a disk or a child process: with 2 for each core, a
    // sixth of them idled.
    concurrency: Math.round(cpus().length * 2.5),
    // A long form that is named runs in full, also without the flag.
    fileTimeoutMs: isLong || files.some(isLongForm) ? LONG_FILE_TIMEOUT_MS : FILE_TIMEOUT_MS,
    closeGraceMs: CLOSE_GRACE_MS,
  };
  const outcome = await runFiles(files, options);
  const shown = args.includes('--costs') ? files.length : COSTLIEST_SHOWN;
  if (files.length > COSTLIEST_SHOWN) console.log(`\n${costliest(outcome.costs, shown)}`);
  const failed = report(outcome) !== 0;
  // A file that failed may not have deleted its own. If it passes alone, that is no second failure.
  const leftByFailures = failed ? temporariesIn(temporary) : [];
  const code = failed ? await repeatAlone(outcome, options) : 0;
  process.exitCode = (await leftBehind(temporary, leftByFailures)) ? 1 : code;
} finally {
  rmSync(temporary, { recursive: true, force: true });
  await postgres?.stop();
  rmSync(shared, { recursive: true, force: true });
}

function testFiles(): string[] {
  const all = globSync(['src/**/*.test.ts', 'test/**/*.test.ts', 'tools/**/*.test.ts'], { cwd: root }).sort();
  const wanted = filters.map((filter) => relative(root, resolve(filter)));
  for (const filter of wanted) {
    if (!existsSync(join(root, filter))) stop(`${filter} does not exist`);
  }
  return all
    .filter((file) => isLong || !isLongForm(join(root, file)) || wanted.includes(file))
    .filter((file) => wanted.length === 0 || wanted.some((filter) => isUnder(file, filter)))
    .map((file) => join(root, file));
}

function isUnder(file: string, filter: string): boolean {
  return (
    file === filter || (statSync(join(root, filter)).isDirectory() && (filter === '' || file.startsWith(`${filter}/`)))
  );
}

/** One server for all files; each creates its own databases. */
async function startPostgresOnce(): Promise<{ url: string; stop(): Promise<void> } | null> {
  if (!existsSync(POSTGRES_SUPPORT)) return null;
  if (process.env['POSTERN_TEST_POSTGRES_URL']) return null;
  const { startPostgres } = (await import(pathToFileURL(POSTGRES_SUPPORT).href)) as {
    startPostgres: () => Promise<{ url: string; stop(): Promise<void> }>;
  };
  const started = await startPostgres();
  process.env['POSTERN_TEST_POSTGRES_URL'] = started.url;
  return started;
}

function temporariesIn(path: string): readonly string[] {
  return readdirSync(path).filter((name) => name.startsWith('postern-'));
}

async function leftBehind(path: string, excused: readonly string[]): Promise<boolean> {
  const remaining = () => temporariesIn(path).filter((name) => !excused.includes(name));
  // A test's own database stops, and deletes its files, a moment after the test.
  for (let tries = 0; tries < 100 && remaining().length > 0; tries += 1) await sleep(200);
  const left = remaining();
  if (left.length > 0) console.error(`\ntests left temporary directories behind: ${left.join(', ')}`);
  return left.length > 0;
}

function report({ passed, skipped, failures }: Outcome, fileCount = files.length): number {
  const summary = `${passed} passed, ${failures.length} failed, ${skipped} skipped, in ${fileCount} files`;
  console.log(`\n${summary}${failures.map((failure) => `\n  failed: ${failure}`).join('')}`);
  if (passed + failures.length === 0) console.error('no test ran');
  return failures.length > 0 || passed === 0 ? 1 : 0;
}

/**
 * Runs the files with failures again, one after another. Tests with real sockets, disks and processes can fail because
 * another test took the machine. A test that fails alone too fails the run; one that passes is listed as unstable.
 */
async function repeatAlone(first: Outcome, options: RunOptions): Promise<number> {
  const again = filesToRepeat(first, files, root);
  if (again.length === 0) return 1;
  console.log(`\nrunning again, alone: ${again.map((file) => relative(root, file)).join(', ')}\n`);
  const second = await runFiles(again, { ...options, concurrency: 1 });
  const code = report(second, again.length);
  if (code === 0) console.log(first.failures.map((failure) => `  unstable, please fix it: ${failure}`).join('\n'));
  return code;
}

function stop(message: string): never {
  console.error(`test: ${message}`);
  process.exit(2);
}
