import { execFileSync, spawnSync } from 'node:child_process';

/**
 * Programs that give an executable a signature without an identity ("ad hoc"): of macOS, and of the crate
 * apple-codesign.
 */
const SIGNERS: Readonly<Record<string, readonly string[]>> = {
  codesign: ['--force', '--sign', '-'],
  rcodesign: ['sign'],
};

/** Apple silicon runs no executable without a signature. Intel Macs do. */
export function canSignForMac(): boolean {
  return findSigner() !== undefined;
}

/** The signature of Node no longer fits, and `--build-sea` removes it. */
export function signForMac(file: string): void {
  const signer = findSigner();
  if (signer === undefined) return;
  execFileSync(signer, [...(SIGNERS[signer] ?? []), file], { stdio: ['ignore', 'ignore', 'inherit'] });
}

function findSigner(): string | undefined {
  return Object.keys(SIGNERS).find(
    (program) => spawnSync(program, ['--help'], { stdio: 'ignore' }).error === undefined,
  );
}
