import { isOn, type ParsedFlags, usage } from '../../lib/flags.ts';
import type { Command } from '../command.ts';
import { type CommandSyntax, INVALID_USAGE, SETTINGS_EXIT_CODE } from '../command-syntax.ts';
import { parseCommand } from '../parse-command.ts';
import { serverSettings } from '../server-settings.ts';
import { settingsGroup } from '../settings-group.ts';
import { switchFlag } from '../shared-flags.ts';
import type { CaCertificate, CaPorts, WhichCa } from './ca-ports.ts';
import { trustHint } from './trust-hint.ts';

const SYNTAX: CommandSyntax = {
  name: 'ca',
  about:
    'Prints the internal CAs of this server, and how to trust them. Without a subcommand it prints how to trust them.',
  subcommands: [
    {
      name: 'print',
      about: "print the certificates of the internal CAs in PEM format, for curl --cacert or an agent's --root-ca",
      flags: [
        switchFlag(
          'domain-only',
          'Print only the CA that can issue certificates for the configured domain alone, suitable for the trust store of a machine.',
        ),
        switchFlag('other', 'Print only the CA for other hosts, addresses and the gateway.'),
      ],
    },
    {
      name: 'trust-hint',
      isDefault: true,
      about: 'print how to trust the CA: curl, Node.js, Debian, Fedora, macOS, Windows, Chrome, Firefox',
    },
  ],
  groups: [settingsGroup('to find the CAs')],
  examples: ['postern ca print > postern-ca.pem'],
  exitCodes: { 0: 'success', 1: 'failed', 2: INVALID_USAGE, ...SETTINGS_EXIT_CODE },
};

export function createCaCommand(ports: CaPorts): Command {
  return {
    syntax: SYNTAX,
    run: async (args, context) => {
      const parsed = parseCommand(SYNTAX, args);
      const { subcommand, flags } = parsed;
      const { config, sources } = await serverSettings(flags, context);
      const read = (which: WhichCa) => ports.read(config, which, sources.domain !== 'default');
      if (subcommand === 'trust-hint') {
        context.print(trustHint(onlyOf(await read('domain')), config.edge_listen[0].port));
      } else if (isOn(parsed, 'domain-only') && !isOn(parsed, 'other'))
        context.print(onlyOf(await read('domain')).pem.trimEnd());
      else for (const which of printed(parsed)) for (const { pem } of await read(which)) context.print(pem.trimEnd());
      return 0;
    },
  };
}

/** For the trust store of a machine: nobody should add the CA of a domain that the server no longer has. */
function onlyOf(found: readonly CaCertificate[]): CaCertificate {
  const [only, ...others] = found;
  if (only !== undefined && others.length === 0) return only;
  const domains = found.map(({ domain }) => domain).join(', ');
  throw usage(`this data directory has internal CAs for ${domains}: set --domain to the domain of the server`);
}

function printed(parsed: ParsedFlags): readonly ('domain' | 'other')[] {
  const [isDomain, isOther] = [isOn(parsed, 'domain-only'), isOn(parsed, 'other')];
  return isDomain === isOther ? ['domain', 'other'] : [isDomain ? 'domain' : 'other'];
}
