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

  backup FILE [--with-key]    write everything to FILE, also while the server runs. The secrets in it can be read with the secret
                              key only; --with-key adds that key, sealed under a passphrase
  restore FILE [--replace]    read FILE into an empty store; --replace empties it first. The server must be stopped
  rotate-key                  make a new secret key and seal every secret with it. The server must be stopped
  create-key [--scopes …]     make an API key without the API, for whoever is locked out. The server must be stopped if the
                              store is SQLite

The passphrase comes from --${PASSPHRASE_FLAG} FILE, from POSTERN_BACKUP_PASSPHRASE, or is asked for at a terminal.
The store is the one that the settings name, as for "postern server": --data-dir, --database-url, --config and so on.
`;

export function createStoreCommand(ports: StorePorts): Command {
  return {
    name: 'store',
    summary: 'back up, restore, re-key, or make an API key when locked out',
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
  const { records, revision } = await ports.backup(config, file, passphrase);
  context.print(`backed up ${records} records at revision ${revision} to ${file}`);
  if (!hasKey) {
    context.print(
      'The backup does not hold the secret key, and its secrets cannot be read without: keep the key as well, elsewhere.',
    );
  }
}

async function restore({ config, flags: given, positionals: [file = ''], context, ports }: Invocation): Promise<void> {
  const { records, revision } = await ports.restore(config, file, {
    isReplacing: given.get('replace') === 'true',
    readPassphrase: () => readPassphrase({ flags: given, context, isNew: false }),
  });
  context.print(`restored ${records} records, the store is at revision ${revision}`);
}

async function rotateKey({ config, context, ports }: Invocation): Promise<void> {
  const { keyId, records } = await ports.rotateKey(config);
  context.print(`sealed ${records} records with the new secret key ${keyId}`);
}

async function createKey({ config, flags: given, context, ports }: Invocation): Promise<void> {
  const scopes = given.get('scopes')?.split(',') ?? null;
  const description = given.get('description') ?? 'Made with postern store create-key';
  const { id, token } = await ports.createKey(config, { scopes, description });
  context.warn(`made API key ${id}. It is shown once:`);
  // Alone on standard output, so that it can be piped into a file or a secret store.
  context.print(token);
}

function flags(own: Readonly<Record<string, FlagForm>>): ReadonlyMap<string, FlagForm> {
  return new Map([...Object.entries(own), [PASSPHRASE_FLAG, 'value']]);
}
