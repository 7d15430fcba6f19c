import type { Flag } from '../../../kit/flags.ts';
import { fileFlag, textFlag } from '../shared-flags.ts';
import type { AgentFile } from './agent-file.ts';
import type { ImportCall, Imported, ImportReport } from './import-report.ts';
import { readInput } from './read-input.ts';

export interface Source {
  readonly about: string;
  readonly takesFile: boolean;
  readonly defaultFile: string;
  readonly flags: readonly Flag[];
  nextStep(path: string): string;
  read(call: ImportCall): Promise<Imported>;
}

const API_FLAGS: readonly Flag[] = [
  fileFlag(
    'from-file',
    'Read saved answers instead of the API: an object of list key and array, or a list of answers.',
  ),
  fileFlag('api-key-file', 'File with the API key of the retired API; - reads standard input.', {
    default: 'NGROK_API_KEY',
  }),
  textFlag('api-key', 'KEY', 'The key itself; other users of this machine can read it.'),
  textFlag('base-url', 'URL', 'Address of the retired API.', { default: 'https://api.ngrok.com' }),
];

const SERVER_ADDR = textFlag(
  'server-addr',
  'HOST:PORT',
  'Address of your server for server_addr, such as gateway.example.com:7444.',
);

const planned = (path: string): string => `postern plan -f ${path}`;

export const SOURCES: ReadonlyMap<string, Source> = new Map<string, Source>([
  [
    'ngrok',
    {
      about:
        'convert edges, routes, modules, backends, certificate authorities, policies and domains of the retired API, to postern-sites.yaml for "postern apply"',
      takesFile: false,
      defaultFile: 'postern-sites.yaml',
      flags: API_FLAGS,
      nextStep: planned,
      read: async (call) => (await import('./ngrok/import-ngrok.ts')).importNgrok(call),
    },
  ],
  [
    'ngrok-agent',
    agentSource('ngrok.yml', 'tunnels and endpoints of an ngrok.yml, version 2 or 3', async (input, report) =>
      (await import('./ngrok-agent/import-ngrok-agent.ts')).importNgrokAgent(input, report),
    ),
  ],
  [
    'frp',
    agentSource('frp', 'proxies of an frpc.toml or frpc.ini', async (input, report) =>
      (await import('./frp/import-frp.ts')).importFrp(input, report),
    ),
  ],
  [
    'caddy',
    {
      about:
        'convert sites of Caddy\'s JSON ("caddy adapt") that forward to upstreams, to postern-sites.yaml for "postern apply"',
      takesFile: true,
      defaultFile: 'postern-sites.yaml',
      flags: [],
      nextStep: planned,
      read: async ({ file, report }) => {
        const [{ importCaddy }, { writtenConfiguration }] = await Promise.all([
          import('./caddy/import-caddy.ts'),
          import('./written-configuration.ts'),
        ]);
        return writtenConfiguration(importCaddy(await readInput(file), report).documents(), 'Caddy', report);
      },
    },
  ],
]);

function agentSource(
  origin: string,
  what: string,
  read: (input: Awaited<ReturnType<typeof readInput>>, report: ImportReport) => Promise<AgentFile>,
): Source {
  return {
    about: `convert ${what}, to postern-agent.yaml for "postern start"`,
    takesFile: true,
    defaultFile: 'postern-agent.yaml',
    flags: [SERVER_ADDR],
    nextStep: (path) => `postern config check --config ${path}`,
    read: async ({ file, flags, report }) => {
      const agentFile = await read(await readInput(file), report);
      agentFile.leaveOutClosed();
      const count = agentFile.tunnelCount;
      const summary = `${count} tunnel${count === 1 ? '' : 's'}`;
      return { text: agentFile.text(origin, flags.get('server-addr')), summary, secrets: [] };
    },
  };
}
