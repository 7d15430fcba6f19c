import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeChecksums } from '../../../tools/release/checksums.ts';
import { MANUAL_PAGES, manualPages } from '../../../tools/release/manual-pages.ts';
import { signFile } from '../../../tools/release/signature.ts';

export interface FakeRelease {
  readonly folder: string;
  /** The name of the executable for the machine that the tests claim to be. */
  readonly executable: string;
  /** Has the hashes of what the folder contains now, signed again. */
  readonly seal: () => void;
}

export const EXECUTABLE = 'postern-linux-x64';

/**
 * A release whose executable is a script: it says its version, and answers `upgrade-check` with the exit code in
 * `verdict`. It ends with 9 if it gets a variable that Postern would reject.
 */
export function fakeRelease(folder: string, { version = '1.2.3', key = '', verdict = 0 } = {}): FakeRelease {
  mkdirSync(folder, { recursive: true });
  const program = join(folder, EXECUTABLE);
  const unknown = '/^POSTERN_(DOWNLOAD_URL|SIGNING_KEY|INSTALL_DIR|ALLOW_DOWNGRADE|ALLOW_UNSIGNED|REMOVE)=/';
  writeFileSync(
    program,
    `#!/bin/sh
env | awk '${unknown} { found = 1 } END { exit found }' || exit 9
case $1 in
  --version) echo ${version} ;;
  upgrade-check) echo "checked by ${version}: $*"; exit ${verdict} ;;
esac
# ${'x'.repeat(300_000)}
`,
  );
  chmodSync(program, 0o755);
  writeFileSync(join(folder, 'NOTES.md'), '# Notes\n');
  writeFileSync(join(folder, MANUAL_PAGES), manualPages());
  const seal = (): void => {
    const checksums = writeChecksums(folder);
    if (key !== '') {
      execFileSync('rm', ['-f', `${checksums}.sig`]);
      signFile(checksums, key);
    }
  };
  seal();
  return { folder, executable: program, seal };
}

/** An SSH key of the test's own. Returns the path of the private half. */
export function newKey(file: string): string {
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file]);
  return file;
}
