import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const PATIENCE_MS = 200_000;

/**
 * Builds something once for all test files of a run, which are separate processes: the first caller builds, the others
 * wait. `make` writes into `folder`. The runner deletes it with the run's temporary directory.
 */
export async function sharedBuild(name: string, make: (folder: string) => Promise<void>): Promise<string> {
  if (!basename(tmpdir()).startsWith('postern-run-')) return ownBuild(name, make);
  // Not "postern-": the runner takes that for something that a test left behind.
  const folder = join(tmpdir(), `shared-${name}`);
  try {
    mkdirSync(folder);
  } catch {
    return awaitBuild(name, folder);
  }
  try {
    await make(folder);
  } catch (error) {
    writeOutcome(folder, String(error));
    throw error;
  }
  writeOutcome(folder, '');
  return folder;
}

async function awaitBuild(name: string, folder: string): Promise<string> {
  const deadlineMs = performance.now() + PATIENCE_MS;
  while (!existsSync(join(folder, 'built'))) {
    if (existsSync(join(folder, 'failed'))) throw new Error(`another test file failed to build ${name}`);
    if (performance.now() > deadlineMs) throw new Error(`another test file has been building ${name} for too long`);
    await sleep(100);
  }
  return folder;
}

function writeOutcome(folder: string, problem: string): void {
  writeFileSync(join(folder, 'outcome'), problem);
  renameSync(join(folder, 'outcome'), join(folder, problem === '' ? 'built' : 'failed'));
}

/** A file that runs without the runner. */
async function ownBuild(name: string, make: (folder: string) => Promise<void>): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), `postern-${name}-`));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  await make(folder);
  return folder;
}
