import { configFlags, loadConfig } from '../../config/load.ts';
import { type FlagForm, parseFlags, usage } from '../../lib/flags.ts';
import { didYouMean } from '../../lib/near-match.ts';
import type { Command } from '../command.ts';
import type { CaPorts } from './ca-ports.ts';
import { trustHint } from './trust-hint.ts';

/** Subcommands, with the flags of their own. */
const SUBCOMMANDS: ReadonlyMap<string, ReadonlyMap<string, FlagForm>> = new Map([
  ['print', new Map([['other', 'switch']] as const)],
  ['trust-hint', new Map()],
]);

const HELP = `
Usage: postern ca SUBCOMMAND [FLAGS]

  print [--other]   print the certificate of the internal CA in PEM: the one for the configured domain, which clients can be
                    asked to trust; --other: the one that hosts outside of that domain are shown
  trust-hint        say how to trust it: curl, Node.js, Debian, Fedora, macOS, Windows, Chrome, Firefox

The CA is the one of the data directory and domain that the settings name, as for "postern server": --data-dir, --domain,
--config and so on.
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
      const ca = await ports.read(config, flags.get('other') === 'true' ? 'other' : 'domain');
      context.print(name === 'print' ? ca.pem.trimEnd() : trustHint(ca, config.domain));
      return 0;
    },
  };
}
