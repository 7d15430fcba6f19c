import { selectObjects } from '../../../control/configuration-file/installed-objects.ts';
import { writeConfigurationFile } from '../../../control/configuration-file/write-configuration-file.ts';
import { usage } from '../../../kit/flags.ts';
import { writeDurably } from '../../../kit/process/durable-file.ts';
import { openTransport, runWithApi } from '../api/api-access.ts';
import { API_EXIT_CODES, type Command, type CommandContext, type CommandSyntax, parseCommand } from '../command.ts';
import { printable } from '../output/cell-text.ts';
import { unwritable } from '../problem-text.ts';
import { CONNECTION, fileFlag, textFlag } from '../shared-flags.ts';
import { readInstallation, reportMoving } from './read-installation.ts';

const SYNTAX: CommandSyntax = {
  name: 'export',
  about:
    'Writes the configuration as YAML: edges by host name, routes by path, backends and policies by name, references by name. A secret is never written: its place has the name of an environment variable instead. API keys, credentials, tokens and managed certificates are not exported.',
  flags: [
    fileFlag('file', 'Write to this file instead of standard output. - is standard output.', { aliases: ['f'] }),
    {
      name: 'selector',
      kind: 'repeated',
      hint: 'SELECTOR',
      description:
        'Only some objects and what they refer to: SECTION or SECTION/NAME, such as https_edges/*.example.com; * stands for any characters.',
    },
    textFlag('owner', 'NAME', 'Write this owner into the file.'),
  ],
  groups: [CONNECTION],
  notes: [
    '"postern plan -f FILE" shows how a file differs from the server, "postern apply -f FILE" changes the server.',
  ],
  examples: ['postern export -f postern-sites.yaml', 'postern export --selector https_edges/app.example.com'],
  exitCodes: {
    ...API_EXIT_CODES,
    3: 'server unreachable, or the configuration changed each time while it was read',
  },
};

const FILE_MODE = 0o644;

/** Writes the configuration of the server as a file. */
export const exportCommand: Command = {
  syntax: SYNTAX,
  run: (args, context) => {
    const parsed = parseCommand(SYNTAX, args);
    const owner = parsed.flags.get('owner');
    return runWithApi(context, async () => {
      const transport = await openTransport(parsed, context);
      const installation = await readInstallation(transport);
      if (installation === null) return reportMoving(context);
      const selected = selectObjects(installation.documents, parsed.values.get('selector') ?? []);
      if ('problem' in selected) throw usage(selected.problem);
      await write(
        writeConfigurationFile(selected.documents, { ...(owner !== undefined && { owner }) }),
        parsed.flags.get('file'),
        context,
      );
      return 0;
    });
  },
};

async function write(
  { text, secrets, omitted }: ReturnType<typeof writeConfigurationFile>,
  file: string | undefined,
  context: CommandContext,
): Promise<void> {
  if (file === undefined || file === '-') context.print(text.trimEnd());
  else
    await writeDurably(file, text, FILE_MODE).catch((cause: unknown) => {
      throw unwritable(file, cause);
    });
  if (secrets.length > 0) {
    context.warn(
      `postern: ${secrets.length} ${secrets.length === 1 ? 'secret is' : 'secrets are'} not in the file: this server keeps them; for another server, set the environment variables that the file names before you plan or apply`,
    );
  }
  for (const { place, why } of omitted) context.warn(printable(`postern: left out ${place}: ${why}`));
}
