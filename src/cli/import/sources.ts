import type { ParsedFlags } from '../../lib/flags.ts';
import type { CommandContext } from '../command.ts';
import type { AgentFile } from './agent-file.ts';
import type { ImportReport } from './import-report.ts';
import { readInput } from './read-input.ts';

export interface ImportCall {
  readonly file: string;
  readonly flags: ParsedFlags['flags'];
  readonly context: CommandContext;
  readonly report: ImportReport;
}

export interface Imported {
  readonly text: string;
  /** Counts, for the last line of the report. */
  readonly summary: string;
  readonly secrets: readonly { readonly place: string; readonly reference: string }[];
}

interface Source {
  readonly takesFile: boolean;
  readonly defaultFile: string;
  /** Flags of other sources. */
  readonly otherFlags: readonly string[];
  nextStep(path: string): string;
  read(call: ImportCall): Promise<Imported>;
}

const API_FLAGS = ['from-file', 'api-key-file', 'api-key', 'base-url'];

const planned = (path: string): string => `postern plan -f ${path}`;

export const SOURCES: ReadonlyMap<string, Source> = new Map<string, Source>([
  [
    'ngrok',
    {
      takesFile: false,
      defaultFile: 'postern.yaml',
      otherFlags: ['server-addr'],
      nextStep: planned,
      read: async (call) => (await import('./ngrok/import-ngrok.ts')).importNgrok(call),
    },
  ],
  [
    'ngrok-agent',
    agentSource('ngrok.yml', async (input, report) =>
      (await import('./ngrok-agent/import-ngrok-agent.ts')).importNgrokAgent(input, report),
    ),
  ],
  ['frp', agentSource('frp', async (input, report) => (await import('./frp/import-frp.ts')).importFrp(input, report))],
  [
    'caddy',
    {
      takesFile: true,
      defaultFile: 'postern.yaml',
      otherFlags: [...API_FLAGS, 'server-addr'],
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
  read: (input: Awaited<ReturnType<typeof readInput>>, report: ImportReport) => Promise<AgentFile>,
): Source {
  return {
    takesFile: true,
    defaultFile: 'postern.yml',
    otherFlags: API_FLAGS,
    nextStep: (path) => `postern config check --config ${path}`,
    read: async ({ file, flags, report }) => {
      const agentFile = await read(await readInput(file), report);
      const count = agentFile.tunnelCount;
      const summary = `${count} tunnel${count === 1 ? '' : 's'}`;
      return { text: agentFile.text(origin, flags.get('server-addr')), summary, secrets: [] };
    },
  };
}
