import { wrapText } from '../../lib/wrap-text.ts';
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
      'Exposes a local HTTP service at a public https address, or at an http address with --scheme http. ADDR is a port, host:port or a URL.',
    examples: [
      'postern http 3000',
      'postern http --domain app.example.com --compression https://localhost:8443 --upstream-ca service-ca.pem',
      'postern http 3000 --oidc-issuer https://accounts.example.com --oidc-client-id my-app --oidc-client-secret @secret',
      'postern http 3000 --allow-cidr 192.0.2.0/24 --mutual-tls-ca clients-ca.pem',
    ],
  },
  tcp: {
    usage: 'postern tcp ADDR [FLAGS]',
    about: 'Exposes a local TCP service on a port of the server. ADDR is a port or host:port.',
    examples: ['postern tcp 22', 'postern tcp --port 20022 db.internal:5432 --allow-cidr 192.0.2.0/24'],
  },
  tls: {
    usage: 'postern tls ADDR [FLAGS]',
    about:
      'Exposes a local TLS service under a public host name. The server forwards connections by SNI and cannot decrypt them. ADDR is a port or host:port.',
    examples: ['postern tls --domain mail.example.com 993'],
  },
  tunnel: {
    usage: 'postern tunnel --label NAME=VALUE ADDR [FLAGS]',
    about:
      'Adds a local HTTP service to every tunnel group backend whose labels it matches. The tunnel has no public address of its own: edges with a route to the backend serve it. ADDR is a port, host:port or a URL.',
    examples: ['postern tunnel --label app=web --label zone=a 3000'],
  },
};

const HELP_WIDTH = 80;
const ACCESS = wrapped(
  'The server address comes from --server-addr, POSTERN_SERVER_ADDR, or server_addr in the configuration file. The token comes from --authtoken-file, --authtoken, POSTERN_AUTHTOKEN, or authtoken in the configuration file. For a server on this machine, the agent also finds the token (first-authtoken) and the CA of the server in POSTERN_DATA_DIR or ./postern-data.',
);
/** For these switches only the negated form is listed. */
const ON_BY_DEFAULT: ReadonlySet<string> = new Set(['inspect', 'remote-management']);
const EXIT_CODES = 'Exit codes: 0 stopped, 1 failed (invalid token, all tunnels rejected), 2 invalid usage.';
const CTRL_C = 'Ctrl-C stops the agent after open requests finish; a second Ctrl-C stops it immediately.';

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
      'Starts the named tunnels of the configuration file, or all of them. The default file is ./postern.yml, then $XDG_CONFIG_HOME/postern/postern.yml or ~/.config/postern/postern.yml.',
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
    wrapped("Checks an agent's configuration file without connecting to a server."),
    '  check   list the tunnels that "postern start --all" would start, or all errors with their lines',
    flagTable(flags),
    `A minimal file:\n\n    version: 2\n    tunnels:\n      web:\n        proto: http\n        addr: 3000`,
    'Exit codes: 0 the file is valid, 1 the file is invalid, 2 invalid usage.',
  ]);
}

function sections(parts: readonly string[]): string {
  return `\n${parts.join('\n\n')}\n`;
}

function flagTable(flags: readonly Flag[]): string {
  const names = flags.map(({ name, hint }) => `--${ON_BY_DEFAULT.has(name) ? 'no-' : ''}${name} ${hint}`.trim());
  const width = Math.max(...names.map((name) => name.length)) + 2;
  const indent = ' '.repeat(width + 2);
  return flags
    .map(({ description }, index) => {
      const lines = wrapText(description, HELP_WIDTH - indent.length);
      return `  ${names[index]?.padEnd(width)}${lines.join(`\n${indent}`)}`;
    })
    .join('\n');
}

function wrapped(text: string): string {
  return wrapText(text, HELP_WIDTH).join('\n');
}
