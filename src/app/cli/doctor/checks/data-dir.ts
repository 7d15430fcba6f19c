import { constants, type Stats } from 'node:fs';
import { access, glob, stat, statfs } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { type Finding, type Findings, findingsOf } from '../../../../control/checks/check.ts';
import type { Installation } from '../installation.ts';

/** Files with secrets: readable by the server's user only. */
const SECRET_FILES = [
  'secret.key',
  'postern.sqlite*',
  'first-api-key',
  'first-authtoken',
  'first-administrator',
  'internal-ca/*/*key*',
];
const FIRST_KEYS = ['first-api-key', 'first-authtoken', 'first-administrator'];
const OTHERS = 0o077;
/** For a page of the database, its log and a few small files. */
const NEEDED_BYTES = 1_048_576;

/** The data directory of a server on this machine. */
export async function checkDataDir(
  { config, isLocal }: Pick<Installation, 'config' | 'isLocal'>,
  isAnswering: boolean,
): Promise<readonly Finding[]> {
  const found = findingsOf('data_dir');
  const folder = resolve(config.data_dir);
  if (!isLocal) {
    found.hint('it is on the machine of the server: run this command there to check it');
    return found.list;
  }
  const stats = await stat(folder).catch(() => null);
  if (stats === null && isAnswering) {
    found.warning(
      `${folder} does not exist: the running server uses another data directory`,
      'set it with --data-dir or POSTERN_DATA_DIR, or run this command in the directory where the server was started',
    );
  } else if (stats === null) found.hint(`${folder} does not exist: the server creates it on its first start`);
  else if (!stats.isDirectory()) found.problem(`${folder} is not a directory`, 'set another with data_dir');
  else await checkFolder(folder, stats, config.secret_key !== null, found);
  return found.list;
}

async function checkFolder(folder: string, stats: Stats, hasKeySetting: boolean, found: Findings): Promise<void> {
  const before = found.list.length;
  if ((stats.mode & OTHERS) !== 0) {
    found.problem(
      `${folder} has mode ${modeText(stats)}: other users of this machine can enter it`,
      `chmod 700 ${folder}`,
    );
  }
  const mayUse = await access(folder, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
  if (!mayUse) {
    found.warning(`this user cannot read ${folder}`, "run this command as the server's user to check it");
    return;
  }
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize < NEEDED_BYTES)
    found.problem(
      `the disk of ${folder} is full: the server cannot store changes, and cannot start`,
      'free space there, or move data_dir to a larger disk',
    );
  for await (const file of glob(SECRET_FILES, { cwd: folder })) await checkFile(join(folder, file), found);
  const hasKey = hasKeySetting || (await exists(join(folder, 'secret.key')));
  if (!hasKey && (await exists(join(folder, 'postern.sqlite')))) {
    found.problem(
      `${join(folder, 'secret.key')} is missing: the secrets in the store cannot be decrypted`,
      'restore the file from your copy, or set the key with secret_key (POSTERN_SECRET_KEY)',
    );
  }
  if (found.list.length === before) found.ok(`only the server's user can access ${folder}`);
}

async function checkFile(path: string, found: Findings): Promise<void> {
  const stats = await stat(path).catch(() => null);
  if (stats === null) return;
  if ((stats.mode & OTHERS) !== 0) {
    found.problem(`${path} has mode ${modeText(stats)}, but contains secrets`, `chmod 600 ${path}`);
  }
  if (FIRST_KEYS.includes(basename(path)))
    found.hint(`${path} still exists`, 'move its content to a safe place and delete the file');
}

function modeText({ mode }: Stats): string {
  return (mode & 0o777).toString(8).padStart(4, '0');
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
