import type { Flag } from '../api/flag.ts';
import type { TunnelCommandName } from './agent-flags.ts';

interface CommandText {
  readonly usage: string;
  readonly about: string;
  readonly examples: readonly string[];
}

const TUNNEL_TEXTS: Readonly<Record<TunnelCommandName, CommandText>> = {
  http: {
    usage: 'postern http ADDR [FLAGS]',
    about:
      'Gives a local HTTP service a public address, on https unless --scheme http. ADDR is a port, host:port or a URL.',
    examples: [
      'postern http 3000',
      'postern http --domain app.example.com --compression https://localhost:8443 --upstream-ca service-ca.pem',
      'postern http 3000 --oidc-issuer https://accounts.example.com --oidc-client-id my-app --oidc-client-secret @secret',
      'postern http 3000 --allow-cidr 192.0.2.0/24 --mutual-tls-ca clients-ca.pem',
    ],
  },
  tcp: {
    usage: 'postern tcp ADDR [FLAGS]',
    about: "Gives a local TCP service a port of the server's. ADDR is a port or host:port.",
    examples: ['postern tcp 22', 'postern tcp --port 20022 db.internal:5432 --allow-cidr 192.0.2.0/24'],
  },
  tls: {
    usage: 'postern tls ADDR [FLAGS]',
    about:
      'Gives a local service that speaks TLS a public name. The server passes connections on by their name and cannot read them. ADDR is a port or host:port.',
    examples: ['postern tls --domain mail.example.com 993'],
  },
  tunnel: {
    usage: 'postern tunnel --label NAME=VALUE ADDR [FLAGS]',
    about:
      'Makes a local HTTP service a member of every tunnel group backend whose labels it has. It has no address of its own: the edges whose routes lead to the backend have. ADDR is a port, host:port or a URL.',
    examples: ['postern tunnel --label app=web --label zone=a 3000'],
  },
};

const ACCESS = `The server is the one of --server-addr, POSTERN_SERVER_ADDR, or server_addr in the configuration file. The token comes from
--authtoken-file, --authtoken, POSTERN_AUTHTOKEN, authtoken in the file or, for a server on this machine, from the file
first-authtoken in POSTERN_DATA_DIR or ./postern-data, where the CA of its certificate is found as well.`;
/** For these switches only the negated form is listed. */
const ON_BY_DEFAULT: ReadonlySet<string> = new Set(['inspect', 'remote-management']);
const EXIT_CODES = 'Exit codes: 0 stopped, 1 failed (a wrong token, every tunnel refused), 2 wrong usage.';
const CTRL_C = 'Ctrl-C lets what is under way finish; a second one ends at once.';

export function tunnelHelp(command: TunnelCommandName, own: readonly Flag[], run: readonly Flag[]): string {
  const { usage, about, examples } = TUNNEL_TEXTS[command];
  return sections([
    `Usage: ${usage}`,
    wrapped(about),
    flagTable(own),
    `Server and output:\n${flagTable(run)}`,
    ACCESS,
    `Examples:\n${examples.map((line) => `    ${line}`).join('\n')}`,
    `${CTRL_C}\n${EXIT_CODES}`,
  ]);
}

export function startHelp(own: readonly Flag[], run: readonly Flag[]): string {
  return sections([
    'Usage: postern start NAME… [FLAGS]\n       postern start --all [FLAGS]',
    wrapped(
      'Opens tunnels of the configuration file: those that are named, or all. The file is ./postern.yml, $XDG_CONFIG_HOME/postern/postern.yml or ~/.config/postern/postern.yml unless --config names another.',
    ),
    flagTable(own),
    `Server and output:\n${flagTable(run)}`,
    ACCESS,
    `${CTRL_C}\n${EXIT_CODES}`,
  ]);
}

export function configHelp(flags: readonly Flag[]): string {
  return sections([
    'Usage: postern config check [--config FILE]',
    wrapped("Looks at an agent's configuration file without connecting to anything."),
    '  check   say what "postern start --all" would open, or everything that is wrong, with lines',
    flagTable(flags),
    `The smallest file:\n\n    version: 2\n    tunnels:\n      web:\n        proto: http\n        addr: 3000`,
    'Exit codes: 0 the file is good, 1 it is not, 2 wrong usage.',
  ]);
}

function sections(parts: readonly string[]): string {
  return `\n${parts.join('\n\n')}\n`;
}

function flagTable(flags: readonly Flag[]): string {
  const names = flags.map(({ name, hint }) => `--${ON_BY_DEFAULT.has(name) ? 'no-' : ''}${name} ${hint}`.trim());
  const width = Math.max(...names.map((name) => name.length)) + 2;
  return flags.map(({ description }, index) => `  ${names[index]?.padEnd(width)}${description}`).join('\n');
}

function wrapped(text: string): string {
  return text.replaceAll(/(.{1,118})(?:\s|$)/g, '$1\n').trimEnd();
}
