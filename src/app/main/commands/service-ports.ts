import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { isSea } from 'node:sea';
import { makeDirectories, writeDurably } from '../../../kit/process/durable-file.ts';
import type { ServicePorts } from '../../cli/service/service-ports.ts';

const PERMISSIONS = 0o777;
const OTHERS_MAY_READ = 0o004;
const OTHERS_MAY_ENTER = 0o001;

export const servicePorts: ServicePorts = {
  ownCommand: () => {
    const [, launcher = ''] = process.argv;
    // The real file: a link in a version manager's folder changes its target with the shell's version.
    return isSea() ? [process.execPath] : [process.execPath, realpathSync(resolve(launcher))];
  },
  isRoot: () => process.getuid?.() === 0,
  hasSystemd: () => existsSync('/run/systemd/system'),
  exists: existsSync,
  closedTo,
  read: (path) => {
    try {
      return readFileSync(path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
  },
  list: (folder) => (existsSync(folder) ? readdirSync(folder) : []),
  modeOf: (path) => (existsSync(path) ? statSync(path).mode & PERMISSIONS : null),
  write: async (path, text, mode) => {
    makeDirectories(dirname(path), 0o755);
    await writeDurably(existsSync(path) ? realpathSync(path) : path, text, mode);
  },
  remove: (path) => {
    const wasThere = existsSync(path);
    rmSync(path, { force: true });
    return wasThere;
  },
  systemctl: (args) => {
    const { status, stdout, stderr, error } = spawnSync('systemctl', args, { encoding: 'utf8' });
    return { isDone: status === 0, output: error?.message ?? `${stderr}${stdout}`.trim() };
  },
};

function closedTo(path: string): string | null {
  const real = realpathSync(path);
  if ((statSync(real).mode & OTHERS_MAY_READ) === 0) return real;
  for (let folder = dirname(real); ; folder = dirname(folder)) {
    if ((statSync(folder).mode & OTHERS_MAY_ENTER) === 0) return folder;
    if (folder === dirname(folder)) return null;
  }
}
