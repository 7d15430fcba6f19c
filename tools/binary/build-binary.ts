import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildConsoleIfStale } from '../build-console.ts';
import { consoleAssets, programAssets } from '../program-assets.ts';
import { bundleProgram, bundleWorker, WORKERS } from './bundle.ts';
import { signForMac } from './mac-signature.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/**
 * Without it V8 draws a seed, which ends up in the compiled code. It does not change which code V8 accepts (decision
 * 75).
 */
const SEED = '--random-seed=1';

export interface BinaryTarget {
  readonly platform: string;
  readonly arch: string;
  /** The Node of another platform. Without it: the one that runs this. */
  readonly node?: string;
}

/** Writes one executable with server, agent and command line into `folder`, for the machine that runs this. */
export function buildBinary(folder: string): string {
  return buildBinaries(folder, [{ platform: process.platform, arch: process.arch }])[0] ?? '';
}

/** The same for several platforms, and returns their paths. The program is bundled once. */
export function buildBinaries(folder: string, targets: readonly BinaryTarget[]): readonly string[] {
  const scratch = mkdtempSync(join(tmpdir(), 'postern-binary-'));
  try {
    buildConsoleIfStale();
    bundleProgram(join(scratch, 'program.mjs'));
    for (const path of WORKERS) bundleWorker(`src/${path}.ts`, join(scratch, 'workers', `${path}.js`));
    mkdirSync(folder, { recursive: true });
    return targets.map((target) => buildFrom(scratch, target, folder));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function buildFrom(scratch: string, { platform, arch, node }: BinaryTarget, folder: string): string {
  const output = join(folder, `postern-${platform}-${arch}`);
  const config = {
    // A relative path, since it is in the executable: two builds in two folders are equal.
    main: 'program.mjs',
    mainFormat: 'module',
    output: 'postern',
    disableExperimentalSEAWarning: true,
    // Compiled when it is built: a start takes half the time. Only the V8 that compiles it can tell what another
    // accepts.
    useCodeCache: node === undefined,
    ...(node !== undefined && { executable: node }),
    assets: Object.fromEntries([
      ['../package.json', join(root, 'package.json')],
      ...[...programAssets(), ...consoleAssets()].sort().map((path) => [path, join(root, 'src', path)]),
      ...WORKERS.map((path) => [`${path}.js`, join(scratch, 'workers', `${path}.js`)]),
    ]),
  };
  writeFileSync(join(scratch, 'sea.json'), JSON.stringify(config));
  execFileSync(process.execPath, [SEED, '--build-sea', 'sea.json'], {
    cwd: scratch,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const built = join(scratch, config.output);
  if (platform === 'darwin') signForMac(built);
  chmodSync(built, 0o755);
  // Replaced as a whole: a running copy of the old one keeps its file.
  execFileSync('mv', ['-f', built, output]);
  return output;
}
