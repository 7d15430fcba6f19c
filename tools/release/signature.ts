import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

/** What the signature is for: one that was made for another purpose does not count. install.sh has the same word. */
export const SIGNATURE_NAMESPACE = 'postern-release';

/**
 * The public half of the key at `keyFile`, without its comment. The file may itself be the public half of a key in an
 * agent.
 */
export function publicKeyOf(keyFile: string): string {
  if (!existsSync(keyFile)) throw new Error(`POSTERN_RELEASE_KEY: ${keyFile} does not exist`);
  const text = keyFile.endsWith('.pub')
    ? readFileSync(keyFile, 'utf8')
    : execFileSync('ssh-keygen', ['-y', '-f', keyFile], { encoding: 'utf8', stdio: ['inherit', 'pipe', 'inherit'] });
  const [type, key] = text.trim().split(/\s+/);
  if (type === undefined || key === undefined) throw new Error(`POSTERN_RELEASE_KEY: ${keyFile} has no public key`);
  return `${type} ${key}`;
}

/** Writes FILE.sig with OpenSSH, which asks for a passphrase if the key has one. */
export function signFile(file: string, keyFile: string): void {
  const args = ['-Y', 'sign', '-q', '-f', keyFile, '-n', SIGNATURE_NAMESPACE, file];
  execFileSync('ssh-keygen', args, { stdio: ['inherit', 'ignore', 'inherit'] });
}
