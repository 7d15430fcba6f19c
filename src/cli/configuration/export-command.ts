import { selectObjects } from '../../configuration-file/select-objects.ts';
import { writeConfigurationFile } from '../../configuration-file/write-configuration-file.ts';
import { writeDurably } from '../../lib/durable-file.ts';
import { usage } from '../../lib/flags.ts';
import { printable } from '../api/cell-text.ts';
import { CONNECTION_FLAGS, openTransport } from '../api/open-transport.ts';
import { runWithApi } from '../changes/run-with-api.ts';
import type { Command, CommandContext } from '../command.ts';
import { readInstallation } from './read-installation.ts';
import { parseRepeatedFlags } from './repeated-flags.ts';
import { reportMoving } from './report-moving.ts';

const HELP = `
Usage: postern export [FLAGS]

Writes the configuration as YAML: edges by host name, routes by path, backends and policies by name, references by name. A
secret is never written: its place has the name of an environment variable instead. API keys, credentials, tokens and managed
certificates are not exported.

  --file              write to this file instead of standard output; -f for short
  --selector          only some objects and what they refer to: SECTION or SECTION/NAME, such as https_edges/*.example.com;
                      * stands for any characters; can be repeated
  --owner             write this owner into the file
  --api-url           address of the API (default POSTERN_CLI_API_URL, POSTERN_API_URL, then http://127.0.0.1:7080)
  --api-key-file      file with the API key, - reads standard input (default POSTERN_CLI_API_KEY, POSTERN_API_KEY, then
                      first-api-key in the data directory)
  --root-ca           PEM file with the CA of the API's certificate

"postern plan -f FILE" shows how a file differs from the server, "postern apply -f FILE" changes the server.

Exit codes: 0 success, 1 rejected by the API, 2 invalid usage, 3 server unreachable, or the configuration changed each time
while it was read.
`;

const FILE_MODE = 0o644;

/** Writes the configuration of the server as a file. */
export const exportCommand: Command = {
  help: HELP,
  run: (args, context) => {
    const known = new Map([...CONNECTION_FLAGS, ['file', 'value'], ['f', 'value'], ['owner', 'value']] as const);
    const parsed = parseRepeatedFlags(args, known, ['selector']);
    if (parsed.positionals.length > 0) throw usage('unexpected argument: see postern export --help');
    const [long, short] = [parsed.flags.get('file'), parsed.flags.get('f')];
    if (long !== undefined && short !== undefined) throw usage('use --file or -f, not both');
    const owner = parsed.flags.get('owner');
    return runWithApi(context, async () => {
      const transport = await openTransport(parsed, context);
      const installation = await readInstallation(transport);
      if (installation === null) return reportMoving(context);
      const selected = selectObjects(installation.documents, parsed.repeated.get('selector') ?? []);
      if ('problem' in selected) throw usage(selected.problem);
      await write(
        writeConfigurationFile(selected.documents, { ...(owner !== undefined && { owner }) }),
        long ?? short,
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
  if (file === undefined) context.print(text.trimEnd());
  else await writeDurably(file, text, FILE_MODE).catch((cause: unknown) => notWritten(file, cause));
  if (secrets.length > 0) {
    context.warn(
      `postern: ${secrets.length} ${secrets.length === 1 ? 'secret is' : 'secrets are'} not in the file: set the environment variables that it names before you plan or apply`,
    );
  }
  for (const { place, why } of omitted) context.warn(printable(`postern: left out ${place}: ${why}`));
}

function notWritten(file: string, cause: unknown): never {
  const reason = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unwritable';
  throw usage(`cannot write ${file} (${reason})`);
}
