import type { Flag, FlagKind } from '../api/flag.ts';
import { moduleFlags } from './modules/module-flags.ts';

export type TunnelCommandName = 'http' | 'tcp' | 'tls' | 'tunnel';

/** `hint` is the placeholder of the value in the help. */
function flag(name: string, kind: FlagKind, hint: string, description: string, more: Partial<Flag> = {}): Flag {
  return { name, kind, hint, description, target: { in: 'command' }, ...more };
}

export const LOG_FORMATS = ['text', 'json'] as const;
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;

const CONFIG = flag(
  'config',
  'text',
  'FILE',
  'Configuration file (default ./postern.yml, then ~/.config/postern/postern.yml).',
  {
    isFile: true,
  },
);

/** Flags for reaching the server and for output. */
const RUN_FLAGS: readonly Flag[] = [
  flag('server-addr', 'text', 'HOST:PORT', "Address of the server's tunnel listener (default 127.0.0.1:7444)."),
  flag(
    'authtoken',
    'text',
    'TOKEN',
    'Token of a credential. Other users can read flags: prefer @FILE or --authtoken-file.',
    {
      isSecret: true,
    },
  ),
  flag('authtoken-file', 'text', 'FILE', 'File with the token; - reads standard input.', { isFile: true }),
  flag(
    'root-ca',
    'repeated',
    'FILE',
    "PEM file with the CA of the server's certificate, used instead of the system's CAs.",
    {
      isFile: true,
    },
  ),
  CONFIG,
  flag('remote-management', 'switch', '', 'Reject stop, restart and update commands from the server.'),
  flag('inspect', 'switch', '', 'Do not start the inspector.'),
  flag(
    'inspect-addr',
    'text',
    'HOST:PORT',
    'Listen address of the inspector (default 127.0.0.1:7040, or the next free port).',
  ),
  flag(
    'log-format',
    'text',
    'FORMAT',
    'Print log lines instead of the live view: text or json (default text if stdout is not a terminal).',
    {
      choices: LOG_FORMATS,
    },
  ),
  flag('log-level', 'text', 'LEVEL', 'Minimum level to print: debug, info, warn or error (default info).', {
    choices: LOG_LEVELS,
  }),
];

const NAME = flag(
  'name',
  'text',
  'NAME',
  'Name of the tunnel in the output of this agent (default: the name of the command).',
);
const METADATA = flag('metadata', 'text', 'TEXT', 'Any text. The API shows it with the tunnel and its session.');
const DOMAIN = flag(
  'domain',
  'text',
  'HOST',
  "Public host name (default: a generated name below the server's domain).",
);
const HOST_HEADER = flag(
  'host-header',
  'text',
  'HOST',
  'Host header for the local service: preserve (default), rewrite, or a host.',
);
const UPSTREAM: readonly Flag[] = [
  flag('upstream-ca', 'repeated', 'FILE', 'PEM file with the CA of the local service, for https.', { isFile: true }),
  flag('upstream-insecure', 'switch', '', 'Accept any certificate of the local service, for https.'),
];

const TUNNEL_FLAGS: Readonly<Record<TunnelCommandName, () => readonly Flag[]>> = {
  http: () => [
    flag('scheme', 'text', 'SCHEME', 'Scheme of the public address: https (default) or http.', {
      choices: ['https', 'http'],
    }),
    DOMAIN,
    NAME,
    METADATA,
    HOST_HEADER,
    ...moduleFlags('http'),
    ...UPSTREAM,
  ],
  tcp: () => [
    flag('port', 'number', 'PORT', "Public port (default: a free port from the server's tcp_ports)."),
    NAME,
    METADATA,
    ...moduleFlags('tcp'),
  ],
  tls: () => [DOMAIN, NAME, METADATA, ...moduleFlags('tls')],
  tunnel: () => [
    flag(
      'label',
      'list',
      'NAME=VALUE',
      'Label of the tunnel; repeatable. Tunnel group backends select tunnels by label.',
      {
        isRequired: true,
      },
    ),
    NAME,
    METADATA,
    HOST_HEADER,
    ...UPSTREAM,
  ],
};

export function tunnelFlags(command: TunnelCommandName): readonly Flag[] {
  return TUNNEL_FLAGS[command]();
}

export const runFlags = RUN_FLAGS;

export const startFlags: readonly Flag[] = [
  flag('all', 'switch', '', 'Start all tunnels in the file.'),
  flag('metadata', 'text', 'TEXT', 'Any text. The API shows it with the session.'),
];

export const checkFlags: readonly Flag[] = [CONFIG];
