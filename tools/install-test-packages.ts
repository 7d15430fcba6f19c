import { execFileSync, spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Programs that tests use and npm cannot provide, with their Debian packages. */
const PACKAGES: Readonly<Record<string, string>> = {
  curl: 'curl',
  jq: 'jq',
  openssl: 'openssl',
  strace: 'strace',
  python3: 'python3',
  'systemd-notify': 'systemd',
  chromium: 'chromium',
  pebble: 'pebble',
  named: 'bind9',
  mandoc: 'mandoc',
  faketime: 'faketime',
  haproxy: 'haproxy',
  caddy: 'caddy',
  nginx: 'nginx-light libnginx-mod-stream',
  certutil: 'libnss3-tools',
  'ssh-keygen': 'openssh-client',
  wget: 'wget',
  busybox: 'busybox',
  shellcheck: 'shellcheck',
  debootstrap: 'debootstrap',
  'systemd-nspawn': 'systemd-container',
};

/**
 * Installs missing packages if this is Debian and we are root; otherwise prints what to install. Tests fail for what
 * stays missing.
 */
export function installTestPackages(): void {
  const missing = Object.keys(PACKAGES).filter((program) => !isOnPath(program));
  if (missing.length === 0) return;
  const packages = missing.flatMap((program) => (PACKAGES[program] ?? program).split(' '));
  if (process.platform !== 'linux' || process.getuid?.() !== 0 || !isOnPath('apt-get')) {
    console.error(
      `\n!! Tests need programs that are not installed: ${missing.join(', ')}. Install them first (Debian: apt-get install ${packages.join(' ')}).\n`,
    );
    return;
  }
  console.log(`installing for the tests: ${packages.join(' ')}`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  // A stale or absent package list is the usual reason for a failure, so it is updated first; its own failure shows
  // below.
  spawnSync('apt-get', ['-qq', 'update'], { env, stdio: 'ignore' });
  try {
    execFileSync('apt-get', ['-qq', '-y', 'install', '--no-install-recommends', ...packages], {
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
  } catch (error) {
    const reason = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : String(error);
    console.error(`\n!! apt-get could not install ${packages.join(', ')}: ${reason}\n`);
  }
}

function isOnPath(program: string): boolean {
  // nginx is not on the path of ordinary users.
  return [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin'].some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
