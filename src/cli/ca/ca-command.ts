import { configFlags, loadConfig } from '../../config/load.ts';
import { type FlagForm, parseFlags, usage } from '../../lib/flags.ts';
import { didYouMean } from '../../lib/near-match.ts';
import type { Command } from '../command.ts';
import type { CaPorts } from './ca-ports.ts';
import { trustHint } from './trust-hint.ts';

/** Subcommands with their own flags. */
const SUBCOMMANDS: ReadonlyMap<string, ReadonlyMap<string, FlagForm>> = new Map([
  [
    'print',
    new Map([
      ['domain-only', 'switch'],
      ['other', 'switch'],
    ] as const),
  ],
  ['trust-hint', new Map()],
]);

const HELP = `
Usage: postern ca SUBCOMMAND [FLAGS]

  print             print the certificates of the internal CAs in PEM format, for curl --cacert or an agent's --root-ca
    --domain-only   print only the CA that can issue certificates for the configured domain alone, suitable for the trust
                    store of a machine
    --other         print only the CA for other hosts, addresses and the tunnel listener
  trust-hint        print how to trust the CA: curl, Node.js, Debian, Fedora, macOS, Windows, Chrome, Firefox

The command takes the settings of "postern server" (--data-dir, --domain, --config and so on) to find the CAs.
`;

export function createCaCommand(ports: CaPorts): Command {
  return {
    help: HELP,
    run: async ([name = '', ...args], context) => {
      const ownFlags = SUBCOMMANDS.get(name);
      if (ownFlags === undefined) {
        throw usage(
          `unknown subcommand ${JSON.stringify(name)}.${didYouMean(name, SUBCOMMANDS.keys())} See postern ca --help`,
        );
      }
      const { flags, positionals } = parseFlags(args, new Map([...configFlags, ...ownFlags]));
      if (positionals.length > 0) throw usage(`postern ca ${name} takes no arguments`);
      const { config } = loadConfig({ flags, env: context.env });
      if (name === 'trust-hint') context.print(trustHint(await ports.read(config, 'domain'), config.domain));
      else for (const which of printed(flags)) context.print((await ports.read(config, which)).pem.trimEnd());
      return 0;
    },
  };
}

function printed(flags: ReadonlyMap<string, unknown>): readonly ('domain' | 'other')[] {
  const isDomain = flags.get('domain-only') === 'true';
  const isOther = flags.get('other') === 'true';
  return isDomain === isOther ? ['domain', 'other'] : [isDomain ? 'domain' : 'other'];
}
