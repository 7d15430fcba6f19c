import { writeFile } from 'node:fs/promises';
import { failureCode, whyUnwritable } from '../../../kit/error-text.ts';
import { isOn, usage } from '../../../kit/flags.ts';
import { type Command, type CommandContext, type CommandSyntax, INVALID_USAGE, parseCommand } from '../command.ts';
import { printable } from '../output/cell-text.ts';
import { type OutputFormat, outputFlag, outputFormat, printStructured } from '../output/output-format.ts';
import { fileFlag, switchFlag } from '../shared-flags.ts';
import { importErrors } from './errors.ts';
import { ImportReport } from './import-report.ts';
import { SOURCES, type Source } from './sources.ts';

export interface PrintedReport {
  readonly path: string;
  readonly summary: string;
  readonly secrets: readonly { readonly place: string; readonly reference: string }[];
  readonly report: ImportReport;
  readonly nextStep: string;
}

/** A configuration that somebody wrote has fewer of anything. */
const MAX_LINES = 1_000;

/** Names come from another program's file: they must not control the terminal. */
export async function printReport(
  { path, summary, secrets, report, nextStep }: PrintedReport,
  format: OutputFormat,
  context: CommandContext,
): Promise<void> {
  const { dropped, notes } = report;
  if (format === 'json' || format === 'yaml') {
    printStructured({ file: path, summary, dropped, notes, secrets }, format, context);
    return;
  }
  const section = <Item>(title: string, items: readonly Item[], lineOf: (item: Item) => string): void => {
    if (items.length > 0) context.print(title);
    for (const item of items.slice(0, MAX_LINES)) context.print(`  ${lineOf(item)}`);
    const more = items.length - MAX_LINES;
    if (more > 0) context.print(`  ${more} more lines are not shown: -o json prints all of them`);
  };
  section(
    `Not carried over (${dropped.length}):`,
    dropped,
    ({ place, why }) => `${printable(place)}: ${printable(why)}`,
  );
  section(
    'Secrets to set before you apply the file:',
    secrets,
    ({ place, reference }) => `${reference}  ${printable(place)}`,
  );
  section('To do:', notes, printable);
  context.print(`${path === '-' ? 'Printed' : `Wrote ${path}`}: ${summary}. Next: ${nextStep}`);
}

/**
 * Writes a new file, readable by its owner only; `-` prints it. An existing file stays, unless it is to be replaced.
 */
export async function writeOutput(
  path: string,
  text: string,
  { isForced, context }: { readonly isForced: boolean; readonly context: CommandContext },
): Promise<void> {
  if (path === '-') {
    context.print(text.trimEnd());
    return;
  }
  try {
    await writeFile(path, text, { flag: isForced ? 'w' : 'wx', mode: 0o600 });
  } catch (error) {
    const isThere = failureCode(error) === 'EEXIST';
    const message = isThere
      ? `${path} exists: name another file with --file, or replace it with --force`
      : `cannot write ${path}: ${whyUnwritable(error)}`;
    throw importErrors.create('ERR_POSTERN_IMPORT_OUTPUT', message);
  }
}

const FORMATS = ['table', 'json', 'yaml'] as const;

const SYNTAX: CommandSyntax = {
  name: 'import',
  about:
    'Reads the configuration of another program, writes it as a file for Postern, and reports every field that could not be carried over, with the reason. It changes nothing else: look at the file, then apply or start it.',
  subcommands: Array.from(SOURCES, ([name, { about, takesFile, flags }]) => ({
    name,
    about,
    flags,
    operands: takesFile ? 'FILE' : '',
  })),
  flags: [
    fileFlag('file', 'File to write; - prints it.', { default: 'postern-sites.yaml or postern-agent.yaml' }),
    switchFlag('force', 'Replace an existing file.'),
    { ...outputFlag(FORMATS), description: 'Form of the report.' },
  ],
  notes: [
    'A route or tunnel whose protection cannot be carried over is turned off or left out: nothing becomes open to everybody. A postern-sites.yaml has no secrets: it refers to environment variables, which the report lists. The postern-agent.yaml of an agent has the client secrets of its logins; only its owner can read the file.',
  ],
  examples: [
    'postern import ngrok --from-file answers.json',
    'postern import frp frpc.toml --server-addr gateway.example.com:7444',
    'postern import caddy caddy.json',
  ],
  exitCodes: {
    0: 'everything was carried over',
    1: 'the input cannot be read or the file not be written',
    2: INVALID_USAGE,
    4: 'the file is written and the report names what is missing',
  },
};

const EXIT_INCOMPLETE = 4;

/** Configuration of other programs. */
export const importCommand: Command = {
  syntax: SYNTAX,
  run: async (args, context) => {
    const parsed = parseCommand(SYNTAX, args);
    const name = parsed.subcommand;
    const source = SOURCES.get(name) as Source;
    const format = outputFormat(parsed.flags, FORMATS);
    const [given] = parsed.positionals;
    if (parsed.positionals.length > 1 || (given === undefined) === source.takesFile) {
      throw usage(
        source.takesFile
          ? `postern import ${name} takes one file`
          : `postern import ${name} takes no file: use --from-file FILE`,
      );
    }
    const report = new ImportReport();
    const { text, summary, secrets } = await source.read({ file: given ?? '', flags: parsed.flags, context, report });
    const path = parsed.flags.get('file') ?? source.defaultFile;
    await writeOutput(path, text, { isForced: isOn(parsed, 'force'), context });
    await printReport(
      { path, summary, secrets, report, nextStep: source.nextStep(path) },
      format,
      reportContext(path, context),
    );
    return report.dropped.length === 0 ? 0 : EXIT_INCOMPLETE;
  },
};

/** When the file goes to standard output, the report goes to standard error. */
function reportContext(path: string, context: CommandContext): CommandContext {
  return path === '-' ? { ...context, print: (line) => context.warn(line) } : context;
}
