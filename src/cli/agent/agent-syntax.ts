import { type CommandSyntax, type FlagGroup, INVALID_USAGE } from '../command-syntax.ts';
import { CONFIG, runFlags, startFlags, type TunnelCommandName, tunnelFlags, tunnelGroups } from './agent-flags.ts';
import { moduleForms } from './modules/module-forms.ts';

interface CommandText {
  readonly usage: string;
  readonly about: string;
  readonly examples: readonly string[];
}

const TUNNEL_TEXTS: Readonly<Record<TunnelCommandName, CommandText>> = {
  http: {
    usage: 'ADDR',
    about:
      'Exposes a local HTTP service at a public https address, or at an http address with --scheme http. ADDR is a port, host:port or a URL.',
    examples: [
      'postern http 3000',
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
    usage: '--label NAME=VALUE ADDR',
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
