import type { Flag } from '../../../kit/flags.ts';
import { type CommandSyntax, type FlagGroup, INVALID_USAGE } from '../command.ts';
import { fileFlag, switchFlag, textFlag } from '../shared-flags.ts';
import { moduleFlags, moduleForms } from './module-forms.ts';

export type TunnelCommandName = 'http' | 'tcp' | 'tls' | 'tunnel';

export const LOG_FORMATS = ['text', 'json'] as const;
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;

const CONFIG = fileFlag('config', 'Configuration file.', {
  default: './postern-agent.yaml, then $XDG_CONFIG_HOME/postern/agent.yaml, then ~/.config/postern/agent.yaml',
});

/** Flags for reaching the server and for output. */
export const runFlags: readonly Flag[] = [
  textFlag('server-addr', 'HOST:PORT', 'Gateway of the server: where it accepts agents.', {
    default: '127.0.0.1:7444',
  }),
  textFlag('authtoken', 'TOKEN', 'Agent token. --authtoken-file reads it from a file.', { isSecret: true }),
  fileFlag('authtoken-file', 'File with the agent token; - reads standard input.'),
  fileFlag('root-ca', "PEM file with the CA of the server's certificate, used instead of the system's CAs.", {
    kind: 'repeated',
  }),
  CONFIG,
  {
    ...switchFlag('remote-management', 'Reject stop, restart and update commands from the server.'),
    isOnByDefault: true,
  },
  { ...switchFlag('inspect', 'Do not start the inspector.'), isOnByDefault: true },
  textFlag('inspect-addr', 'HOST:PORT', 'Listen address of the inspector.', {
    default: '127.0.0.1:7040, or the next free port',
  }),
  textFlag('log-format', LOG_FORMATS.join('|'), 'Print log lines instead of the live view.', {
    choices: LOG_FORMATS,
    default: 'text if stdout is not a terminal',
  }),
  textFlag('log-level', LOG_LEVELS.join('|'), 'Minimum level to print.', { choices: LOG_LEVELS, default: 'info' }),
];

const NAME = textFlag('name', 'NAME', 'Name of the tunnel in the output of this agent.', {
  default: 'the name of the command',
});
const METADATA = textFlag('metadata', 'TEXT', 'Any text. The API shows it with the tunnel and its session.');
const DOMAIN = textFlag('domain', 'HOST', 'Public host name.', {
  default: "a generated name below the server's domain",
});
const HOST_HEADER = textFlag(
  'host-header',
  'HOST',
  'Host header for the local service: preserve, rewrite, or a host.',
  {
    default: 'preserve',
  },
);
const UPSTREAM: readonly Flag[] = [
  fileFlag('upstream-ca', 'PEM file with the CA of the local service, for https.', { kind: 'repeated' }),
  switchFlag('upstream-insecure', 'Accept any certificate of the local service, for https.'),
];

const FILES: readonly Flag[] = [
  textFlag('files', 'FOLDER', 'Folder of this machine to serve, instead of ADDR.'),
  textFlag(
    'fallback',
    'FILE',
    'File of the folder that is sent for every path without one, for applications of one page.',
  ),
  textFlag('not-found-page', 'FILE', 'File of the folder that is sent with 404.'),
  switchFlag('listing', 'Show the names in folders that have no index.html.'),
];

const TUNNEL_FLAGS: Readonly<Record<TunnelCommandName, () => readonly Flag[]>> = {
  http: () => [
    textFlag('scheme', 'https|http', 'Scheme of the public address.', {
      choices: ['https', 'http'],
      default: 'https',
    }),
    DOMAIN,
    NAME,
    METADATA,
    HOST_HEADER,
    ...UPSTREAM,
    ...FILES,
  ],
  tcp: () => [
    textFlag('port', 'PORT', 'Public port.', { kind: 'number', default: "a free port from the server's tcp_ports" }),
    NAME,
    METADATA,
    ...moduleFlags('tcp'),
  ],
  tls: () => [DOMAIN, NAME, METADATA, ...moduleFlags('tls')],
  tunnel: () => [
    textFlag('label', 'NAME=VALUE', 'Label of the tunnel. Tunnel group backends select tunnels by label.', {
      kind: 'list',
      isRequired: true,
    }),
    NAME,
    METADATA,
    HOST_HEADER,
    ...UPSTREAM,
    ...FILES,
  ],
};

/**
 * Flags of modules, in the order in which people look for them. Tunnels without requests have few, among their own
 * flags.
 */
export function tunnelGroups(command: TunnelCommandName): readonly FlagGroup[] {
  if (command !== 'http') return [];
  const flagsIn = (group?: 'entry' | 'provider'): readonly Flag[] => moduleFlags('http', (each) => each === group);
  return [
    { title: 'Who may enter', flags: flagsIn('entry') },
    { title: 'Login at another provider', flags: flagsIn('provider'), isBrief: true },
    {
      title: 'Requests and responses',
      flags: flagsIn(),
      isBrief: true,
    },
  ];
}

export function tunnelFlags(command: TunnelCommandName): readonly Flag[] {
  return TUNNEL_FLAGS[command]();
}

