import { constants, type Stats } from 'node:fs';
import { access, glob, stat, statfs } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { type Finding, findingTable } from '../../../../kit/findings.ts';
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

interface At {
  readonly path: string;
}

interface WithMode extends At {
  readonly stats: Stats;
}

const { found, ok } = findingTable('data_dir', {
  data_dir_elsewhere: {
    level: 'hint',
    text: 'it is on the machine of the server: run this command there to check it',
  },
  data_dir_not_used: {
    level: 'warning',
    text: ({ path }: At) => `${path} does not exist: the running server uses another data directory`,
    advice:
      'set it with --data-dir or POSTERN_DATA_DIR, or run this command in the directory where the server was started',
  },
  data_dir_missing: {
    level: 'hint',
    text: ({ path }: At) => `${path} does not exist: the server creates it on its first start`,
  },
  data_dir_not_a_directory: {
    level: 'problem',
    text: ({ path }: At) => `${path} is not a directory`,
    advice: 'set another with data_dir',
  },
  data_dir_open_to_others: {
    level: 'problem',
    text: ({ path, stats }: WithMode) =>
      `${path} has mode ${modeText(stats)}: other users of this machine can enter it`,
    advice: ({ path }: At) => `chmod 700 ${path}`,
  },
  data_dir_unreadable: {
    level: 'warning',
    text: ({ path }: At) => `this user cannot read ${path}`,
    advice: "run this command as the server's user to check it",
  },
  data_dir_disk_full: {
    level: 'problem',
    text: ({ path }: At) => `the disk of ${path} is full: the server cannot store changes, and cannot start`,
    advice: 'free space there, or move data_dir to a larger disk',
  },
  secret_key_missing: {
    level: 'problem',
    text: ({ path }: At) => `${path} is missing: the secrets in the store cannot be decrypted`,
    advice: 'restore the file from your copy, or set the key with secret_key (POSTERN_SECRET_KEY)',
  },
  secret_open_to_others: {
    level: 'problem',
    text: ({ path, stats }: WithMode) => `${path} has mode ${modeText(stats)}, but contains secrets`,
    advice: ({ path }: At) => `chmod 600 ${path}`,
  },
  first_key_left: {
    level: 'hint',
    text: ({ path }: At) => `${path} still exists`,
    advice: 'move its content to a safe place and delete the file',
  },
});

/** The data directory of a server on this machine. */
export async function checkDataDir(
  { config, isLocal }: Pick<Installation, 'config' | 'isLocal'>,
  isAnswering: boolean,
): Promise<readonly Finding[]> {
  if (!isLocal) return [found('data_dir_elsewhere', null)];
  const path = resolve(config.data_dir);
  const stats = await stat(path).catch(() => null);
  if (stats === null) return [found(isAnswering ? 'data_dir_not_used' : 'data_dir_missing', { path })];
  if (!stats.isDirectory()) return [found('data_dir_not_a_directory', { path })];
  const findings = await checkFolder(path, stats, config.secret_key !== null);
  return findings.length > 0 ? findings : [ok(`only the server's user can access ${path}`)];
}

async function checkFolder(path: string, stats: Stats, hasKeySetting: boolean): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  if ((stats.mode & OTHERS) !== 0) findings.push(found('data_dir_open_to_others', { path, stats }));
  const mayUse = await access(path, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
  if (!mayUse) return [...findings, found('data_dir_unreadable', { path })];
  const { bavail, bsize } = await statfs(path);
  if (bavail * bsize < NEEDED_BYTES) findings.push(found('data_dir_disk_full', { path }));
  for await (const file of glob(SECRET_FILES, { cwd: path })) findings.push(...(await checkFile(join(path, file))));
  const key = join(path, 'secret.key');
  if (!hasKeySetting && !(await exists(key)) && (await exists(join(path, 'postern.sqlite'))))
    findings.push(found('secret_key_missing', { path: key }));
  return findings;
}

async function checkFile(path: string): Promise<readonly Finding[]> {
  const stats = await stat(path).catch(() => null);
  if (stats === null) return [];
  return [
    ...((stats.mode & OTHERS) === 0 ? [] : [found('secret_open_to_others', { path, stats })]),
    ...(FIRST_KEYS.includes(basename(path)) ? [found('first_key_left', { path })] : []),
  ];
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
