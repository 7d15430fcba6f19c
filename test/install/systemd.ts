import { spawnSync } from 'node:child_process';

/** Why systemd's own checks cannot run here; null if they can. The runner installs them on Debian. */
export function systemdMissing(): string | null {
  const { status } = spawnSync('systemd-analyze', ['--version'], { stdio: 'ignore' });
  return status === 0 ? null : 'NOT CHECKED: systemd-analyze is missing (Debian: apt-get install systemd)';
}

/** The words of a unit's ExecStart, unquoted as systemd does it. */
export function execStart(unit: string): readonly string[] {
  const [, line = ''] = /^ExecStart=(.*)$/m.exec(unit) ?? [];
  const words = Array.from(line.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g), ([, quoted, plain]) => plain ?? quoted ?? '');
  const plain = words.map((word) => word.replaceAll(/\\(.)/g, '$1').replaceAll('%%', '%'));
  return plain.map((word, index) => (index === 0 ? word : word.replaceAll('$$', '$')));
}
