import type { Flag } from '../../lib/flags.ts';
import type { FlagGroup } from '../command-syntax.ts';
import { fileFlag, switchFlag, textFlag } from '../shared-flags.ts';
import { moduleFlags } from './modules/module-flags.ts';

export type TunnelCommandName = 'http' | 'tcp' | 'tls' | 'tunnel';

export const LOG_FORMATS = ['text', 'json'] as const;
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;

export const CONFIG = fileFlag('config', 'Configuration file.', {
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
  ],
};

/** Modules that say who may enter; the others change or limit requests. */
const WHO_MAY_ENTER = ['oidc', 'oauth', 'basic_auth', 'ip_restriction', 'mutual_tls', 'access'];

/** Flags of modules, in the order in which people look for them. Tunnels without requests have few, among their own flags. */
export function tunnelGroups(command: TunnelCommandName): readonly FlagGroup[] {
  if (command !== 'http') return [];
  const entering = moduleFlags('http', (module) => WHO_MAY_ENTER.includes(module));
  const isAtProvider = ({ name }: Flag): boolean => /^(?:oidc|oauth)-/.test(name);
  return [
    { title: 'Who may enter', flags: entering.filter((flag) => !isAtProvider(flag)) },
    { title: 'Login at another provider', flags: entering.filter(isAtProvider), isBrief: true },
    {
      title: 'Requests and responses',
      flags: moduleFlags('http', (module) => !WHO_MAY_ENTER.includes(module)),
      isBrief: true,
    },
  ];
}

export function tunnelFlags(command: TunnelCommandName): readonly Flag[] {
  return TUNNEL_FLAGS[command]();
}

export const startFlags: readonly Flag[] = [
  switchFlag('all', 'Start all tunnels in the file.'),
  switchFlag('docker', 'Publish containers of Docker or Podman by their labels.'),
  textFlag('metadata', 'TEXT', 'Any text. The API shows it with the session.'),
];