const startFlags: readonly Flag[] = [
  switchFlag('all', 'Start all tunnels in the file.'),
  switchFlag('docker', 'Publish containers of Docker or Podman by their labels.'),
  textFlag('metadata', 'TEXT', 'Any text. The API shows it with the session.'),
];

interface CommandText {
  readonly usage: string;
  readonly about: string;
  readonly examples: readonly string[];
}

const TUNNEL_TEXTS: Readonly<Record<TunnelCommandName, CommandText>> = {
  http: {
    usage: 'ADDR|--files FOLDER',
    about:
      'Exposes a local HTTP service at a public https address, or at an http address with --scheme http, or serves a folder there. ADDR is a port, host:port or a URL.',
    examples: [
      'postern http 3000',
      'postern http --files ./site --domain docs.example.com',
      'postern http --domain app.example.com --compression https://localhost:8443 --upstream-ca service-ca.pem',
    ],
  },
  tcp: {
    usage: 'ADDR',
    about: 'Exposes a local TCP service on a port of the server. ADDR is a port or host:port.',
    examples: ['postern tcp 22', 'postern tcp --port 20022 db.internal:5432 --allow-cidr 192.0.2.0/24'],
  },
  tls: {
    usage: 'ADDR',
    about:
      'Exposes a local TLS service under a public host name. The server forwards connections by SNI and cannot decrypt them. ADDR is a port or host:port.',
    examples: ['postern tls --domain mail.example.com 993'],
  },
  tunnel: {
    usage: '--label NAME=VALUE ADDR|--files FOLDER',
    about:
      'Adds a local HTTP service to every tunnel group backend whose labels it matches. The tunnel has no public address of its own: edges with a route to the backend serve it. ADDR is a port, host:port or a URL.',
    examples: ['postern tunnel --label app=web --label zone=a 3000'],
  },
};

export const RUN_GROUP: FlagGroup = { title: 'Server and output', flags: runFlags };
/** Notes of every command that runs an agent. */
export const AGENT_NOTES: readonly string[] = [
  'The address of the gateway comes from --server-addr, POSTERN_SERVER_ADDR, or server_addr in the configuration file. The agent token comes from --authtoken-file, --authtoken, POSTERN_AUTHTOKEN, or authtoken in the configuration file. For a server on this machine, the agent also finds the token (first-authtoken) and the CA of the server in POSTERN_DATA_DIR or ./postern-data. A ./postern-agent.yaml or ./postern-data that happens to be in this folder may belong to somebody else. So a token or password from elsewhere is not sent to a server that only they name, unless you agree on a terminal: name the file with --config, or the folder with POSTERN_DATA_DIR.',
  'Ctrl-C stops the agent after open requests finish; a second Ctrl-C stops it immediately.',
];
const CONTAINER_LABELS =
  'Labels of a container: postern.host=app.example.com publishes it there; postern.login=true makes visitors log in; postern.allow-emails and postern.allow-groups let in only these people. postern.port names its port, if it exposes several. Without a login, it is published only if docker.defaults of the file has allow_public: true.';
const EXIT_CODES = {
  0: 'stopped',
  1: 'failed (invalid token, all tunnels rejected)',
  2: INVALID_USAGE,
  78: 'the configuration file is wrong',
};

export function tunnelSyntax(name: TunnelCommandName): CommandSyntax {
  const { usage, about, examples } = TUNNEL_TEXTS[name];
  return {
    name,
    usage: [usage],
    hasOperands: true,
    about,
    flags: tunnelFlags(name),
    groups: [...tunnelGroups(name), RUN_GROUP],
    notes: AGENT_NOTES,
    examples: name === 'http' ? [...examples, ...moduleExamples()] : examples,
    exitCodes: EXIT_CODES,
  };
}

function moduleExamples(): readonly string[] {
  return moduleForms().flatMap(({ helpExample }) =>
    helpExample === undefined ? [] : [`postern http 3000 ${helpExample}`],
  );
}

export const START_SYNTAX: CommandSyntax = {
  name: 'start',
  usage: ['NAME…', '--all', '--docker [NAME…]'],
  hasOperands: true,
  about:
    'Starts the named tunnels of the configuration file, or all of them. With --docker, it also publishes running containers that have postern.… labels, as they come and go. The default file is ./postern-agent.yaml, then $XDG_CONFIG_HOME/postern/agent.yaml or ~/.config/postern/agent.yaml.',
  flags: startFlags,
  groups: [RUN_GROUP],
  notes: [CONTAINER_LABELS, ...AGENT_NOTES],
  examples: ['postern start --all', 'postern start --docker'],
  exitCodes: EXIT_CODES,
};

export const CONFIG_SYNTAX: CommandSyntax = {
  name: 'config',
  about: "Checks an agent's configuration file without connecting to a server.",
  subcommands: [
    {
      name: 'check',
      about: 'list the tunnels that "postern start --all" would start, or all errors with their lines',
    },
  ],
  flags: [CONFIG],
  notes: ['A minimal file:\n\n    version: 2\n    tunnels:\n      web:\n        proto: http\n        addr: 3000'],
  exitCodes: { 0: 'the file is valid', 1: 'it cannot be read', 2: INVALID_USAGE, 78: 'it is invalid' },
};
