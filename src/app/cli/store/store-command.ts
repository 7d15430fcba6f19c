import { access, constants, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { isDiskFull, whyUnreadable } from '../../../kit/error-text.ts';
import { isOn, usage } from '../../../kit/flags.ts';
import type { Config } from '../../settings/schema.ts';
import {
  type Command,
  type CommandContext,
  type CommandSyntax,
  INVALID_USAGE,
  parseCommand,
  SETTINGS_EXIT_CODE,
} from '../command.ts';
import { unwritable } from '../problem-text.ts';
import { PASSPHRASE_FLAG, readPassphrase } from '../read-passphrase.ts';
import { serverSettings, settingsGroup } from '../server-settings.ts';
import { fileFlag, switchFlag, textFlag } from '../shared-flags.ts';

interface Invocation {
  readonly config: Config;
  readonly flags: ReadonlyMap<string, string>;
  readonly positionals: readonly string[];
  readonly context: CommandContext;
  readonly ports: StorePorts;
}

const DEFAULT_DESCRIPTION = 'Created with postern store create-key';

const RUNS = { backup, restore, 'rotate-key': rotateKey, 'create-key': createKey };

const SYNTAX: CommandSyntax = {
  name: 'store',
  about: 'Works on the store of the server without the API.',
  subcommands: [
    {
      name: 'backup',
      operands: 'FILE',
      about:
        'write the whole store to FILE; the server may be running. Reading the secrets in it requires the secret key',
      flags: [switchFlag('with-key', 'Include the secret key, encrypted with a passphrase.')],
    },
    {
      name: 'restore',
      operands: 'FILE',
      about: 'restore FILE into an empty store. Stop the server first',
      flags: [switchFlag('replace', 'Empty the store first.')],
    },
    {
      name: 'rotate-key',
      about:
        'generate a new secret key and re-encrypt every secret with it. Stop the server first. If POSTERN_SECRET_KEY sets the key, set it to NEW,OLD first',
    },
    {
      name: 'create-key',
      about: 'create an API key without the API, if you are locked out. With SQLite, stop the server first',
      flags: [
        textFlag('scopes', 'SCOPE,…', 'Scopes of the key.', { default: 'all' }),
        textFlag('description', 'TEXT', 'Description of the key.', { default: DEFAULT_DESCRIPTION }),
      ],
    },
  ],
  flags: [
    fileFlag(PASSPHRASE_FLAG, 'File with the passphrase of a backup.', {
      default: 'POSTERN_BACKUP_PASSPHRASE, then a prompt on the terminal',
    }),
  ],
  groups: [settingsGroup('to find the store')],
  examples: [
    'postern store backup postern.backup',
    'postern store backup postern.backup --with-key',
    'postern store restore postern.backup --data-dir /var/lib/postern',
    'postern store create-key --scopes edges:read,requests:read',
  ],
  exitCodes: { 0: 'success', 1: 'failed', 2: INVALID_USAGE, ...SETTINGS_EXIT_CODE },
};

export function createStoreCommand(ports: StorePorts): Command {
  return {
    syntax: SYNTAX,
    run: async (args, context) => {
      const { subcommand, flags, positionals } = parseCommand(SYNTAX, args);
      const { operands } = SYNTAX.subcommands?.find(({ name }) => name === subcommand) ?? {};
      if (operands !== undefined && positionals.length !== 1)
        throw usage(`usage: postern store ${subcommand} ${operands} [FLAGS]`);
      const { config } = await serverSettings(flags, context);
      await RUNS[subcommand as keyof typeof RUNS]({ config, flags, positionals, context, ports });
      return 0;
    },
  };
}

async function backup({ config, flags: given, positionals: [file = ''], context, ports }: Invocation): Promise<void> {
  await requireWritable(file);
  const hasKey = isOn({ flags: given }, 'with-key');
  const passphrase = hasKey ? await readPassphrase({ flags: given, context, isNew: true }) : null;
  const { records, revision, keyId } = await ports.backup(config, file, passphrase).catch((cause: unknown) => {
    throw isDiskFull(cause) ? unwritable(file, cause) : cause;
  });
  context.print(`backed up ${records} records at revision ${revision} to ${file}`);
  context.print(
    hasKey
      ? `It contains the secret key ${keyId}, encrypted with the passphrase. Its secrets cannot be read without the passphrase.`
      : `It does not contain the secret key ${keyId}, which a restore requires: keep a copy of that key elsewhere. (--with-key includes it.)`,
  );
}

/** Before a passphrase is typed: a mistyped path is invalid usage. */
async function requireWritable(file: string): Promise<void> {
  const isDirectory = (await stat(file).catch(() => null))?.isDirectory() === true;
  if (isDirectory) throw usage(`cannot write ${file}: it is a directory. Name a file`);
  await access(dirname(resolve(file)), constants.W_OK).catch((cause: unknown) => {
    throw unwritable(file, cause);
  });
}

async function requireReadable(file: string): Promise<void> {
  const isDirectory = (await stat(file).catch(() => null))?.isDirectory() === true;
  if (isDirectory) throw usage(`cannot read ${file}: it is a directory. Name a file. Nothing was restored`);
  await access(file, constants.R_OK).catch((cause: unknown) => {
    throw usage(`cannot read ${file}: ${whyUnreadable(cause)}. Nothing was restored`);
  });
}

async function restore({ config, flags: given, positionals: [file = ''], context, ports }: Invocation): Promise<void> {
  await requireReadable(file);
  const { records, revision, missingKeyIds } = await ports.restore(config, file, {
    replace: isOn({ flags: given }, 'replace'),
    passphrase: () => readPassphrase({ flags: given, context, isNew: false }),
  });
  context.print(`restored ${records} records, the store is at revision ${revision}`);
  if (missingKeyIds.length > 0) {
    context.print(
      `The server cannot start without the secret key ${missingKeyIds.join(', ')}: set POSTERN_SECRET_KEY to it.`,
    );
  }
}

async function rotateKey({ config, context, ports }: Invocation): Promise<void> {
  const { keyId, resealed, droppableKeyIds } = await ports.rotateKey(config);
  context.print(`re-encrypted ${resealed} rows; the secret key is now ${keyId}`);
  if (droppableKeyIds.length > 0) {
    context.print(`No secret uses ${droppableKeyIds.join(', ')} now: remove it from POSTERN_SECRET_KEY.`);
  }
}

async function createKey({ config, flags: given, context, ports }: Invocation): Promise<void> {
  const scopes =
    given
      .get('scopes')
      ?.split(',')
      .map((scope) => scope.trim()) ?? null;
  const description = given.get('description') ?? DEFAULT_DESCRIPTION;
  const token = await ports.createKey(config, { scopes, description });
  context.warn('created an API key; it is shown only once:');
  // Alone on standard output, so that it can be piped into a file or a secret store.
  context.print(token);
}

/** Operations of the `store` commands, independent of the engine: `src/app/main` wires them. */
export interface StorePorts {
  /** With a passphrase the backup includes the secret key, sealed under it. */
  backup(config: Config, file: string, passphrase: string | null): Promise<BackupOutcome>;
  restore(config: Config, file: string, options: RestoreChoices): Promise<RestoreOutcome>;
  /** Creates a new secret key, or takes the first configured one, and seals everything with it. */
  rotateKey(config: Config): Promise<RotateOutcome>;
  /** Returns the token of the new API key. `scopes: null` grants all. */
  createKey(
    config: Config,
    key: { readonly scopes: readonly string[] | null; readonly description: string },
  ): Promise<string>;
}

export interface BackupOutcome {
  readonly records: number;
  readonly revision: number;
  readonly keyId: string;
}

export interface RestoreChoices {
  readonly replace: boolean;
  /** Called only if it is needed. */
  readonly passphrase: () => Promise<string>;
}

export interface RestoreOutcome {
  readonly records: number;
  readonly revision: number;
  /** Secret keys that the restored store needs to open. */
  readonly missingKeyIds: readonly string[];
}

export interface RotateOutcome {
  readonly keyId: string;
  readonly resealed: number;
  readonly droppableKeyIds: readonly string[];
}
