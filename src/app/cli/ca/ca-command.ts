import { X509Certificate } from 'node:crypto';
import { isOn, type ParsedFlags, usage } from '../../../kit/flags.ts';
import { shellWord } from '../../../kit/text/terminal-text.ts';
import type { Config } from '../../settings/schema.ts';
import { type Command, type CommandSyntax, INVALID_USAGE, parseCommand, SETTINGS_EXIT_CODE } from '../command.ts';
import { serverSettings, settingsGroup } from '../server-settings.ts';
import { switchFlag } from '../shared-flags.ts';

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

/** Instructions to trust the CA, as lines to copy. */
export function trustHint({ file, pem, domain }: CaCertificate, edgePort: number): string {
  const { fingerprint256 } = new X509Certificate(pem);
  const path = shellWord(file);
  const name = `postern-${domain}`;
  return `
The internal CA of this server is
  ${file}
  SHA-256 ${fingerprint256}
It can issue certificates only for ${domain} and names below it. Copy this file, never the key beside it.

curl, for one request
  curl --cacert ${path} https://app.${domain}${edgePort === 443 ? '' : `:${edgePort}`}/

Node.js
  NODE_EXTRA_CA_CERTS=${path} node app.js

Debian, Ubuntu
  sudo cp ${path} /usr/local/share/ca-certificates/${name}.crt && sudo update-ca-certificates

Fedora, RHEL
  sudo trust anchor ${path}

macOS
  sudo security add-trusted-cert -d -r trustRoot -k /Library/Keychains/System.keychain ${path}

Windows, in an administrator terminal, with a copy of the file
  certutil -addstore -f ROOT certificate.pem

Chrome and Chromium on Linux (package libnss3-tools)
  certutil -d sql:"$HOME/.pki/nssdb" -A -t C,, -n ${name} -i ${path}

Firefox
  Settings, Privacy & Security, View Certificates, Authorities, Import: choose the file, select "identify websites"
`.trim();
}

/** Access of the `ca` commands to the internal CAs: `src/app/main` wires it to the data directory. */
export interface CaPorts {
  /**
   * `isDomainNamed`: false if the domain is only the default. The data directory then says which one the server has, or
   * had: one CA for each domain.
   */
  read(config: Config, which: WhichCa, isDomainNamed: boolean): Promise<readonly CaCertificate[]>;
}

/** `domain`: the CA that can issue certificates for the configured domain only. `other`: the CA for all other hosts. */
export type WhichCa = 'domain' | 'other';

export interface CaCertificate {
  /** Absolute path of the PEM. */
  readonly file: string;
  readonly pem: string;
  /** The domain of the server. */
  readonly domain: string;
}
