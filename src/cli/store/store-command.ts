import { configFlags, loadConfig } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import { type FlagForm, parseFlags, usage } from '../../lib/flags.ts';
import { didYouMean } from '../../lib/near-match.ts';
import type { Command, CommandContext } from '../command.ts';
import { PASSPHRASE_FLAG, readPassphrase } from '../read-passphrase.ts';
import type { StorePorts } from './store-ports.ts';

interface Invocation {
  readonly config: Config;
  readonly flags: ReadonlyMap<string, string>;
  readonly positionals: readonly string[];
  readonly context: CommandContext;
  readonly ports: StorePorts;
}

interface Subcommand {
  readonly usage: string;
  readonly positionalCount: number;
  readonly flags: ReadonlyMap<string, FlagForm>;
  run(invocation: Invocation): Promise<void>;
}

const SUBCOMMANDS: ReadonlyMap<string, Subcommand> = new Map([
  [
    'backup',
    { usage: 'backup FILE [--with-key]', positionalCount: 1, flags: flags({ 'with-key': 'switch' }), run: backup },
  ],
  [
    'restore',
    { usage: 'restore FILE [--replace]', positionalCount: 1, flags: flags({ replace: 'switch' }), run: restore },
  ],
  ['rotate-key', { usage: 'rotate-key', positionalCount: 0, flags: flags({}), run: rotateKey }],
  [
    'create-key',
    {
      usage: 'create-key [--scopes SCOPE,SCOPE] [--description TEXT]',
      positionalCount: 0,
      flags: flags({ scopes: 'value', description: 'value' }),
      run: createKey,
    },
  ],
]);

const HELP = `
Usage: postern store SUBCOMMAND [FLAGS]

  backup FILE [--with-key]    write the whole store to FILE; the server may be running. Reading the secrets in it requires the
                              secret key; --with-key includes that key, encrypted with a passphrase
  restore FILE [--replace]    restore FILE into an empty store; --replace empties the store first. Stop the server first
  rotate-key                  generate a new secret key and re-encrypt every secret with it. Stop the server first. If
                              POSTERN_SECRET_KEY sets the key, set it to NEW,OLD first
  create-key [--scopes …]     create an API key without the API, if you are locked out. With SQLite, stop the server first

The passphrase comes from --${PASSPHRASE_FLAG} FILE, POSTERN_BACKUP_PASSPHRASE, or a prompt on the terminal.
The command takes the settings of "postern server" (--data-dir, --database-url, --config and so on) to find the store.
`;

export function createStoreCommand(ports: StorePorts): Command {
  return {
    help: HELP,
    run: async ([name = '', ...args], context) => {
      const subcommand = SUBCOMMANDS.get(name);
      if (subcommand === undefined) {
        throw usage(
          `unknown subcommand ${JSON.stringify(name)}.${didYouMean(name, SUBCOMMANDS.keys())} See postern store --help`,
        );
      }
      const { flags: given, positionals } = parseFlags(args, new Map([...configFlags, ...subcommand.flags]));
      if (positionals.length !== subcommand.positionalCount) throw usage(`usage: postern store ${subcommand.usage}`);
      const { config } = loadConfig({ flags: given, env: context.env });
      await subcommand.run({ config, flags: given, positionals, context, ports });
      return 0;
    },
  };
}

async function backup({ config, flags: given, positionals: [file = ''], context, ports }: Invocation): Promise<void> {
  const hasKey = given.get('with-key') === 'true';
  const passphrase = hasKey ? await readPassphrase({ flags: given, context, isNew: true }) : null;
  const { records, revision, keyId } = await ports.backup(config, file, passphrase);
  context.print(`backed up ${records} records at revision ${revision} to ${file}`);
  context.print(
    hasKey
      ? `It contains the secret key ${keyId}, encrypted with the passphrase. Its secrets cannot be read without the passphrase.`
      : `It does not contain the secret key ${keyId}, which a restore requires: keep a copy of that key elsewhere. (--with-key includes it.)`,
  );
}

async function restore({ config, flags: given, positionals: [file = ''], context, ports }: Invocation): Promise<void> {
  const { records, revision, missingKeyIds } = await ports.restore(config, file, {
    replace: given.get('replace') === 'true',
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
  const description = given.get('description') ?? 'Created with postern store create-key';
  const token = await ports.createKey(config, { scopes, description });
  context.warn('created an API key; it is shown only once:');
  // Alone on standard output, so that it can be piped into a file or a secret store.
  context.print(token);
}

function flags(own: Readonly<Record<string, FlagForm>>): ReadonlyMap<string, FlagForm> {
  return new Map([...Object.entries(own), [PASSPHRASE_FLAG, 'value']]);
}
