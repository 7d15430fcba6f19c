import type { Flag, FlagKind } from '../api/flag.ts';

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
  'Configuration file; else ./postern.yml, else the one in ~/.config/postern.',
  {
    isFile: true,
  },
);

/** Flags for reaching the server and for output. */
const RUN_FLAGS: readonly Flag[] = [
  flag('server-addr', 'text', 'HOST:PORT', "Where the server's tunnel_listen is reached; else 127.0.0.1:7444."),
  flag(
    'authtoken',
    'text',
    'TOKEN',
    'Token of a credential. Other users can read flags: rather @FILE or --authtoken-file.',
    {
      isSecret: true,
    },
  ),
  flag('authtoken-file', 'text', 'FILE', 'File with the token, - for standard input.', { isFile: true }),
  flag('root-ca', 'repeated', 'FILE', "PEM file with the CA of the server's certificate, instead of the system's.", {
    isFile: true,
  }),
  CONFIG,
  flag('remote-management', 'switch', '', 'The server may not stop or restart this agent, nor ask for an update.'),
  flag('inspect', 'switch', '', 'Start no inspector.'),
  flag(
    'inspect-addr',
    'text',
    'HOST:PORT',
    'Where the inspector listens; else 127.0.0.1:7040, or the next port that is free.',
  ),
  flag(
    'log-format',
    'text',
    'FORMAT',
    'Lines instead of the live view, as text or json; text when the output is no terminal.',
    {
      choices: LOG_FORMATS,
    },
  ),
  flag('log-level', 'text', 'LEVEL', 'Least level of lines to print: debug, info, warn or error; else info.', {
    choices: LOG_LEVELS,
  }),
];

const NAME = flag('name', 'text', 'NAME', 'Name of the tunnel in this program; else that of the command.');
const METADATA = flag('metadata', 'text', 'TEXT', 'Any text, shown with the tunnel and its session in the API.');
const DOMAIN = flag('domain', 'text', 'HOST', "Host to be reached at; else a name below the server's domain.");
const HOST_HEADER = flag(
  'host-header',
  'text',
  'HOST',
  'Host that the local service sees: preserve (default), rewrite, or a host.',
);
const CIDRS: readonly Flag[] = [
  flag('allow-cidr', 'list', 'CIDR', 'Only clients of these ranges are let in; repeatable.'),
  flag('deny-cidr', 'list', 'CIDR', 'Clients of these ranges are not let in; repeatable.'),
];
const UPSTREAM: readonly Flag[] = [
  flag('upstream-ca', 'repeated', 'FILE', 'PEM file with the CA of a local service behind https.', { isFile: true }),
  flag('upstream-insecure', 'switch', '', 'Take any certificate of a local service behind https.'),
];

const TUNNEL_FLAGS: Readonly<Record<TunnelCommandName, readonly Flag[]>> = {
  http: [
    flag('scheme', 'text', 'SCHEME', 'Publish it on https (default) or on http.', { choices: ['https', 'http'] }),
    DOMAIN,
    NAME,
    METADATA,
    HOST_HEADER,
    flag('oidc-issuer', 'text', 'URL', 'Only who has logged in at this OpenID provider is let in.'),
    flag('oidc-client-id', 'text', 'ID', 'Client id of the app at the provider.'),
    flag(
      'oidc-client-secret',
      'text',
      'SECRET',
      'Client secret of the app at the provider. Rather @FILE than a value here.',
      {
        isSecret: true,
      },
    ),
    flag('oidc-scope', 'list', 'SCOPE', 'Scope to ask the provider for; repeatable.'),
    ...CIDRS,
    flag(
      'mutual-tls-ca',
      'repeated',
      'FILE',
      'PEM file with CAs: only clients with a certificate of theirs are let in.',
      {
        isFile: true,
      },
    ),
    flag('compression', 'switch', '', 'Compress what is not compressed.'),
    ...UPSTREAM,
  ],
  tcp: [
    flag('port', 'number', 'PORT', "Port to be reached at; else a free one of the server's tcp_ports."),
    NAME,
    METADATA,
    ...CIDRS,
  ],
  tls: [DOMAIN, NAME, METADATA, ...CIDRS],
  tunnel: [
    flag('label', 'list', 'NAME=VALUE', 'Label of the tunnel; repeatable. Tunnel group backends find it by them.', {
      isRequired: true,
    }),
    NAME,
    METADATA,
    HOST_HEADER,
    ...UPSTREAM,
  ],
};

export function tunnelFlags(command: TunnelCommandName): readonly Flag[] {
  return TUNNEL_FLAGS[command];
}

export const runFlags = RUN_FLAGS;

export const startFlags: readonly Flag[] = [
  flag('all', 'switch', '', 'Start every tunnel of the file.'),
  flag('metadata', 'text', 'TEXT', 'Any text, shown with the session in the API.'),
];

export const checkFlags: readonly Flag[] = [CONFIG];
